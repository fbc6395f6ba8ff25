//! The sessions, the coverage and the gaps of an archive.

use std::collections::BTreeMap;

use crate::archive::catalog::stats;
use crate::archive::coverage::{gap_status, liveness, report};
use crate::archive::store::store::Store;
use crate::archive::{ArchiveError, Gap, GapOutcome, Session, TopicGap, VenueCoverage};
use crate::model::{CoverageGap, Millis, TimeRange};

/// The sessions, the coverage and the gaps of an archive.
#[derive(Clone, Copy, Debug)]
pub struct CoverageView<'a>(pub(crate) &'a Store);

impl CoverageView<'_> {
    /// Known gaps of orders that overlap `start` to `end`, sorted by start.
    ///
    /// Includes the gaps of segments that are damaged now, whether or not a writer has quarantined those segments.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the journal cannot be read.
    pub fn gaps(self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        report::gaps(self.0, start, end)
    }

    /// As [`CoverageView::gaps`], limited to gaps that were recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::gaps`].
    pub fn gaps_known(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<Gap>, ArchiveError> {
        report::gaps_known(self.0, start, end, as_of)
    }

    /// Sessions that overlap the range from `start` to `end`, sorted by start.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the journal cannot be read.
    pub fn sessions(self, start: Millis, end: Millis) -> Result<Vec<Session>, ArchiveError> {
        report::sessions(self.0, start, end)
    }

    /// Coverage of each exchange from `start` to `end`, sorted by exchange name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the archive cannot be read.
    pub fn by_exchange(
        self,
        start: Millis,
        end: Millis,
    ) -> Result<Vec<VenueCoverage>, ArchiveError> {
        report::coverage(self.0, start, end)
    }

    /// As [`CoverageView::by_exchange`] as of an instant, with order counts from the caller.
    ///
    /// `counts` maps an exchange to its number of orders and the time of its last order.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::by_exchange`].
    pub fn by_exchange_counted(
        self,
        start: Millis,
        end: Millis,
        counts: &BTreeMap<String, (u64, Millis)>,
        as_of: Option<Millis>,
    ) -> Result<Vec<VenueCoverage>, ArchiveError> {
        report::coverage_of(self.0, start, end, counts, as_of)
    }

    /// Time ranges in which each exchange was connected and has no known gap.
    ///
    /// The ranges are sorted and disjoint. Lists every exchange that ever had a session. Gaps that were recovered by
    /// `as_of` count as covered. Gaps of single topics also count as covered.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the range is empty or the archive cannot be read.
    pub fn covered(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        report::covered(self.0, start, end, as_of)
    }

    /// As [`CoverageView::covered`]. In an archive without sessions each exchange is covered between its first and its last
    /// order.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::covered`].
    pub fn recorded(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        report::recorded(self.0, start, end, as_of)
    }

    /// When the first session began, or of the first order.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn orders_from(self) -> Result<Option<Millis>, ArchiveError> {
        self.0.ask(stats::orders_from)
    }

    /// The first instant at which anything was observed: as [`CoverageView::orders_from`], or of the first reading, position
    /// or close of a bar.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn observed_from(self) -> Result<Option<Millis>, ArchiveError> {
        self.0.ask(stats::observed_from)
    }

    /// As [`CoverageView::covered`], but only for channels that report every order.
    ///
    /// Gaps of single topics do not count as covered.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::covered`].
    pub fn fully_covered(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<TimeRange>>, ArchiveError> {
        report::fully_covered(self.0, start, end, as_of)
    }

    /// Gaps of single topics, as known at `as_of`, sorted by start.
    ///
    /// Returns the gaps that overlap `start` to `end`.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::gaps`].
    pub fn topic_gaps(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<TopicGap>, ArchiveError> {
        report::topic_gaps(self.0, start, end, as_of)
    }

    /// Gap outcomes, as known at `as_of`, sorted by start.
    ///
    /// Returns the outcomes that overlap `start` to `end`.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::gaps`].
    pub fn outcomes(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<GapOutcome>, ArchiveError> {
        report::outcomes(self.0, start, end, as_of)
    }

    /// Gaps of exchanges and of single topics, each with its status, sorted by start.
    ///
    /// Lists the gaps that overlap `start` to `end`. The status is the one known at `as_of`. If one recovery request
    /// covered several gaps, each of these gaps counts all orders that the request recovered.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::gaps`].
    pub fn gap_statuses(
        self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<CoverageGap>, ArchiveError> {
        gap_status::gap_statuses(self.0, start, end, as_of)
    }

    /// Gaps of exchanges to which the collector has not connected yet.
    ///
    /// Returns no gaps if any exchange has been connected since the first of these gaps began.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn pending_gaps(self) -> Result<Vec<Gap>, ArchiveError> {
        gap_status::pending_gaps(self.0)
    }

    /// Parts of an exchange's gaps that are neither recovered nor lost, sorted and disjoint.
    ///
    /// Gaps of damaged segments are included only if they end after `damaged_since`. The limit is needed because the
    /// search for damage reads the segment files.
    ///
    /// # Errors
    ///
    /// As [`CoverageView::gaps`].
    pub fn open_ranges(
        self,
        exchange: &str,
        damaged_since: Millis,
    ) -> Result<Vec<TimeRange>, ArchiveError> {
        gap_status::open_ranges(self.0, exchange, damaged_since)
    }

    /// The end of each exchange's last session.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn connected_until(self) -> Result<BTreeMap<String, Millis>, ArchiveError> {
        liveness::connected_until(self.0)
    }
}
