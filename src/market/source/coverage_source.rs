//! The trait for coverage and gaps: which periods of a source's observations were recorded completely.

use crate::engine::{self, CompleteTapes, RecordedRanges};
use crate::market::refusal::Refusal;
use crate::market::source::view_source::{ViewSource, view_of};
use crate::model::{CoverageGap, Millis, SimulatedFeeds, TimeRange, VenueCoverage, Window};

/// Coverage and gaps as of an instant. Tables record neither of them.
pub(crate) trait CoverageSource: ViewSource {
    /// How completely each exchange's orders in `window` were recorded.
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        view_of(self, as_of, None, |view| engine::coverage(view, window))
    }

    /// How completely each exchange's orders in `range`, which ends by now, were recorded.
    fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        view_of(self, as_of, None, |view| {
            engine::coverage_between(view, range)
        })
    }

    /// Adds to the coverage of each exchange the number of rows that estimates exclude as outliers.
    fn count_outliers(
        &self,
        as_of: Option<Millis>,
        window: Window,
        venues: &mut Vec<VenueCoverage>,
    ) -> Result<(), Refusal> {
        view_of(self, as_of, None, |view| {
            engine::count_outliers(view.observations(), view.now(), window, venues);
        })
    }

    /// The time ranges in `window` for which everything that exchanges published was received.
    fn complete_tapes(
        &self,
        _as_of: Option<Millis>,
        _window: Window,
    ) -> Result<CompleteTapes, Refusal> {
        Ok(CompleteTapes::default())
    }

    /// The times in `range` and up to now in which the orders of each exchange are known.
    fn recorded(&self, as_of: Option<Millis>, range: TimeRange) -> Result<RecordedRanges, Refusal> {
        view_of(self, as_of, None, |view| engine::recorded(view, range))
    }

    /// The first instant at which anything was observed; `None` if nothing was.
    fn first_observed(&self) -> Result<Option<Millis>, Refusal> {
        view_of(self, None, None, |view| view.observations().first())
    }

    /// The first instant at which orders are known, as of an instant; `None` if they are at none.
    fn orders_from(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        view_of(self, as_of, None, engine::orders_from)
    }

    /// How orders were published and recorded, if that was simulated.
    fn simulated_feeds(&self) -> Option<&SimulatedFeeds> {
        None
    }

    /// The gaps that overlap `range`.
    fn gaps(&self, _as_of: Option<Millis>, _range: TimeRange) -> Result<Vec<CoverageGap>, Refusal> {
        Ok(Vec::new())
    }
}
