//! Bars of another size, made of shorter ones.

use std::collections::BTreeSet;

use crate::engine::EngineError;
use crate::model::{Bar, Millis, TimeRange};

/// Bars of `size` milliseconds made of the `bars` of `coin`, which are in order of time; those that do not lie within one,
/// or whose length does not divide it, are left out.
///
/// A bar opens at a multiple of its size since the epoch, and is given where it lies whole in `range` and
/// the bars reach to its end.
///
/// # Errors
///
/// [`EngineError::NoSuchLength`] where there are bars and such a one can be made of none of them, whenever they are.
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
    // Asked of the bar that is made: the shorter ones at its start are part of it, or it is wrong.
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

/// Refuses a size that none of the lengths of a coin's bars divide; where there are no bars, any will do.
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
