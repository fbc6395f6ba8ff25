//! Closed bars and open interest readings of a coin, as known at an instant.

use crate::engine::observations::resampling::resize;
use crate::engine::{EngineError, View};
use crate::model::{Bar, ObservedOpenInterest, PeriodLength, TimeRange};

/// Returns the closed bars of `coin` that lie in `range`, in order of time.
///
/// With `size`, they are resampled to periods of that length.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`] if [`resize()`] returns it.
pub fn bars(
    view: &View<'_>,
    coin: &str,
    range: TimeRange,
    size: Option<PeriodLength>,
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

/// Returns the open interest readings of `coin` in `range`.
///
/// They are in order of time. Readings after now are left out.
#[must_use]
pub fn open_interest(view: &View<'_>, coin: &str, range: TimeRange) -> Vec<ObservedOpenInterest> {
    let readings = view.observations().open_interest(coin);
    readings
        .filter(|reading| reading.timestamp <= view.now())
        .filter(|reading| range.contains(reading.timestamp))
        .collect()
}
