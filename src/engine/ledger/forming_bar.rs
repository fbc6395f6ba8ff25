//! The forming bar: a ledger that follows an unclosed bar tick by tick.
//!
//! Undo logs contain the crossed cells, and the previous values of the cells in which positions were opened. A tick
//! first reverts the closings and openings of the previous tick. It then empties the newly crossed cells, and closes
//! and opens positions again. The cost of a tick depends on the number of newly crossed cells, not on the size of the
//! grid.

use crate::engine::ledger::ledger::{Ledger, Step};
use crate::engine::ledger::tier_book::UndoLog;

/// A ledger during an unclosed bar.
///
/// After each tick the ledger equals, bit for bit, the result of [`Ledger::step`] for the bar as it is so far.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{FormingBar, Ledger, Parameters, Step, Tier};
///
/// let tier = Tier { leverage: 100.0, maintenance: 0.005, weight: 1.0 };
/// let ledger = Ledger::new(Parameters::new(vec![tier]), 100.0);
/// let bar = |low, high, close| Step {
///     low, high, close, volume_ratio: 1.0, days: 0.01, open_interest: 110.0, realised: [None, None],
/// };
/// let mut forming = FormingBar::new(ledger.clone());
/// forming.tick(&bar(100.0, 100.0, 100.0));
/// forming.tick(&bar(99.0, 100.0, 99.0));
/// forming.tick(&bar(99.0, 102.0, 101.0));
///
/// let mut closed = ledger;
/// closed.step(&bar(99.0, 102.0, 101.0));
/// assert_eq!(*forming.ledger(), closed);
/// assert_eq!(forming.close(), closed);
/// ```
#[derive(Clone, Debug)]
pub struct FormingBar {
    ledger: Ledger,
    marks: Vec<UndoLog>,
    /// Open interest at the last close.
    open_interest: f64,
    /// Lowest and highest price so far; `None` before the first tick.
    range: Option<(f64, f64)>,
}

impl FormingBar {
    /// Starts a bar at the state of `ledger`. After a gap, call [`Ledger::lapse`] first.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self {
            marks: ledger.marks(),
            open_interest: ledger.open_interest(),
            ledger,
            range: None,
        }
    }

    /// Updates the ledger to the present state of the unclosed bar.
    ///
    /// `bar` has the prices, volume, length, open interest and liquidations so far.
    ///
    /// If `bar` has a narrower range than the previous tick, because a price was withdrawn, the crossed cells are
    /// refilled first.
    pub fn tick(&mut self, bar: &Step) -> &Ledger {
        if let Some((low, high)) = self.range {
            self.ledger.unsettle(&mut self.marks);
            self.ledger.set_open_interest(self.open_interest);
            if bar.low > low || bar.high < high {
                self.ledger.uncross(&mut self.marks);
            }
        }
        let logs = self.ledger.logs(bar);
        self.ledger.cross(logs, self.marks.iter_mut());
        self.ledger.settle(bar, logs, self.marks.iter_mut());
        self.range = Some((bar.low, bar.high));
        &self.ledger
    }

    /// The ledger as if the bar closed now.
    ///
    /// Before the first tick, the ledger at the last close.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The ledger after the closed bar.
    #[must_use]
    pub fn close(self) -> Ledger {
        self.ledger
    }
}
