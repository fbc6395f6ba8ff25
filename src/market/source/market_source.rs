//! The trait of all sources: everything that a market reads from the place of its observations.

use crate::archive::Archive;
use crate::market::source::coverage_source::CoverageSource;
use crate::market::source::history_source::HistorySource;
use crate::market::source::live_source::LiveSource;

/// A source that a market can be opened on.
pub(crate) trait MarketSource: CoverageSource + HistorySource + LiveSource {
    /// The archive, if the source is one.
    fn archive(&self) -> Option<&Archive> {
        None
    }

    /// The archive reader for long reads, which do not block queries about now.
    fn history_archive(&self) -> Option<&Archive> {
        self.archive()
    }

    /// Bounds the cache of historical reads to about `bytes`.
    fn set_history_cache(&self, _bytes: usize) {}
}
