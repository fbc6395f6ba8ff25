//! Estimates of tables with outliers against the same tables without them, and as of instants before the verdict.

use liqdata::engine::{
    EstimateBasis, Observations, count_outliers, heatmap, levels, liqmap, maxpain,
};
use liqdata::model::{
    Headline, HeatmapGrid, HeatmapRange, MapRange, Millis, Model, ObservedBar,
    ObservedOpenInterest, Opened, ShownPrices, Window,
};
use liqdata::simulate::simulate;
use proptest::prelude::*;

use super::definition::doubtful_markets;
use super::{MINUTE, NOW, bar, reading};

const STEP: i64 = 5 * MINUTE;
const BARS: i64 = 600;

/// The tables of a swinging price with open interest of two exchanges.
fn tables() -> (Vec<ObservedBar>, Vec<ObservedOpenInterest>) {
    let bars = (0..BARS).map(|place| {
        let price = |place: i64| 100.0 + 8.0 * (place as f64 / 9.0).sin();
        let mut bar = bar("BTC", NOW + place * STEP, price(place));
        bar.interval = Some(STEP);
        bar.close = price(place + 1);
        bar.high = bar.open.max(bar.close) + 0.4;
        bar.low = bar.open.min(bar.close) - 0.4;
        bar
    });
    let readings = (0..=BARS).flat_map(|place| {
        let level = 1000.0 + 50.0 * (place as f64 / 7.0).cos();
        ["okx", "bybit"].map(|name| reading("BTC", Some(name), NOW + place * STEP, level))
    });
    (bars.collect(), readings.collect())
}

fn observed(bars: &[ObservedBar], readings: &[ObservedOpenInterest]) -> Observations {
    Observations::new(Vec::new(), bars.to_vec(), readings.to_vec(), None).unwrap()
}

/// The explanation without what it says of rows in doubt.
fn plain(explain: EstimateBasis) -> EstimateBasis {
    EstimateBasis {
        open_interest_outliers: 0,
        bar_outliers: 0,
        open_interest_factors: std::collections::BTreeMap::new(),
        ..explain
    }
}

/// Prices and USD of the non-empty cells of each column.
fn columns(map: &HeatmapGrid) -> Vec<Vec<(u64, u64)>> {
    let cells = |column| map.matrix.iter().skip(column).step_by(map.times.len());
    let column = |column| {
        let cells = map.prices.iter().zip(cells(column));
        let cells = cells.filter(|(_, usd)| **usd > 0.0);
        cells
            .map(|(price, usd)| (price.to_bits(), usd.to_bits()))
            .collect()
    };
    (0..map.times.len()).map(column).collect()
}

#[test]
fn an_estimate_is_that_of_the_tables_without_their_outliers_and_counts_them() {
    let (mut bars, mut readings) = tables();
    for (place, value) in [(400, 0.0), (401, 1e34), (800, 10_500.0), (1100, 3.0)] {
        readings[place].open_interest = value;
    }
    bars[500].high *= 100.0;
    for bar in &mut bars[300..306] {
        for price in [&mut bar.open, &mut bar.high, &mut bar.low, &mut bar.close] {
            *price *= 100.0;
        }
    }
    let given = observed(&bars, &readings);
    for place in [1100, 800, 401, 400] {
        readings.remove(place);
    }
    bars.remove(500);
    bars.drain(300..306);
    let clean = observed(&bars, &readings);
    let (given, clean) = (given.at(None), clean.at(None));
    for range in [HeatmapRange::All, HeatmapRange::H24] {
        for model in [Model::Exposure, Model::Expected] {
            let found = heatmap(
                &given,
                "BTC",
                range,
                model,
                (Opened::Ever, ShownPrices::ALL),
            )
            .unwrap();
            let wanted = heatmap(
                &clean,
                "BTC",
                range,
                model,
                (Opened::Ever, ShownPrices::ALL),
            )
            .unwrap();
            // Until a row is judged, a column is what the map was with that row.
            let (found_columns, wanted_columns) = (columns(&found.reply), columns(&wanted.reply));
            assert_eq!(found_columns.len(), wanted_columns.len());
            let same = found_columns.iter().zip(&wanted_columns);
            let different = same.filter(|(found, wanted)| found != wanted).count();
            assert!(
                (1..=10).contains(&different),
                "{different} of {}",
                found_columns.len()
            );
            assert_eq!(found_columns.last(), wanted_columns.last());
            let (found, wanted) = (plain(found.explain), wanted.explain);
            let parted = found.side_boundaries.clone();
            assert_eq!(
                found,
                EstimateBasis {
                    side_boundaries: parted,
                    ..wanted
                }
            );
        }
    }
    let map = liqmap(&given, "BTC", MapRange::All, None).unwrap();
    let explain = &map.explain;
    assert_eq!(
        (explain.open_interest_outliers, explain.bar_outliers),
        (4, 7)
    );
    assert_eq!(
        (explain.open_interest_unjudged, explain.bars_unjudged),
        (0, 0)
    );
    assert_eq!(
        map.reply,
        liqmap(&clean, "BTC", MapRange::All, None).unwrap().reply
    );
    for name in ["okx", "bybit"] {
        let map = |view: &liqdata::engine::View<'_>| {
            liqmap(&view.of_venue(Some(name)), "BTC", MapRange::D1, None).unwrap()
        };
        assert_eq!(map(&given).reply, map(&clean).reply);
    }
    let (found, wanted) = (
        levels(&given, "BTC", None, Headline::Strongest),
        levels(&clean, "BTC", None, Headline::Strongest),
    );
    assert_eq!(found.unwrap().reply, wanted.unwrap().reply);
    let (found, wanted) = (
        maxpain(&given, "BTC", None, Headline::Strongest),
        maxpain(&clean, "BTC", None, Headline::Strongest),
    );
    assert_eq!(found.unwrap().reply, wanted.unwrap().reply);
    // What was observed stays in the tables.
    assert_eq!(given.observations().bars("BTC").len(), 600);
    assert_eq!(given.observations().open_interest("BTC").count(), 1202);
}

#[test]
fn the_newest_rows_are_used_and_marked_as_doubtful() {
    let (mut bars, mut readings) = tables();
    readings[1201].open_interest = 20_000.0;
    bars[599].close = 500.0;
    bars[599].high = 500.0;
    let observations = observed(&bars, &readings);
    let map = liqmap(&observations.at(None), "BTC", MapRange::D1, None).unwrap();
    assert_eq!(
        (
            map.explain.open_interest_unjudged,
            map.explain.bars_unjudged
        ),
        (1, 1)
    );
    assert_eq!(
        (map.explain.open_interest_outliers, map.explain.bar_outliers),
        (0, 0)
    );
    assert_eq!(map.reply.current_price, 500.0);
}

#[test]
fn outliers_are_counted_by_exchange() {
    let (bars, mut readings) = tables();
    for (place, value) in [(400, 0.0), (1000, 0.0), (1002, 0.0), (1101, 1e9)] {
        readings[place].open_interest = value;
    }
    let observations = observed(&bars, &readings);
    let mut venues = Vec::new();
    count_outliers(&observations, observations.now(), Window::H24, &mut venues);
    let counts: Vec<_> = venues
        .iter()
        .map(|venue| {
            (
                venue.exchange.as_str(),
                venue.open_interest_outliers,
                venue.bar_outliers,
            )
        })
        .collect();
    // The first one is older than a day.
    assert_eq!(
        counts,
        [("bybit", Some(1), Some(0)), ("okx", Some(2), Some(0))]
    );
}

#[test]
fn a_simulation_has_no_outliers() {
    let world = simulate(0, Millis(NOW));
    let orders = world.orders.clone();
    let made = Observations::of_rows(orders, world.bars(), world.open_interest(), None);
    let observations = made.unwrap();
    for coin in observations.coins() {
        let map = liqmap(&observations.at(None), &coin, MapRange::All, None).unwrap();
        let EstimateBasis {
            open_interest_outliers,
            open_interest_unjudged,
            bar_outliers,
            bars_unjudged,
            ..
        } = map.explain;
        assert_eq!(
            (open_interest_outliers, open_interest_unjudged),
            (0, 0),
            "{coin}"
        );
        assert_eq!((bar_outliers, bars_unjudged), (0, 0), "{coin}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_estimate_as_of_an_instant_uses_the_rows_until_then_alone(
        market in doubtful_markets(STEP, 50),
        minutes in 1..60 * 5_i64,
        venue in prop::sample::select(vec![None, None, Some("okx")]),
    ) {
        let at = Millis(NOW + minutes * MINUTE);
        let all = Observations::new(
            Vec::new(), market.bars.clone(), market.open_interest.clone(), Some(Millis(NOW + 400 * MINUTE)),
        ).unwrap();
        let bars = market.bars.iter().filter(|bar| bar.timestamp.0 + STEP <= at.0);
        let readings = market.open_interest.iter().filter(|reading| reading.timestamp <= at);
        let until = Observations::new(
            Vec::new(), bars.cloned().collect(), readings.cloned().collect(), Some(at),
        ).unwrap();
        let map = |observations: &Observations| {
            let view = observations.at(Some(at)).of_venue(venue);
            liqmap(&view, market.coin, MapRange::All, None).ok()
        };
        prop_assert_eq!(map(&all), map(&until));
    }
}
