//! The result of a fit: reported shares for one UTC day, and their accuracy.
//!
//! A share is the part of the crossed USD of a leverage tier that is reported as liquidated. USD of the map are crossed
//! when the price reaches their liquidation price. Realised USD are those reported as liquidated.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::engine::fit::interval;
use crate::engine::fit::interval::{FitInterval, PastRatios};
use crate::engine::ledger::ledger::Ledger;
use crate::model::{Millis, Specification};

/// Whether the shares are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FitState {
    /// Fitted to liquidations.
    Fitted,
    /// The prior shares are used, because too few liquidations are known.
    Prior,
}

/// The shares of one UTC day, and the data that they are based on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// Whether the shares are fitted.
    pub state: FitState,
    /// Start of the day in epoch milliseconds. The fit uses only data known by then.
    #[serde(serialize_with = "as_number")]
    pub as_of: Millis,
    /// Source of the liquidations, `orders` or `liquidations`, if any.
    pub from: Option<&'static str>,
    /// Length of the periods in milliseconds.
    pub period_ms: Option<i64>,
    /// Number of periods in the fit.
    pub periods: usize,
    /// Number of these periods with liquidations. With fewer than 200, the prior is used.
    pub with_liquidations: usize,
    /// Number of periods left out because less than half of their time was recorded.
    pub left_out: usize,
    /// Mean recorded share of the periods in the fit.
    pub covered: Option<f64>,
    /// Number of capped amounts. An amount is capped at a fifth of the sum.
    pub capped: usize,
    /// Share of the crossed USD of each tier that is expected to be reported as liquidated, for longs and shorts.
    #[serde(skip)]
    pub theta: [Vec<f64>; 2],
    /// Sums of `theta` over the tiers, for longs and shorts.
    #[serde(skip)]
    pub kappa: [f64; 2],
    /// Relative standard deviation of each share.
    #[serde(skip)]
    pub spread: [Vec<f64>; 2],
    /// Share of the path terms in the USD predicted for the last 30 days, for longs and shorts. Path terms depend only
    /// on the price path, not on the map.
    pub path_share: Option<[f64; 2]>,
    /// Predicted divided by realised USD of the last 30 days, for longs and shorts.
    pub calibration: [Option<f64>; 2],
    /// Information gain of the map over the path terms alone in the last 30 days, in nats per liquidated USD.
    pub score: Option<f64>,
    /// Ratios of realised to predicted USD in the past, for longs and shorts.
    #[serde(skip)]
    pub past: [PastRatios; 2],
    /// Factors that turn the USD of the map into the ends of a prediction interval, per distance band.
    pub interval: Option<FitInterval>,
    /// A warning about an impossible result and its likely cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the derive calls it")]
fn as_number<S: Serializer>(instant: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(instant.0)
}

impl Fit {
    pub fn prior(day: Millis, theta: &[f64], kappa: f64) -> Self {
        Self {
            state: FitState::Prior,
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
            past: [PastRatios::default(); 2],
            interval: None,
            doubt: None,
        }
    }

    /// Whether the shares are fitted.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.state == FitState::Fitted
    }

    /// Returns the fit with the prediction interval of the map in `ledger`.
    pub fn of_map(&self, ledger: &Ledger) -> Self {
        let mut unsure = [[0.0; interval::ENDS.len()]; 2];
        let mut nearer = [Vec::new(), Vec::new()];
        for (place, end) in interval::ENDS.iter().enumerate() {
            let masses = ledger.within(*end);
            for (side, masses) in masses.iter().enumerate() {
                let (Some(theta), Some(spread)) = (self.theta.get(side), self.spread.get(side))
                else {
                    continue;
                };
                let (mut sum, mut squares) = (0.0, 0.0);
                for (tier, masses) in masses.iter().enumerate() {
                    let before = nearer
                        .get(side)
                        .and_then(|tiers: &Vec<f64>| tiers.get(tier));
                    let usd = masses - before.copied().unwrap_or(0.0);
                    let predicted = usd * theta.get(tier).copied().unwrap_or(0.0);
                    sum += predicted;
                    squares += (predicted * spread.get(tier).copied().unwrap_or(0.0)).powi(2);
                }
                if let Some(unsure) = unsure.get_mut(side).and_then(|side| side.get_mut(place))
                    && sum > 0.0
                {
                    *unsure = squares.sqrt() / sum;
                }
            }
            nearer = masses;
        }
        Self {
            interval: self
                .is_fitted()
                .then(|| FitInterval::new(&self.past, &unsure)),
            doubt: self.doubt(),
            ..self.clone()
        }
    }

    /// Returns a warning if more USD are realised than crossed in the map.
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
            "{over} were liquidated per USD of the map that the price crossed; at most 1 is possible. Open interest \
             is missing, or the liquidations cover more exchanges or are in another unit"
        ))
    }
}

/// A source of fits for coins with only part of their observations in memory.
pub trait FitSource: Debug + Sync {
    /// Returns the fit of a coin for the day that starts at `day`.
    ///
    /// The fit is made from data known at that time.
    ///
    /// `own` are model parameters that replace the defaults. `venue` limits the fit to one exchange.
    fn fit(
        &self,
        own: Option<&Specification>,
        coin: &str,
        venue: Option<&str>,
        day: Millis,
    ) -> Option<Arc<Fit>>;
}
