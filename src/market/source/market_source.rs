//! The trait of all sources: everything that a market reads.

use crate::archive::Archive;
use crate::market::source::coverage_source::CoverageSource;
use crate::market::source::history_source::HistorySource;
use crate::market::source::live_source::LiveSource;

/// A source that a market can read from.
pub(crate) trait MarketSource: CoverageSource + HistorySource + LiveSource {
    /// The archive, if the source is one.
    fn archive(&self) -> Option<&Archive> {
        None
    }

    /// The archive reader for long reads, which must not block queries about now.
    fn history_archive(&self) -> Option<&Archive> {
        self.archive()
    }

    /// Coins with a ledger that warms up, by name.
    fn warming_up(&self) -> Vec<String> {
        Vec::new()
    }

    /// Limits the cache for queries about the past to about `bytes` bytes.
    fn set_history_cache(&self, _bytes: usize) {}
}
