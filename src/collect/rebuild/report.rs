//! The options and the report of a rebuild.

use std::collections::BTreeMap;

use crate::archive::{Archive, Writer};
use crate::model::Millis;

/// The options of a rebuild.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildOptions {
    /// Replay only frames received at this instant or later; `None` for no limit.
    pub start: Option<Millis>,
    /// Replay only frames received before this instant; `None` for no limit.
    pub end: Option<Millis>,
    /// The names of exchanges; empty for all.
    pub venues: Vec<String>,
    /// Whether to report changes without writing them.
    pub dry_run: bool,
}

/// The counts of frames and rows of one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildCounts {
    /// Number of frames and REST replies that were replayed.
    pub frames: u64,
    /// Number of frames that still cannot be decoded completely.
    pub unread: u64,
    /// Number of unchanged rows.
    pub same: u64,
    /// Number of corrected rows.
    pub corrected: u64,
    /// Number of new rows.
    pub new: u64,
    /// Number of rows removed because their frame contains no such order.
    pub gone: u64,
    /// Number of rows that were neither changed nor added, because they fail the outlier check, are in quarantine, or
    /// cannot be stored exactly.
    pub doubtful: u64,
}

/// The report of a rebuild.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildReport {
    /// Counts by exchange.
    pub exchanges: BTreeMap<String, RebuildCounts>,
    /// Raw files that could not be read completely, with the reason.
    pub damaged: Vec<(String, String)>,
}

impl RebuildReport {
    pub(crate) fn of(&mut self, exchange: &str) -> &mut RebuildCounts {
        self.exchanges.entry(exchange.to_owned()).or_default()
    }
}

/// The archive of a rebuild, which is read-only in a dry run.
pub(crate) enum ArchiveAccess {
    Read(Archive),
    Write(Writer),
}

impl ArchiveAccess {
    pub(crate) fn archive(&self) -> &Archive {
        match self {
            Self::Read(archive) => archive,
            Self::Write(writer) => writer.archive(),
        }
    }

    pub(crate) fn writer(&mut self) -> Option<&mut Writer> {
        match self {
            Self::Read(_) => None,
            Self::Write(writer) => Some(writer),
        }
    }
}
