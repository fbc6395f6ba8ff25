//! Resampling of bars to a longer interval.

use std::collections::BTreeSet;

use crate::engine::EngineError;
use crate::model::{Bar, Millis, TimeRange};

/// Resamples sorted `bars` to intervals of `size` milliseconds.
///
/// Resampled bars open at multiples of `size` since the epoch. A resampled bar is returned if it lies within `range`
/// and the last of `bars` closes at or after its end. Source bars are ignored if they lie in two resampled bars, or if
/// their length does not divide `size`.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`] if all source bars are ignored.
pub fn resize(
    coin: &str,
    bars: &[Bar],
    size: i64,
    range: TimeRange,
) -> Result<Vec<Bar>, EngineError> {
    let Some(reach) = bars.last().map(Bar::close_time) else {
        return Ok(Vec::new());
    };
    let open = |bar: &Bar| Millis(bar.open_time.0.div_euclid(size).saturating_mul(size));
    let fits = |bar: &Bar| {
        size > 0
            && bar.interval > 0
            && size % bar.interval == 0
            && bar.close_time() <= open(bar).on(size)
    };
    if !bars.iter().any(fits) {
        let lengths = bars.iter().map(|bar| bar.interval).collect();
        return Err(no_such_length(coin, size, &lengths));
    }
    let end = range.end.min(reach);
    // The range applies to the resampled bar, so that a returned bar has all of its source bars.
    let wanted = |bar: &Bar| {
        let open = open(bar);
        open >= range.start && open.on(size) <= end
    };
    let bars: Vec<Bar> = bars
        .iter()
        .filter(|bar| fits(bar) && wanted(bar))
        .copied()
        .collect();
    Ok(bars
        .chunk_by(|a, b| open(a) == open(b))
        .filter_map(|bars| {
            let (first, last) = (bars.first()?, bars.last()?);
            Some(Bar {
                open_time: open(first),
                interval: size,
                open: first.open,
                high: bars.iter().map(|bar| bar.high).fold(first.high, f64::max),
                low: bars.iter().map(|bar| bar.low).fold(first.low, f64::min),
                close: last.close,
                volume: bars.iter().map(|bar| bar.volume).sum(),
            })
        })
        .collect())
}

/// Checks that at least one bar length of a coin divides `size`.
///
/// Without bars, any size is valid.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`].
pub fn can_be_made(coin: &str, size: i64, lengths: &BTreeSet<i64>) -> Result<(), EngineError> {
    let divides = |length: &i64| *length > 0 && size % *length == 0;
    if lengths.is_empty() || lengths.iter().any(divides) {
        return Ok(());
    }
    Err(no_such_length(coin, size, lengths))
}

fn no_such_length(coin: &str, size: i64, lengths: &BTreeSet<i64>) -> EngineError {
    EngineError::NoSuchLength {
        coin: coin.to_owned(),
        size,
        lengths: lengths.iter().copied().collect(),
    }
}
