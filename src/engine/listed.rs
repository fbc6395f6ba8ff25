//! What tables list of a coin, as far as it is known by an instant: closed bars and readings of open interest.

use super::{EngineError, View, resize};
use crate::model::{Bar, Millis, ObservedOpenInterest};

/// The bars of `coin` that have closed by now and lie whole between `start` and `end`, in order of time; made into bars of
/// `size` milliseconds where one is given.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`] as [`resize()`] gives it.
pub fn bars(
    view: &View<'_>,
    coin: &str,
    (start, end): (Option<Millis>, Option<Millis>),
    size: Option<i64>,
) -> Result<Vec<Bar>, EngineError> {
    let bars = view.observations().bars(coin);
    let closed = bars.partition_point(|bar| bar.close_time() <= view.now());
    let bars = bars.get(..closed).unwrap_or_default();
    match size {
        Some(size) => resize(coin, bars, size, (start, end)),
        None => Ok(bars
            .iter()
            .filter(|bar| start.is_none_or(|start| bar.open_time >= start))
            .filter(|bar| end.is_none_or(|end| bar.close_time() <= end))
            .copied()
            .collect()),
    }
}

/// The readings of the open interest of `coin` by now, from `start` until before `end`, in order of time.
#[must_use]
pub fn open_interest(
    view: &View<'_>,
    coin: &str,
    (start, end): (Option<Millis>, Option<Millis>),
) -> Vec<ObservedOpenInterest> {
    let readings = view.observations().open_interest(coin);
    readings
        .filter(|reading| reading.timestamp <= view.now())
        .filter(|reading| start.is_none_or(|start| reading.timestamp >= start))
        .filter(|reading| end.is_none_or(|end| reading.timestamp < end))
        .collect()
}
