//! Counts over the bars of an estimate.

use crate::engine::ledger::ledger_state::{LedgerCounts, is_gap};
use crate::engine::observations::bar_sources::BarCounts;
use crate::engine::observations::coin_history::DerivedBar;
use crate::engine::observations::open_interest_series::{FreshReadings, OpenInterestSeries};
use crate::model::Bar;

/// Counts over bars, taken in order of time.
pub struct BarTally<'a> {
    pub counts: LedgerCounts,
    /// Gaps of more bar lengths count.
    longest_gap: i64,
    last: Option<Bar>,
    fresh: FreshReadings<'a>,
}

impl<'a> BarTally<'a> {
    /// Starts before `first`. Gaps longer than `longest_gap` bars are counted.
    pub fn new(readings: &'a OpenInterestSeries, first: Option<Bar>, longest_gap: i64) -> Self {
        Self {
            counts: LedgerCounts::default(),
            longest_gap,
            last: None,
            fresh: readings.fresh_from(first.map_or_else(Default::default, |bar| bar.close_time())),
        }
    }

    /// Counts one bar.
    pub fn count(&mut self, bar: &Bar, derived: &DerivedBar) {
        let gap = self
            .last
            .is_some_and(|last| is_gap(last.close_time(), last.interval, bar, self.longest_gap));
        let counts = &mut self.counts;
        counts.bars += 1;
        counts.interval = counts.interval.max(bar.interval);
        counts.partial += usize::from(derived.partial);
        counts.gaps += usize::from(gap);
        self.fresh.count(bar.close_time());
        self.last = Some(*bar);
    }

    /// Number of closes with open interest of each exchange, without zeros.
    pub fn open_interest(&self) -> BarCounts {
        self.fresh.counts()
    }
}
