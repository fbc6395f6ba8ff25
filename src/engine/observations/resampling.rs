//! Resampling of bars to a longer interval.

use std::collections::BTreeSet;

use crate::engine::EngineError;
use crate::engine::observations::row_store::RowSlice;
use crate::model::{Bar, Millis, PeriodLength, RunningBar, TimeRange};

/// Resamples sorted `bars` to periods of `size`.
///
/// A resampled bar is returned if it lies within `range`
/// and the last of `bars` closes at or after its end. Source bars are ignored if they lie in two resampled bars, or if
/// periods of `size` cannot be made of their length.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`] if all source bars are ignored.
pub fn resize<'a>(
    coin: &str,
    bars: impl Into<RowSlice<'a, Bar>>,
    size: PeriodLength,
    range: TimeRange,
) -> Result<Vec<Bar>, EngineError> {
    let bars = bars.into();
    let Some(reach) = bars.last().map(|bar| bar.close_time()) else {
        return Ok(Vec::new());
    };
    let open = |bar: &Bar| size.open(bar.open_time);
    let close = |bar: &Bar| size.close(bar.open_time);
    let fits = |bar: &Bar| size.is_made_of(bar.interval) && bar.close_time() <= close(bar);
    if !bars.iter().any(|bar| fits(&bar)) {
        let lengths = bars.iter().map(|bar| bar.interval).collect();
        return Err(no_such_length(coin, size, &lengths));
    }
    let end = range.end.min(reach);
    // The range applies to the resampled bar, so that a returned bar has all of its source bars.
    let wanted = bars.partition_point(|bar| open(bar) < range.start)
        ..bars.partition_point(|bar| close(bar) <= end);
    let mut periods: Vec<Bar> = Vec::new();
    for bar in bars.within(wanted).iter().filter(fits) {
        match periods.last_mut() {
            Some(last) if last.open_time == open(&bar) => extend(last, &bar),
            _ => periods.push(begun(&bar, open(&bar), close(&bar))),
        }
    }
    Ok(periods)
}

/// Returns the bar of the last period of `size` that has begun and has not ended by the close of the last of `bars`.
///
/// `bars` must be sorted. Its close time is that of the last source bar, and its length that of the whole period.
#[must_use]
pub fn running(bars: &[Bar], size: PeriodLength) -> Option<RunningBar> {
    let last = bars.last()?;
    let (open, close) = (size.open(last.open_time), size.close(last.open_time));
    if last.close_time() >= close {
        return None;
    }
    let mut within = bars
        .iter()
        .filter(|bar| bar.open_time >= open && size.is_made_of(bar.interval));
    let first = within.next()?;
    let mut running = RunningBar {
        bar: begun(first, open, close),
        known_at: first.close_time(),
    };
    for bar in within {
        extend(&mut running.bar, bar);
        running.known_at = bar.close_time();
    }
    Some(running)
}

/// A bar from `open` to `close`, of which `first` is the only part so far.
fn begun(first: &Bar, open: Millis, close: Millis) -> Bar {
    Bar {
        open_time: open,
        interval: close.0 - open.0,
        ..*first
    }
}

/// Adds the next part to a bar.
fn extend(period: &mut Bar, next: &Bar) {
    period.high = period.high.max(next.high);
    period.low = period.low.min(next.low);
    period.close = next.close;
    period.volume += next.volume;
}

/// Checks that periods of `size` can be made of at least one bar length of a coin.
///
/// Without bars, any size is valid.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`].
pub fn can_be_made(
    coin: &str,
    size: PeriodLength,
    lengths: &BTreeSet<i64>,
) -> Result<(), EngineError> {
    if lengths.is_empty() || lengths.iter().any(|length| size.is_made_of(*length)) {
        return Ok(());
    }
    Err(no_such_length(coin, size, lengths))
}

fn no_such_length(coin: &str, size: PeriodLength, lengths: &BTreeSet<i64>) -> EngineError {
    EngineError::NoSuchLength {
        coin: coin.to_owned(),
        size,
        lengths: lengths.iter().copied().collect(),
    }
}
