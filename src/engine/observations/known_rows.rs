//! Closed bars and open interest readings of a coin, as known at an instant.

use crate::engine::observations::resampling::resize;
use crate::engine::observations::row_store::RowSlice;
use crate::engine::{EngineError, View};
use crate::model::{Bar, Millis, ObservedOpenInterest, PeriodLength, TimeRange};

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
    let bars = closed(view, coin);
    if let Some(size) = size {
        return resize(coin, bars, size, range);
    }
    let first = bars.partition_point(|bar| bar.open_time < range.start);
    let end = bars.partition_point(|bar| bar.close_time() <= range.end);
    Ok(bars.within(first..end).to_vec())
}

/// Returns the open time and the length of the first closed bar of `coin` that opens in `range`.
#[must_use]
pub fn first_bar(view: &View<'_>, coin: &str, range: TimeRange) -> Option<(Millis, i64)> {
    let bars = closed(view, coin);
    let before = bars.partition_point(|bar| bar.open_time < range.start);
    let first = bars.get(before)?;
    range
        .contains(first.open_time)
        .then_some((first.open_time, first.interval))
}

fn closed<'a>(view: &View<'a>, coin: &str) -> RowSlice<'a, Bar> {
    let bars = view.observations().bars(coin);
    let count = bars.partition_point(|bar| bar.close_time() <= view.now());
    bars.within(0..count)
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
