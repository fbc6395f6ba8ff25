//! The share of new positions that gets a liquidation price, at the close of each bar.

use crate::engine::observations::open_interest_series::{OpenInterestCursor, OpenInterestSeries};
use crate::model::{ExchangeShare, Millis};

/// Readings up to this age count where no exchange has a fresh one.
const LAST: i64 = Millis::DAY;

/// The mean of the liquidatable shares of the exchanges, weighted by their open interest.
pub struct LocatedShares<'a> {
    /// `None` if no exchange with a share is read.
    cursor: Option<OpenInterestCursor<'a>>,
    /// Per exchange of the readings, its shares for longs and shorts.
    shares: Vec<[f64; 2]>,
}

impl<'a> LocatedShares<'a> {
    /// The shares for closes from `start` on.
    pub fn new(readings: &'a OpenInterestSeries, known: &[ExchangeShare], start: Millis) -> Self {
        let share = |exchange: Option<&str>| {
            let found = exchange.and_then(|name| known.iter().find(|one| one.exchange == name));
            found.map_or([1.0; 2], |one| one.shares)
        };
        let shares: Vec<[f64; 2]> = readings.exchanges().map(share).collect();
        let has_shares = shares.iter().flatten().any(|share| *share < 1.0);
        Self {
            cursor: has_shares.then(|| readings.cursor_back(start, LAST)),
            shares,
        }
    }

    /// The shares of longs and shorts at a close; closes ascend.
    pub fn at(&mut self, close: Millis) -> [f64; 2] {
        let Some(cursor) = &mut self.cursor else {
            return [1.0; 2];
        };
        let levels = cursor.levels(close, LAST);
        let (mut sum, mut located) = (0.0, [0.0; 2]);
        for (level, shares) in levels.iter().zip(&self.shares) {
            let level = level.unwrap_or(0.0);
            sum += level;
            for (located, share) in located.iter_mut().zip(shares) {
                *located += level * share;
            }
        }
        if sum > 0.0 {
            located.map(|located| (located / sum).min(1.0))
        } else {
            [1.0; 2]
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::engine::ledger::located_shares::*;
    use crate::engine::{Ledger, Parameters, Step};
    use crate::model::Side;

    /// A bar that opens positions, and one that closes some and crosses others.
    fn steps() -> [Step; 3] {
        let step = |low, high, close, open_interest| Step {
            low,
            high,
            close,
            volume_ratio: 1.0,
            days: 0.1,
            open_interest,
            realised: [None, None],
        };
        [
            step(100.0, 101.0, 100.5, 60.0),
            step(94.0, 100.5, 95.0, 50.0),
            step(95.0, 99.0, 97.0, 80.0),
        ]
    }

    fn ledger(located: [f64; 2]) -> Ledger {
        let parameters = Parameters {
            phi0: 0.0,
            ..Parameters::of(None, "BTC")
        };
        let mut ledger = Ledger::new(parameters, 40.0);
        for step in steps() {
            ledger.locate(located);
            ledger.step(&step);
        }
        ledger
    }

    fn located(ledger: &Ledger, side: Side, tier: usize) -> f64 {
        ledger.located(side, tier).map(|(_, mass)| mass).sum()
    }

    #[test]
    fn the_rest_of_a_deposit_is_unlocated_and_the_open_interest_stays() {
        let (whole, part) = (ledger([1.0; 2]), ledger([0.3, 0.0]));
        for (side, share) in [(Side::Long, 0.3), (Side::Short, 0.0)] {
            for tier in 0..14 {
                let known = located(&part, side, tier);
                let sum = known + part.unlocated(side, tier);
                assert!((sum - 80.0).abs() < 1e-9, "{side} {tier}: {sum}");
                let expected = share * located(&whole, side, tier);
                assert!((known - expected).abs() < 1e-9, "{known} {expected}");
            }
        }
    }

    #[test]
    fn without_shares_all_deposits_are_located() {
        let mut plain = Ledger::new(ledger([1.0; 2]).parameters().clone(), 40.0);
        for step in steps() {
            plain.step(&step);
        }
        assert_eq!(plain, ledger([1.0; 2]));
        let series = OpenInterestSeries::default();
        let known = ExchangeShare {
            exchange: "okx".to_owned(),
            shares: [0.5; 2],
        };
        let mut shares = LocatedShares::new(&series, &[known], Millis(0));
        let found = shares.at(Millis(0)).map(f64::to_bits);
        assert_eq!(found.first().copied().unwrap(), 1.0_f64.to_bits());
    }
}
