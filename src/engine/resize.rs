//! Bars of another size, made of shorter ones.

use crate::model::{Bar, Millis};

/// Bars of `size` milliseconds made of `bars`, which are in order of time; those whose length does not divide it are left
/// out.
///
/// A bar opens at a multiple of its size since the epoch, and is given where the bars reach to its end.
#[must_use]
pub fn resize(bars: &[Bar], size: i64) -> Vec<Bar> {
    let Some(end) = bars.last().map(Bar::close_time).filter(|_| size > 0) else {
        return Vec::new();
    };
    let open = |bar: &Bar| Millis(bar.open_time.0.div_euclid(size).saturating_mul(size));
    let fits = |bar: &&Bar| {
        bar.interval > 0 && size % bar.interval == 0 && bar.close_time() <= open(bar).on(size)
    };
    let bars: Vec<Bar> = bars.iter().filter(fits).copied().collect();
    bars.chunk_by(|a, b| open(a) == open(b))
        .filter_map(|bars| {
            let (first, last) = (bars.first()?, bars.last()?);
            let made = Bar {
                open_time: open(first),
                interval: size,
                open: first.open,
                high: bars.iter().map(|bar| bar.high).fold(first.high, f64::max),
                low: bars.iter().map(|bar| bar.low).fold(first.low, f64::min),
                close: last.close,
                volume: bars.iter().map(|bar| bar.volume).sum(),
            };
            (made.close_time() <= end).then_some(made)
        })
        .collect()
}
