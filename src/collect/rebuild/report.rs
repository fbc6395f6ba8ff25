//! What is to be read anew, in which archive, and what became of it.

use std::collections::BTreeMap;

use crate::archive::{Archive, Writer};
use crate::model::Millis;

/// What is to be read anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildOptions {
    /// Only what was received from this instant on.
    pub start: Option<Millis>,
    /// Only what was received before this instant.
    pub end: Option<Millis>,
    /// The exchanges by name; all of them where there are none.
    pub venues: Vec<String>,
    /// Whether to change nothing, and only say what would change.
    pub dry_run: bool,
}

/// What became of an exchange's frames and rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildCounts {
    /// Frames and bodies that were read.
    pub frames: u64,
    /// Those of which today, too, nothing or not all can be read.
    pub unread: u64,
    /// Rows that are what they were.
    pub same: u64,
    /// Rows that are told otherwise.
    pub corrected: u64,
    /// Rows that the archive did not have.
    pub new: u64,
    /// Rows that are told no more: their frame tells no such order.
    pub gone: u64,
    /// Rows that were left as they were, or left out, since they cannot be right: their unit must be another, or they cannot be
    /// kept exactly.
    pub doubtful: u64,
}

/// What became of frames that were read anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildReport {
    /// By exchange.
    pub exchanges: BTreeMap<String, RebuildCounts>,
    /// Files of frames that could not be read to their end, and why.
    pub damaged: Vec<(String, String)>,
}

impl RebuildReport {
    pub(crate) fn of(&mut self, exchange: &str) -> &mut RebuildCounts {
        self.exchanges.entry(exchange.to_owned()).or_default()
    }
}

/// An archive that is read, and written where something is to change.
pub(crate) enum ArchiveAccess {
    Read(Archive),
    Write(Writer),
}

impl ArchiveAccess {
    pub(crate) fn archive(&self) -> &Archive {
        match self {
            Self::Read(archive) => archive,
            Self::Write(writer) => writer,
        }
    }

    pub(crate) fn writer(&mut self) -> Option<&mut Writer> {
        match self {
            Self::Read(_) => None,
            Self::Write(writer) => Some(writer),
        }
    }
}
