//! The state of a ledger between two bars, and how a bar changes it.

use chrono::{Datelike, TimeZone, Utc};

use crate::engine::observations::bar_intervals::days;
use crate::engine::observations::coin_history::DerivedBar;
use crate::engine::{Ledger, Step};
use crate::model::{Bar, Millis};

/// Long and short quantity of a bar; `None` if unknown.
pub type BarQuantities = [Option<f64>; 2];

/// A ledger during a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerState {
    pub ledger: Ledger,
    /// Whether a multiple of the volume replaces unknown open interest.
    pub is_relative: bool,
    /// Whether the replay has passed a bar with known open interest.
    pub has_open_interest: bool,
    /// Open of the first bar.
    pub since: Millis,
    pub last_close: Option<Millis>,
    /// Length of the last bar.
    pub last_interval: i64,
    pub counts: LedgerCounts,
}

/// Counts over all bars of a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerCounts {
    pub bars: usize,
    /// Length of the longest bar.
    pub interval: i64,
    /// Bars with an exchange missing from the open interest.
    pub partial: usize,
    /// Gaps between bars.
    pub gaps: usize,
}

/// Maximum number of steps of the drift between two bars: those of a week.
const MOST_STEPS: i64 = 28;

/// Whether bars are missing between a close and the next bar.
///
/// A gap between bars of different lengths is measured in lengths of the shorter bar.
pub fn is_gap(close: Millis, interval: i64, next: &Bar, longest: i64) -> bool {
    let gap = next.open_time.0.saturating_sub(close.0);
    gap > interval.min(next.interval).saturating_mul(longest)
}

impl LedgerState {
    /// Advances by one bar. `located` is the share of its new positions that gets a liquidation price, by side.
    pub fn take(
        &mut self,
        bar: &Bar,
        derived: &DerivedBar,
        realised: BarQuantities,
        located: [f64; 2],
    ) {
        if let Some(close) = self.last_close {
            let quarters = |instant: Millis| instant.0.div_euclid(Millis::DAY / 4);
            let steps = quarters(bar.close_time()) - quarters(close);
            self.ledger.drift(steps.min(MOST_STEPS));
        }
        self.ledger.locate(located);
        if let Some(close) = self.last_close
            && is_gap(close, self.last_interval, bar, self.ledger.parameters().gap)
        {
            self.ledger
                .lapse(days(bar.open_time.0.saturating_sub(close.0)));
        }
        self.last_close = Some(bar.close_time());
        self.last_interval = bar.interval;
        self.counts.bars += 1;
        self.counts.interval = self.counts.interval.max(bar.interval);
        self.counts.partial += usize::from(derived.partial);
        let open_interest = match derived.open_interest {
            Some(level) if self.is_relative => {
                self.rescale(level);
                level
            }
            None if self.is_relative => derived.volume_per_day(bar),
            level => {
                // Only later changes of the set of exchanges count: the initial open interest is of those known then.
                if let Some(factor) = derived.regrouped.filter(|_| self.has_open_interest) {
                    self.ledger.regroup(factor);
                }
                self.has_open_interest |= level.is_some();
                level.unwrap_or(self.ledger.open_interest())
            }
        };
        self.ledger.step(&Step {
            low: bar.low,
            high: bar.high,
            close: bar.close,
            volume_ratio: derived.volume_ratio(bar),
            days: days(bar.interval),
            open_interest,
            realised,
        });
    }

    /// Changes the ledger from multiples of the volume to the first known open interest.
    fn rescale(&mut self, level: f64) {
        self.is_relative = false;
        self.has_open_interest = true;
        let factor = level / self.ledger.open_interest();
        if factor.is_finite() && factor > 0.0 {
            self.ledger.regroup(factor);
        } else {
            self.ledger = Ledger::new(self.ledger.parameters().clone(), level);
        }
    }

    /// A copy that takes little memory.
    pub fn compact(&self) -> Self {
        let mut copy = self.clone();
        copy.ledger.compact();
        copy
    }
}

/// The first start of a UTC month after `instant`.
pub fn next_month(instant: Millis) -> Millis {
    let at = Utc.timestamp_millis_opt(instant.0).single();
    let next = at.and_then(|at| {
        let (year, month) = match at.month() {
            12 => (at.year() + 1, 1),
            month => (at.year(), month + 1),
        };
        Utc.with_ymd_and_hms(year, month, 1, 0, 0, 0).single()
    });
    next.map_or(Millis(i64::MAX), |next| Millis(next.timestamp_millis()))
}
