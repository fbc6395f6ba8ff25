//! Features of the liquidation map at many instants, from one replay of the ledger.

use std::sync::Arc;

use crate::engine::estimate::liquidation_map::{MapOptions, crop, span, whole_map};
use crate::engine::estimate::map_clusters::map_clusters;
use crate::engine::estimate::reach::{Reach, cells_of, headline, volatility};
use crate::engine::estimate::swept::swept;
use crate::engine::ledger::ledger_state::LedgerState;
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, View};
use crate::model::{
    Chosen, LiquidationMap, MapCluster, MapRange, Millis, Model, Opened, ShownPrices, Side, Span,
};

/// The window of the range `all`.
const ALL: (i64, &str, Opened) = (Millis::ALL, "all", Opened::Ever);

/// Which features of the map are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct MapQuestion {
    /// The range of the map. It limits the prices that clusters come from, and the age of the last bar.
    pub range: MapRange,
    /// Moves of the price in percent.
    pub moves: Vec<f64>,
}

/// The cluster of a side that is nearest to the price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearCluster {
    /// Distance of its near end from the price, in percent of the price; below 0 for longs.
    pub distance_pct: f64,
    /// Its USD.
    pub usd: f64,
    /// The shown leverage with the most USD in it.
    pub leverage: i64,
}

/// Features of the map of all open positions after the last closed bar.
#[derive(Clone, Debug, PartialEq)]
pub struct MapFeatures {
    /// Close time of the last bar.
    pub closed: Millis,
    /// Close price of the last bar.
    pub price: f64,
    /// Time of the last open interest reading.
    pub open_interest_at: Option<Millis>,
    /// The view of the model.
    pub model: Model,
    /// The version of the model.
    pub model_version: String,
    /// Whether volume replaces unknown open interest, so that amounts are relative.
    pub is_relative: bool,
    /// USD of longs that each fall of the price liquidates, and of shorts that each rise does; empty if the last bar is
    /// older than the range.
    pub moves: Vec<[f64; 2]>,
    /// The nearest cluster of longs and of shorts.
    pub clusters: [Option<NearCluster>; 2],
    /// Distance in percent and USD of the headline level of longs and of shorts within a day.
    pub pains: [Option<[f64; 2]>; 2],
}

/// Returns the features of the map of a coin as of each of `instants`, which may be unsorted.
///
/// The map is that of all open positions. Each answer equals that of observations which contain only what was known by
/// its instant. Without `model`, an instant uses model 3 if that is fitted then, and model 2 otherwise.
pub fn map_features(
    view: &View<'_>,
    coin: &str,
    model: Option<&Chosen>,
    asked: &MapQuestion,
    instants: &[Millis],
) -> Vec<Result<MapFeatures, EngineError>> {
    let under = view.with_model(model.and_then(Chosen::own));
    let each =
        |at: &Millis| model.map_or_else(|| under.as_of(*at).default_model(coin), Chosen::view);
    let models: Vec<Model> = instants.iter().map(each).collect();
    let is_settled = |at: Millis| {
        under
            .history(coin)
            .is_none_or(|history| history.is_settled(at))
    };
    let mut found: Vec<Option<MapFeatures>> = vec![None; instants.len()];
    for model in [Model::Exposure, Model::Expected] {
        let of_model = instants.iter().zip(&models).enumerate();
        let of_model = of_model.filter(|(_, (at, of))| **of == model && is_settled(**at));
        let wanted: Vec<(usize, Millis)> = of_model.map(|(place, (at, _))| (place, *at)).collect();
        let Some(last) = wanted.iter().map(|(_, at)| *at).max() else {
            continue;
        };
        let frame = ReplayWindow::new(under.as_of(last), coin, model, ALL, Millis::ALL);
        if let Ok(frame) = frame {
            walk(&frame, asked, &wanted, |place, features| {
                if let Some(found) = found.get_mut(place) {
                    *found = Some(features);
                }
            });
        }
    }
    // Instants before the first bar give an error; at others an outlier was not judged yet.
    let alone = |at: Millis, model: Model| {
        let frame = ReplayWindow::new(under.as_of(at), coin, model, ALL, Millis::ALL)?;
        let state = frame.replay(&[], |_, _| ());
        let features = features(&frame, &state, asked, at)?;
        features.ok_or_else(|| under.as_of(at).unknown(coin))
    };
    let answers = found.into_iter().zip(instants.iter().zip(&models));
    answers
        .map(|(found, (at, model))| found.map_or_else(|| alone(*at, *model), Ok))
        .collect()
}

/// Replays the bars once and passes the features at each of `wanted` to `take`, with its number. Skips instants without
/// a closed bar.
fn walk(
    frame: &ReplayWindow<'_>,
    asked: &MapQuestion,
    wanted: &[(usize, Millis)],
    mut take: impl FnMut(usize, MapFeatures),
) {
    let since = frame.venue_since();
    let mut wanted: Vec<(usize, Millis)> = wanted
        .iter()
        .filter(|(_, at)| *at >= since && frame.closed_by(*at) > 0)
        .copied()
        .collect();
    wanted.sort_unstable_by_key(|(_, at)| *at);
    let close = |at: Millis| {
        let last = frame.closed_by(at).checked_sub(1);
        last.and_then(|last| frame.all_bars().get(last))
            .map_or(at, |bar| bar.close_time())
    };
    let closes: Vec<Millis> = wanted.iter().map(|(_, at)| close(*at)).collect();
    frame.replay(&closes, |number, state| {
        if let Some((place, at)) = wanted.get(number)
            && let Ok(Some(features)) = features(frame, state, asked, *at)
        {
            take(*place, features);
        }
    });
}

/// The features of the map of a ledger after the last bar that closed by `at`; `None` without a bar.
fn features(
    frame: &ReplayWindow<'_>,
    state: &LedgerState,
    asked: &MapQuestion,
    at: Millis,
) -> Result<Option<MapFeatures>, EngineError> {
    let bars = frame.all_bars().within(0..frame.closed_by(at));
    let Some(last) = bars.last() else {
        return Ok(None);
    };
    let (closed, price) = (last.close_time(), last.close);
    let mut found = MapFeatures {
        closed,
        price,
        open_interest_at: frame.last_reading(at),
        model: frame.model(),
        model_version: frame.model_version(),
        is_relative: state.is_relative,
        moves: Vec::new(),
        clusters: [None; 2],
        pains: [None; 2],
    };
    if closed <= at.back(asked.range.millis()) {
        return Ok(Some(found));
    }
    let fit = frame.fit_at(closed);
    let counted = frame.counted_by(fit.as_ref().map(Arc::as_ref));
    let options = MapOptions {
        opened: Opened::Ever,
        shown: ShownPrices::of(Span::Reach),
        ..MapOptions::of(asked.range)
    };
    let ledger = (&state.ledger, price, closed);
    let (mut map, fine) = whole_map(frame, options, ledger, &counted)?;
    map.fine = Some(fine);
    found.moves = asked
        .moves
        .iter()
        .map(|percent| crossed(&map, *percent))
        .collect();
    let sigma = volatility(bars, closed);
    let reach = sigma.map(|sigma| Reach::new(price, sigma, Millis::DAY));
    found.pains = [Side::Long, Side::Short].map(|side| {
        let cells = cells_of(&map, side, None);
        let level = headline(&cells, price, map.bin_width, reach.as_ref())?;
        Some([100.0 * (level.price / price - 1.0), level.usd])
    });
    let start = closed.back(asked.range.millis());
    let first = bars.partition_point(|bar| bar.open_time < start);
    let within = bars.within(first..bars.len());
    if let Some(span) = span(within, options, &map, sigma) {
        crop(&mut map, span);
    }
    let clusters = map_clusters(&map);
    found.clusters = [Side::Long, Side::Short].map(|side| nearest(&map, &clusters, side));
    Ok(Some(found))
}

/// USD of longs that a fall of the price by `percent` liquidates, and of shorts that such a rise does.
fn crossed(map: &LiquidationMap, percent: f64) -> [f64; 2] {
    let [low, high] =
        [-percent, percent].map(|move_by| map.current_price * (1.0 + move_by / 100.0));
    // The map has all its bins, so no move goes beyond them.
    let by_leverage = swept(map, low, high).unwrap_or_default();
    by_leverage.map(|usd| usd.iter().sum())
}

/// The cluster of a side that is nearest to the price; of equally near ones that with the most USD.
fn nearest(map: &LiquidationMap, clusters: &[MapCluster], side: Side) -> Option<NearCluster> {
    let of_side = clusters.iter().filter(|cluster| cluster.side == side);
    let cluster = of_side.min_by(|one, other| {
        let distances = [one, other].map(|cluster| cluster.distance_pct.abs());
        let [one_distance, other_distance] = distances;
        one_distance
            .total_cmp(&other_distance)
            .then(other.amount.total_cmp(&one.amount))
    })?;
    let width = map.leverages.len().max(1);
    let mut sums = vec![0.0; width];
    let within = cluster.low_price..=cluster.high_price;
    for (bin, tiers) in map.bins.iter().zip(map.tiers.chunks_exact(width)) {
        if bin.side == side && within.contains(&bin.price) {
            for (sum, usd) in sums.iter_mut().zip(tiers) {
                *sum += usd;
            }
        }
    }
    let mut most: Option<(i64, f64)> = None;
    for (leverage, usd) in map.leverages.iter().zip(sums) {
        if most.is_none_or(|(_, most)| usd > most) {
            most = Some((*leverage, usd));
        }
    }
    Some(NearCluster {
        distance_pct: cluster.distance_pct,
        usd: cluster.amount,
        leverage: most?.0,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;
    use crate::engine::Observations;
    use crate::engine::estimate::liquidation_map::liqmap_with;
    use crate::model::{ObservedBar, ObservedOpenInterest};

    /// Half-hour bars of ten days with a price that swings, and open interest that grows.
    fn observed(until: Millis) -> Observations {
        let bar = |number: i64| {
            let swing = f64::from(u32::try_from(number % 37).unwrap());
            let close = 60_000.0 + 100.0 * swing;
            ObservedBar {
                symbol: "BTC".to_owned(),
                timestamp: Millis(number * 30 * Millis::MINUTE),
                closes_at: None,
                open: close - 20.0,
                high: close + 150.0,
                low: close - 150.0,
                close,
                volume: 10.0 + swing,
                interval: Some(30 * Millis::MINUTE),
            }
        };
        let bars = (0..480)
            .map(bar)
            .filter(|bar| bar.timestamp.on(30 * Millis::MINUTE) <= until);
        let reading = |number: i64| ObservedOpenInterest {
            symbol: "BTC".to_owned(),
            timestamp: Millis(number * 10 * Millis::MINUTE),
            open_interest: 1000.0 + f64::from(u32::try_from(number % 50).unwrap()),
            exchange: None,
        };
        let readings = (0..1440)
            .map(reading)
            .filter(|reading| reading.timestamp <= until);
        Observations::new(Vec::new(), bars.collect(), readings.collect(), Some(until)).unwrap()
    }

    #[test]
    fn features_are_those_of_what_was_known_by_their_instant() {
        let asked = MapQuestion {
            range: MapRange::D7,
            moves: vec![1.0, 5.0],
        };
        let whole = observed(Millis(10 * Millis::DAY));
        let instants = [230, 100, 101, 7, 0].map(|hours| Millis(hours * Millis::HOUR + 5));
        let answers = map_features(&whole.at(None), "BTC", None, &asked, &instants);
        for (at, answer) in instants.into_iter().zip(answers) {
            let then = observed(at);
            let alone = map_features(&then.at(Some(at)), "BTC", None, &asked, &[at]);
            assert_eq!(
                Some(&answer.clone().ok()),
                alone.first().map(|one| one.clone().ok()).as_ref()
            );
            let options = MapOptions {
                opened: Opened::Ever,
                shown: ShownPrices::of(Span::Reach),
                ..MapOptions::of(MapRange::D7)
            };
            let map = liqmap_with(&whole.at(Some(at)), "BTC", options, None);
            let (Ok(answer), Ok(map)) = (answer, map) else {
                assert!(at < Millis(30 * Millis::MINUTE));
                continue;
            };
            let map = map.reply;
            assert_eq!(answer.price.to_bits(), map.current_price.to_bits());
            let clusters = map.clusters.clone().unwrap();
            for (side, found) in [Side::Long, Side::Short].into_iter().zip(answer.clusters) {
                assert_eq!(nearest(&map, &clusters, side), found);
            }
            assert_eq!(
                crossed(&map, 1.0).map(f64::to_bits),
                answer.moves[0].map(f64::to_bits)
            );
        }
    }
}
