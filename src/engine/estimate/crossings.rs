//! What the price crossed of an estimate: what a score holds against what was liquidated.
//!
//! One ledger from the first bar on is asked for all instants, so any number of them costs one replay, and none knows
//! of anything that came after it: not even that an order came later, so that a silent bar was one of the feed's.

use crate::engine::ledger::replay::Frame;
use crate::engine::{EngineError, View};
use crate::model::{Chosen, Millis};

/// A move of the price from where it stood at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// When it began.
    pub at: Millis,
    /// The lowest price it came to.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// Every bar there is, none of them longer than `coarsest`.
fn frame<'a>(
    view: &View<'a>,
    coin: &str,
    model: &'a Chosen,
    coarsest: i64,
) -> Result<Frame<'a>, EngineError> {
    let view = view.under(model.own());
    let frame = Frame::new(view, coin, model.view(), Millis::ALL, "all", coarsest)?;
    Ok(frame.along())
}

/// What was crossed of each tier, as often as it counts.
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

/// The USD, of longs and of shorts, that each of `moves` would have crossed of the map as it stood when it began; of
/// the bars that had closed by then. `None` before the first of them, and before the first reading of open interest where
/// that is of a later bar.
///
/// Moves ascend in time.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars.
pub fn crossed(
    view: &View<'_>,
    coin: &str,
    model: &Chosen,
    moves: &[Move],
) -> Result<Vec<Option<[f64; 2]>>, EngineError> {
    let frame = frame(view, coin, model, i64::MAX)?;
    let times: Vec<Millis> = moves.iter().map(|one| one.at).collect();
    let first = frame.known_from();
    let mut crossed = Vec::with_capacity(moves.len());
    let mut rest = moves.iter();
    frame.replay(&times, |ledger| {
        crossed.extend(rest.next().map(|one| ledger.crossed(one.low, one.high)));
    });
    let counted = frame.counted_at(&times);
    let found = moves.iter().zip(&crossed).zip(counted);
    Ok(found
        .map(|((one, crossed), counted)| {
            let counted = counted.filter(|_| one.at >= first)?;
            Some(summed(crossed, &counted))
        })
        .collect())
}

/// The USD, of longs and of shorts, that the bars of each period crossed of the map as each of them found it: what was
/// opened within the period counts. `None` for a period that no whole bar lies in, and as [`crossed`].
///
/// Periods of `length` milliseconds open at `opens`, which ascend and lie at least so far apart.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars, or bars longer than a period.
pub fn refreshed(
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
    frame.walk(|ledger, bar| {
        while periods
            .next_if(|(open, _)| open.on(length) < bar.close_time())
            .is_some()
        {}
        if let Some((open, sums)) = periods.peek_mut()
            && bar.open_time >= **open
            && **open >= known_from
        {
            while counted.next_if(|(of, _)| *of < open).is_some() {}
            let Some((_, Some(counted))) = counted.peek() else {
                return;
            };
            let sums = sums.get_or_insert([0.0; 2]);
            let crossed = summed(&ledger.crossed(bar.low, bar.high), counted);
            for (sum, usd) in sums.iter_mut().zip(crossed) {
                *sum += usd;
            }
        }
    });
    Ok(found)
}
