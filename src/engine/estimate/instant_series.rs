//! Estimates at many instants from one replay, equal bit for bit to separate replays.
//!
//! A ledger is causal, so one ledger that passes through all bars has the state of every instant. An instant at which an
//! outlier was not judged yet has a replay of its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::engine::estimate::heatmap::{
    DailyWeights, HeatmapColumn, column_ends, heatmap, render as render_heatmap,
};
use crate::engine::estimate::liquidation_map::{MapOptions, liqmap_with, render};
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, Estimate, View};
use crate::model::{
    Chosen, HeatmapGrid, HeatmapRange, LiquidationMap, Millis, Model, Opened, ShownPrices,
};

/// The window of the range `all`.
const ALL: (i64, &str, Opened) = (Millis::ALL, "all", Opened::Ever);

/// Returns liquidation maps over all bars of a coin, as of each of `instants`, in any order.
///
/// `instants` may be unsorted.
///
/// Each map equals that of [`liqmap_with`] with these options as of its instant; their range is `all`.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{MapOptions, Observations, liqmap, liqmaps};
/// use liqdata::model::{MapRange, Millis, ObservedBar};
///
/// let bars = (0..100).map(|hour| ObservedBar {
///     symbol: "BTC".to_owned(),
///     timestamp: Millis(hour * Millis::HOUR),
///     closes_at: None,
///     open: 60_000.0, high: 60_300.0, low: 59_700.0, close: 60_000.0, volume: 10.0,
///     interval: None,
/// });
/// let observations = Observations::new(Vec::new(), bars.collect(), Vec::new(), None)?;
/// let instants = [Millis(80 * Millis::HOUR), Millis(40 * Millis::HOUR)];
/// let maps = liqmaps(&observations.at(None), "BTC", None, MapOptions::of(MapRange::All), &instants);
/// for (map, at) in maps.into_iter().zip(instants) {
///     let alone = liqmap(&observations.at(Some(at)), "BTC", MapRange::All, None)?;
///     assert_eq!(map?, alone);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn liqmaps(
    view: &View<'_>,
    coin: &str,
    model: Option<&Chosen>,
    options: MapOptions,
    instants: &[Millis],
) -> Vec<Result<Estimate<LiquidationMap>, EngineError>> {
    let mut found: Vec<Option<Result<Estimate<LiquidationMap>, EngineError>>> =
        vec![None; instants.len()];
    let under = view.with_model(model.and_then(Chosen::own));
    // If no model is requested, instants before the first fit use another model than instants after it.
    let each =
        |at: &Millis| model.map_or_else(|| under.as_of(*at).default_model(coin), Chosen::view);
    let models: Vec<Model> = instants.iter().map(each).collect();
    for model in [Model::Exposure, Model::Expected] {
        let of_it = instants.iter().zip(&models).enumerate();
        let of_it = of_it.filter(|(_, (at, of))| **of == model && is_settled(view, coin, **at));
        let requested: Vec<(usize, Millis)> = of_it.map(|(place, (at, _))| (place, *at)).collect();
        let times: Vec<Millis> = requested.iter().map(|(_, at)| *at).collect();
        maps_of_model(&under, coin, model, options, &times, |place, map| {
            let found = requested
                .get(place)
                .and_then(|(place, _)| found.get_mut(*place));
            if let Some(found) = found {
                *found = Some(map);
            }
        });
    }
    // Instants before the first bar give an error; others were not settled.
    let alone = |at: &Millis| liqmap_with(&view.as_of(*at), coin, options, model);
    let pairs = found.into_iter().zip(instants);
    pairs
        .map(|(found, at)| found.unwrap_or_else(|| alone(at)))
        .collect()
}

/// Returns heatmaps of all bars of a coin, one as of each instant.
///
/// `instants` may be unsorted.
///
/// Each heatmap equals that of [`heatmap`] with the range [`HeatmapRange::All`] as of its instant.
#[must_use]
pub fn heatmaps(
    view: &View<'_>,
    coin: &str,
    (model, shown): (Model, ShownPrices),
    instants: &[Millis],
) -> Vec<Result<Estimate<HeatmapGrid>, EngineError>> {
    let mut found: Vec<Option<Estimate<HeatmapGrid>>> = vec![None; instants.len()];
    let settled = instants.iter().enumerate();
    let settled = settled.filter(|(_, at)| is_settled(view, coin, **at));
    let (places, times): (Vec<usize>, Vec<Millis>) =
        settled.map(|(place, at)| (place, *at)).unzip();
    heatmaps_of_settled(view, coin, (model, shown), &times, |place, map| {
        let found = places.get(place).and_then(|place| found.get_mut(*place));
        if let Some(found) = found {
            *found = Some(map);
        }
    });
    let alone = |at: &Millis| {
        let view = view.as_of(*at);
        heatmap(&view, coin, HeatmapRange::All, model, (Opened::Ever, shown))
    };
    let pairs = found.into_iter().zip(instants);
    pairs
        .map(|(found, at)| found.map_or_else(|| alone(at), Ok))
        .collect()
}

/// Passes the heatmap as of each instant to `take`, with the index of the instant. Skips instants without a closed bar,
/// and those with a column at which an outlier was not judged yet.
fn heatmaps_of_settled(
    view: &View<'_>,
    coin: &str,
    (model, shown): (Model, ShownPrices),
    instants: &[Millis],
    mut take: impl FnMut(usize, Estimate<HeatmapGrid>),
) {
    const RANGE: HeatmapRange = HeatmapRange::All;
    let Some(frame) = window_to(view, coin, model, instants) else {
        return;
    };
    let ends = |bars: usize| column_ends(&frame.until(bars), RANGE);
    let asked = in_order(&frame, instants);
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    let mut columns_of: HashMap<usize, Vec<Millis>> = HashMap::new();
    for (bars, _) in &asked {
        let times = columns_of.entry(*bars).or_insert_with(|| ends(*bars));
        wanted.extend(times.iter().map(|end| frame.closed_by(*end)));
    }
    let mut weights = DailyWeights::new(&frame);
    let mut columns: HashMap<usize, HeatmapColumn> = HashMap::new();
    let mut tally = frame.tally();
    let mut places = asked.iter().peekable();
    let wanted: Vec<usize> = wanted.into_iter().collect();
    let bars = frame.all_bars();
    let closes: Vec<Millis> = wanted
        .iter()
        .map(|count| count.checked_sub(1).and_then(|last| bars.get(last)))
        .map(|last| last.map_or(Millis(i64::MIN), |bar| bar.close_time()))
        .collect();
    frame.replay(&closes, |number, state| {
        let Some(&bars) = wanted.get(number) else {
            return;
        };
        columns.insert(bars, weights.column(state));
        while let Some((_, place)) = places.next_if(|(of, _)| *of == bars) {
            let Some(times) = columns_of.get(&bars) else {
                continue;
            };
            frame.count(&mut tally, bars);
            if times.iter().any(|at| !frame.is_settled_within(*at, *at)) {
                continue;
            }
            let visible: Vec<&HeatmapColumn> = times
                .iter()
                .filter_map(|end| columns.get(&frame.closed_by(*end)))
                .collect();
            let until = frame.until(bars);
            let explain = frame.explain_tally(state, &tally, until.fit().map(Arc::as_ref));
            let asked = (coin, RANGE, model, shown);
            take(
                *place,
                render_heatmap(&until, asked, times.clone(), &visible, explain),
            );
        }
    });
}

/// Whether all outliers known by `at` were judged by `at`.
///
/// If not, estimates as of `at` use rows that later estimates leave out.
fn is_settled(view: &View<'_>, coin: &str, at: Millis) -> bool {
    view.history(coin)
        .is_none_or(|history| history.is_settled(at))
}

/// The window of all bars up to the last of `instants`; `None` if no bar has closed by then.
fn window_to<'a>(
    view: &View<'a>,
    coin: &str,
    model: Model,
    instants: &[Millis],
) -> Option<ReplayWindow<'a>> {
    let last = instants.iter().max()?;
    ReplayWindow::new(view.as_of(*last), coin, model, ALL, Millis::ALL).ok()
}

/// The number of bars closed by each instant that can be answered, and its index, in order.
fn in_order(frame: &ReplayWindow<'_>, instants: &[Millis]) -> Vec<(usize, usize)> {
    let mut asked: Vec<(usize, usize)> = instants
        .iter()
        .enumerate()
        .filter(|(_, at)| **at >= frame.venue_since())
        .map(|(place, at)| (frame.closed_by(*at), place))
        .filter(|(bars, _)| *bars > 0)
        .collect();
    asked.sort_unstable();
    asked
}

/// Passes the maps of one model as of each instant to `take`, with the index of the instant. Skips instants without a
/// closed bar.
fn maps_of_model(
    view: &View<'_>,
    coin: &str,
    model: Model,
    options: MapOptions,
    instants: &[Millis],
    mut take: impl FnMut(usize, Result<Estimate<LiquidationMap>, EngineError>),
) {
    let Some(frame) = window_to(view, coin, model, instants) else {
        return;
    };
    let asked = in_order(&frame, instants);
    let closes: Vec<Millis> = asked
        .iter()
        .filter_map(|(bars, _)| frame.all_bars().get(bars.checked_sub(1)?))
        .map(|bar| bar.close_time())
        .collect();
    let mut tally = frame.tally();
    frame.replay(&closes, |number, state| {
        let Some((bars, place)) = asked.get(number) else {
            return;
        };
        frame.count(&mut tally, *bars);
        let last = bars
            .checked_sub(1)
            .and_then(|last| frame.all_bars().get(last));
        let Some(last) = last else {
            return;
        };
        let fit = frame.fit_at(last.close_time());
        let counted = frame.counted_by(fit.as_deref());
        let explain = frame.explain_tally(state, &tally, fit.as_deref());
        let map = render(
            &frame,
            options,
            (&state.ledger, last.close),
            &counted,
            explain,
        );
        take(*place, map);
    });
}
