//! What a fit found: the shares of one day, how sure they are, and what they were worth.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::engine::fit::interval;
use crate::engine::fit::interval::{Interval, Past};
use crate::engine::ledger::ledger::Ledger;
use crate::model::{Millis, Specification};

/// Whether shares are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// To what was realised.
    Fitted,
    /// They are the prior's, as too little is known that was realised.
    Prior,
}

/// The shares of one UTC day and what they rest on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// Whether they are fitted.
    pub state: State,
    /// The beginning of the day, in epoch milliseconds: nothing later is known to them.
    #[serde(serialize_with = "as_number")]
    pub as_of: Millis,
    /// What tells what was realised, `orders` or `liquidations`, if anything does.
    pub from: Option<&'static str>,
    /// Length of the periods in milliseconds.
    pub period_ms: Option<i64>,
    /// Periods that they are fitted to.
    pub periods: usize,
    /// Those of them in which anything was liquidated; the prior stands until there are 200.
    pub with_liquidations: usize,
    /// Periods that are left out, as less than half of them was listened to.
    pub left_out: usize,
    /// The mean share of the others that was listened to.
    pub covered: Option<f64>,
    /// Amounts of a side's period that count for less than they are, as one counts for a fifth of all at most.
    pub capped: usize,
    /// USD expected to be reported per USD crossed, by tier, of longs and of shorts.
    #[serde(skip)]
    pub theta: [Vec<f64>; 2],
    /// Their sums.
    #[serde(skip)]
    pub kappa: [f64; 2],
    /// Standard deviation of each share over itself.
    #[serde(skip)]
    pub(crate) spread: [Vec<f64>; 2],
    /// Of the last 30 days, the share of what is expected that follows from the path alone, of longs and of shorts.
    pub path_share: Option<[f64; 2]>,
    /// What maps told of the last 30 days before they began, over what was realised, of longs and of shorts.
    pub calibration: [Option<f64>; 2],
    /// Nats per liquidated USD that the map added to the path in the last 30 days.
    pub score: Option<f64>,
    /// What was realised over what had been told.
    #[serde(skip)]
    pub(crate) past: [Past; 2],
    /// By distance from the price, what takes the map to the ends of its interval.
    pub interval: Option<Interval>,
    /// What cannot be as it is fitted, and what it is a sign of; absent where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the derive calls it")]
fn as_number<S: Serializer>(instant: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(instant.0)
}

impl Fit {
    pub(crate) fn prior(day: Millis, theta: &[f64], kappa: f64) -> Self {
        Self {
            state: State::Prior,
            as_of: day,
            from: None,
            period_ms: None,
            periods: 0,
            with_liquidations: 0,
            left_out: 0,
            covered: None,
            capped: 0,
            theta: [theta.to_vec(), theta.to_vec()],
            kappa: [kappa; 2],
            spread: [Vec::new(), Vec::new()],
            path_share: None,
            calibration: [None; 2],
            score: None,
            past: [Past::default(); 2],
            interval: None,
            doubt: None,
        }
    }

    /// Whether the shares are fitted.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.state == State::Fitted
    }

    /// The same, with the interval of the map that `ledger` holds.
    pub(in crate::engine) fn of_map(&self, ledger: &Ledger) -> Self {
        let mut unsure = [[0.0; interval::ENDS.len()]; 2];
        let mut nearer = [Vec::new(), Vec::new()];
        for (place, end) in interval::ENDS.iter().enumerate() {
            let held = ledger.within(*end);
            for (side, held) in held.iter().enumerate() {
                let (Some(theta), Some(spread)) = (self.theta.get(side), self.spread.get(side))
                else {
                    continue;
                };
                let (mut sum, mut squares) = (0.0, 0.0);
                for (tier, held) in held.iter().enumerate() {
                    let before = nearer
                        .get(side)
                        .and_then(|tiers: &Vec<f64>| tiers.get(tier));
                    let usd = held - before.copied().unwrap_or(0.0);
                    let told = usd * theta.get(tier).copied().unwrap_or(0.0);
                    sum += told;
                    squares += (told * spread.get(tier).copied().unwrap_or(0.0)).powi(2);
                }
                if let Some(unsure) = unsure.get_mut(side).and_then(|side| side.get_mut(place))
                    && sum > 0.0
                {
                    *unsure = squares.sqrt() / sum;
                }
            }
            nearer = held;
        }
        Self {
            interval: self.is_fitted().then(|| Interval::new(&self.past, &unsure)),
            doubt: self.doubt(),
            ..self.clone()
        }
    }

    /// Says so where more is realised than the map has.
    fn doubt(&self) -> Option<String> {
        let over = ["longs", "shorts"].into_iter().zip(self.kappa);
        let over: Vec<String> = over
            .filter(|(_, kappa)| self.is_fitted() && *kappa > 1.0)
            .map(|(side, kappa)| format!("{kappa:.2} USD of {side}"))
            .collect();
        if over.is_empty() {
            return None;
        }
        let over = over.join(" and ");
        Some(format!(
            "{over} were realised per USD of the map that the price crossed, and more than 1 cannot be: there is more open \
             interest than is known here, or what was realised is of more exchanges or in another unit"
        ))
    }
}

/// Somebody who knows the fits of coins whose observations are not all at hand.
pub trait Fitted: Debug + Sync {
    /// The fit of a coin, of one exchange or of all, and of what a caller chose of its model, for the UTC day that begins
    /// at `day`, as of then.
    fn fit(
        &self,
        own: Option<&Specification>,
        coin: &str,
        venue: Option<&str>,
        day: Millis,
    ) -> Option<Arc<Fit>>;
}
