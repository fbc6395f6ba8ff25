//! Snapshots of trading positions, compared with the prices of an archive.

use std::path::Path;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::collect::import::snapshots::{JudgedPositions, Unclear, snapshots};
use crate::model::{Millis, ObservedPosition, nearest_f64};
use crate::tables::{ExchangeAttribution, UnknownExchange};

/// Maximum age, in milliseconds, of the bar that gives the market price for a snapshot of trading positions.
const PRICED: i64 = 2 * Millis::HOUR;

/// Why trading positions cannot be ingested.
#[derive(Debug)]
pub enum PositionsFault {
    /// The archive cannot be read.
    Archive(ArchiveError),
    /// A row cannot be read: its index, the column at fault, and the reason.
    Row(Unclear),
}

impl From<ArchiveError> for PositionsFault {
    fn from(fault: ArchiveError) -> Self {
        Self::Archive(fault)
    }
}

/// Converts trading positions to the rows of the archive in the folder `path`. Also returns their indexes, and counts the
/// refused ones.
///
/// # Errors
///
/// [`PositionsFault`] for the first row that cannot be read or names an unknown exchange, and if the archive cannot be
/// read.
pub fn archive_positions(
    path: &Path,
    given: Vec<ObservedPosition>,
    exchange: Option<&str>,
    known: &mut ExchangeAttribution,
) -> Result<JudgedPositions, PositionsFault> {
    for (row, position) in given.iter().enumerate() {
        let name = position.exchange.as_deref();
        let unknown = name.map(|name| known.unknown(name)).transpose()?.flatten();
        if let Some(unknown) = unknown.as_ref().map(UnknownExchange::to_string) {
            return Err(PositionsFault::Row((row, "exchange", unknown)));
        }
    }
    let archive = if given.is_empty() {
        None
    } else {
        Archive::read_if_begun(path)?
    };
    let mut failed = None;
    let mut price_at = |coin: &str, at: Millis| {
        let filter = Filter {
            start: Some(at.back(PRICED)),
            as_of: Some(at),
            coin: Some(coin.to_owned()),
            ..Filter::default()
        };
        match archive.as_ref()?.last_bar(&filter) {
            Ok(bar) => bar.map(|bar| nearest_f64(bar.close)),
            Err(fault) => {
                failed.get_or_insert(fault);
                None
            }
        }
    };
    let made = snapshots(given, exchange, &mut price_at).map_err(PositionsFault::Row)?;
    failed.map_or(Ok(made), |fault| Err(fault.into()))
}
