//! The USD of an estimate that price moves cross, for scoring estimates.
//!
//! One replay serves all instants. No value depends on later data. A move that starts before an outlier was judged has
//! no value.

use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::{EngineError, View};
use crate::model::{Chosen, Millis, Opened};

/// A price move that starts at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceMove {
    /// Start of the move.
    pub at: Millis,
    /// Lowest price of the move.
    pub low: f64,
    /// Highest price of the move.
    pub high: f64,
}

/// The replay window of all bars of a coin.
///
/// Returns an error if a bar is longer than `coarsest`.
fn frame<'a>(
    view: &View<'a>,
    coin: &str,
    model: &'a Chosen,
    coarsest: i64,
) -> Result<ReplayWindow<'a>, EngineError> {
    let view = view.with_model(model.own());
    let window = (Millis::ALL, "all", Opened::Ever);
    ReplayWindow::new(view, coin, model.view(), window, coarsest)
}

/// Sums the crossed USD of all tiers, each multiplied by its factor.
fn summed(crossed: &[Vec<f64>; 2], counted: &[Vec<f64>; 2]) -> [f64; 2] {
    let sum = |(crossed, counted): (&Vec<f64>, &Vec<f64>)| {
        let usd = crossed
            .iter()
            .zip(counted)
            .map(|(usd, counted)| usd * counted);
        usd.fold(0.0, |sum, usd| sum + usd)
    };
    let ([longs, shorts], [of_longs, of_shorts]) = (crossed, counted);
    [sum((longs, of_longs)), sum((shorts, of_shorts))]
}

/// Returns the USD of longs and of shorts that each move crosses.
///
/// A move crosses the map as of its start.
///
/// The map uses the bars that closed by the start of the move. The result is `None` for moves that start before the
/// first close, or before the first open interest reading. It is also `None` if an outlier is not judged yet when the
/// move starts. Moves must ascend in time.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars.
pub fn crossed_by_moves(
    view: &View<'_>,
    coin: &str,
    model: &Chosen,
    moves: &[PriceMove],
) -> Result<Vec<Option<[f64; 2]>>, EngineError> {
    let frame = frame(view, coin, model, i64::MAX)?;
    let times: Vec<Millis> = moves.iter().map(|one| one.at).collect();
    let first = frame.known_from();
    let mut crossed = Vec::with_capacity(moves.len());
    let mut rest = moves.iter();
    frame.replay(&times, |_, state| {
        let ledger = &state.ledger;
        crossed.extend(rest.next().map(|one| ledger.crossed(one.low, one.high)));
    });
    let counted = frame.counted_at(&times);
    let found = moves.iter().zip(&crossed).zip(counted);
    Ok(found
        .map(|((one, crossed), counted)| {
            let is_known = one.at >= first && frame.is_settled_within(one.at, one.at);
            let counted = counted.filter(|_| is_known)?;
            Some(summed(crossed, &counted))
        })
        .collect())
}

/// Returns the USD of longs and of shorts that the bars of each period cross.
///
/// Each bar crosses the map as of its open, so positions opened within the period count. The result is `None` for a
/// period that contains no whole bar, and in the cases of [`crossed_by_moves`]. Periods have `length` milliseconds and
/// start at `opens`. They must ascend and not overlap.
///
/// # Errors
///
/// [`EngineError`] if the coin has no bars, or bars longer than a period.
pub fn crossed_by_periods(
    view: &View<'_>,
    coin: &str,
    model: &Chosen,
    opens: &[Millis],
    length: i64,
) -> Result<Vec<Option<[f64; 2]>>, EngineError> {
    let frame = frame(view, coin, model, length)?;
    let mut counted = opens.iter().zip(frame.counted_at(opens)).peekable();
    let known_from = frame.known_from();
    let mut found = vec![None; opens.len()];
    let mut periods = opens.iter().zip(&mut found).peekable();
    frame.walk(|state, bar| {
        while periods
            .next_if(|(open, _)| open.on(length) < bar.close_time())
            .is_some()
        {}
        if let Some((open, sums)) = periods.peek_mut()
            && bar.open_time >= **open
            && **open >= known_from
            && frame.is_settled_within(**open, open.on(length))
        {
            while counted.next_if(|(of, _)| *of < open).is_some() {}
            let Some((_, Some(counted))) = counted.peek() else {
                return;
            };
            let sums = sums.get_or_insert([0.0; 2]);
            let crossed = summed(&state.ledger.crossed(bar.low, bar.high), counted);
            for (sum, usd) in sums.iter_mut().zip(crossed) {
                *sum += usd;
            }
        }
    });
    Ok(found)
}
