//! What tables list of a coin, as far as it is known by an instant: closed bars and readings of open interest.

use crate::engine::observations::resampling;
use crate::engine::{EngineError, View};
use crate::model::{Bar, ObservedOpenInterest, TimeRange};

/// The bars of `coin` that have closed by now and lie whole in `range`, in order of time; made into bars of
/// `size` milliseconds where one is given.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`] as [`resize()`] gives it.
pub fn bars(
    view: &View<'_>,
    coin: &str,
    range: TimeRange,
    size: Option<i64>,
) -> Result<Vec<Bar>, EngineError> {
    let bars = view.observations().bars(coin);
    let closed = bars.partition_point(|bar| bar.close_time() <= view.now());
    let bars = bars.get(..closed).unwrap_or_default();
    match size {
        Some(size) => resize(coin, bars, size, range),
        None => Ok(bars
            .iter()
            .filter(|bar| bar.open_time >= range.start && bar.close_time() <= range.end)
            .copied()
            .collect()),
    }
}

/// The readings of the open interest of `coin` by now that lie in `range`, in order of time.
#[must_use]
pub fn open_interest(view: &View<'_>, coin: &str, range: TimeRange) -> Vec<ObservedOpenInterest> {
    let readings = view.observations().open_interest(coin);
    readings
        .filter(|reading| reading.timestamp <= view.now())
        .filter(|reading| range.contains(reading.timestamp))
        .collect()
}
