//! Resampling of price bars to a larger size.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::archive::ArchiveError;
use crate::archive::rows::bars::BarRow;
use crate::model::{FixedPoint, Millis, ObservedBar, PeriodLength, nearest_f64};

/// A price bar of a requested size, computed from shorter bars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResampledBar {
    /// Exchange, lower case.
    pub exchange: String,
    /// Coin symbol.
    pub symbol: String,
    /// Open time in milliseconds.
    pub timestamp: Millis,
    /// Length of the bar in milliseconds.
    pub interval: i64,
    /// Total length of the source bars in milliseconds.
    ///
    /// It is less than `interval` if source bars are missing.
    pub observed: i64,
    /// First price.
    pub open: Decimal,
    /// Highest price.
    pub high: Decimal,
    /// Lowest price.
    pub low: Decimal,
    /// Last price.
    pub close: Decimal,
    /// Traded volume in base units.
    pub volume: Decimal,
    /// Latest time of receipt of the source bars.
    pub received_at: Millis,
}

impl From<ResampledBar> for ObservedBar {
    fn from(bar: ResampledBar) -> Self {
        Self {
            closes_at: Some(bar.timestamp.on(bar.interval)),
            symbol: bar.symbol,
            timestamp: bar.timestamp,
            interval: Some(bar.interval),
            open: nearest_f64(bar.open),
            high: nearest_f64(bar.high),
            low: nearest_f64(bar.low),
            close: nearest_f64(bar.close),
            volume: nearest_f64(bar.volume),
        }
    }
}

/// Returns an error for a fixed size that is not a positive number of whole minutes.
pub(crate) fn check(size: PeriodLength) -> Result<(), ArchiveError> {
    match size {
        PeriodLength::Fixed(size) if size <= 0 || size % Millis::MINUTE != 0 => {
            Err(ArchiveError::BadRange {
                parameter: "size",
                message: format!("{size} ms is not a whole number of minutes above 0"),
            })
        }
        _ => Ok(()),
    }
}

/// The source bars within one resampled bar, by length in milliseconds.
type BarsByLength = BTreeMap<i64, Vec<BarRow>>;

/// Resamples `bars` to periods of `size`, sorted by exchange, coin and time.
///
/// Bars of a length of which `size` cannot be made are ignored. If source bars of several lengths exist for a bar, the
/// length that covers the most time is used. If several lengths cover the same time, the shortest one is used.
///
/// # Errors
///
/// [`ArchiveError::BadRange`] if the volume of a bar has too many digits to be stored exactly.
pub(crate) fn resize(
    bars: Vec<BarRow>,
    size: PeriodLength,
) -> Result<Vec<ResampledBar>, ArchiveError> {
    let mut series: BTreeMap<(String, String), BTreeMap<Millis, BarsByLength>> = BTreeMap::new();
    for bar in bars {
        if size.is_made_of(bar.interval) && bar.close_time() <= size.close(bar.timestamp) {
            series
                .entry((bar.exchange.clone(), bar.symbol.clone()))
                .or_default()
                .entry(size.open(bar.timestamp))
                .or_default()
                .entry(bar.interval)
                .or_default()
                .push(bar);
        }
    }
    let mut sized = Vec::new();
    for ((exchange, symbol), times) in series {
        for (timestamp, mut lengths) in times {
            let observed = |length: i64, bars: &[BarRow]| {
                length.saturating_mul(i64::try_from(bars.len()).unwrap_or(i64::MAX))
            };
            let Some((length, most)) = lengths
                .iter()
                .map(|(length, bars)| (*length, observed(*length, bars)))
                // Lengths are compared in ascending order, so a longer length is chosen only if it covers more time.
                .reduce(|best, next| if next.1 > best.1 { next } else { best })
            else {
                continue;
            };
            let mut bars = lengths.remove(&length).unwrap_or_default();
            bars.sort_by_key(|bar| bar.timestamp);
            let (Some(first), Some(last)) = (bars.first(), bars.last()) else {
                continue;
            };
            let (mut high, mut low, mut received_at) = (first.high, first.low, first.received_at);
            for bar in &bars {
                high = high.max(bar.high);
                low = low.min(bar.low);
                received_at = received_at.max(bar.received_at);
            }
            sized.push(ResampledBar {
                exchange: exchange.clone(),
                symbol: symbol.clone(),
                timestamp,
                interval: size.close(timestamp).0 - timestamp.0,
                observed: most,
                open: first.open,
                high,
                low,
                close: last.close,
                volume: volume(&bars)?,
                received_at,
            });
        }
    }
    Ok(sized)
}

fn volume(bars: &[BarRow]) -> Result<Decimal, ArchiveError> {
    let mut sum: Option<i128> = Some(0);
    for bar in bars {
        let scaled = FixedPoint::of(bar.volume).ok();
        sum = sum
            .zip(scaled)
            .and_then(|(sum, next)| sum.checked_add(next.0));
    }
    sum.and_then(|units| FixedPoint(units).decimal())
        .ok_or_else(|| ArchiveError::BadRange {
            parameter: "size",
            message: "the volume of a resampled bar has more digits than a decimal has".to_owned(),
        })
}
