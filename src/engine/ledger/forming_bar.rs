//! The bar that has not closed: a ledger that follows it tick by tick.
//!
//! The state at the last close is kept by what would take the bar back: the cells that were crossed, and what stood where
//! positions were opened. A tick takes back what was closed and opened, crosses the cells that the price has come to anew,
//! and closes and opens again, so it costs what it newly crosses and a constant, and no look at the whole grid.

use crate::engine::ledger::ledger::{Ledger, Step};
use crate::engine::ledger::tier_book::Mark;

/// A ledger in the course of a bar: after every tick it is, bit for bit, what [`Ledger::step`] would make of the bar as it
/// stands, and so is the ledger of the closed bar.
///
/// # Examples
///
/// ```
/// use liqdata::engine::{Forming, Ledger, Parameters, Step, Tier};
///
/// let tier = Tier { leverage: 100.0, maintenance: 0.005, weight: 1.0 };
/// let ledger = Ledger::new(Parameters::new(vec![tier]), 100.0);
/// let bar = |low, high, close| Step {
///     low, high, close, volume_ratio: 1.0, days: 0.01, open_interest: 110.0, realised: [None, None],
/// };
/// let mut forming = Forming::new(ledger.clone());
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
pub struct Forming {
    ledger: Ledger,
    marks: Vec<Mark>,
    /// Open interest at the last close.
    open_interest: f64,
    /// Lowest and highest price so far; none before the first tick.
    range: Option<(f64, f64)>,
}

impl Forming {
    /// A bar that begins where `ledger` stands. If there was a gap before it, the ledger has to
    /// [lapse](Ledger::lapse) first.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self {
            marks: ledger.marks(),
            open_interest: ledger.open_interest(),
            ledger,
            range: None,
        }
    }

    /// Brings the ledger to the bar as it stands: its lowest, highest and last price so far, volume, length, open interest
    /// and realised liquidations, as [`Ledger::step`] takes them.
    ///
    /// A range that has become narrower, because a price turned out to be none, is taken back as well; that costs what the
    /// bar has crossed so far.
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

    /// The ledger as if the bar had closed as it stands; as at the last close before the first tick.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The ledger after the bar, which has closed as it stands.
    #[must_use]
    pub fn close(self) -> Ledger {
        self.ledger
    }
}
