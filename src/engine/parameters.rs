//! The parameters of an estimate: all that is chosen and not observed.

use std::fmt::Debug;
use std::num::NonZeroU8;

use super::EngineError;
use crate::model::{FineGrid, Model, Side, liquidation_price, maintenance_margin};

/// Leverages of the documented prior, the tiers the contract shows.
const EXPOSURE: &[u8] = &[10, 25, 50, 100];

/// Leverages of model 3.
const EXPECTED: &[u8] = &[5, 10, 15, 20, 25, 33, 50, 75, 100, 125];

/// One leverage tier: all of its positions have one leverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// The leverage, above 1.
    pub leverage: f64,
    /// Maintenance margin rate.
    pub maintenance: f64,
    /// Share of the open interest the tier is taken to hold; the shares of all tiers sum to 1.
    pub weight: f64,
}

impl Tier {
    /// The liquidation price over the entry price.
    #[must_use]
    pub fn ratio(&self, side: Side) -> f64 {
        liquidation_price(side, 1.0, self.leverage, self.maintenance)
    }
}

/// The parameters of an estimate; a further one is a field, its line in [`Parameters::check`] and its use.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The price grid.
    pub grid: FineGrid,
    /// The leverage tiers.
    pub tiers: Vec<Tier>,
    /// USD expected to be reported as liquidated per USD swept, over all tiers, before anything is fitted.
    pub kappa: f64,
    /// Share of the open interest that changes hands in a day of average volume.
    pub churn_per_day: f64,
    /// Entry prices the positions opened in a bar are spread over, evenly in log price from its low to its high.
    pub entries: NonZeroU8,
    /// Share of the mass that price crossed which counts as liquidated where nothing realised is known.
    pub phi0: f64,
    /// After so many bar lengths without a bar, part of what was located is forgotten.
    pub gap: i64,
}

impl Parameters {
    /// The documented defaults with these tiers: 25 % a day, five entries, 5 % taken to be liquidated, 2 % reported.
    #[must_use]
    pub fn new(tiers: Vec<Tier>) -> Self {
        Self {
            grid: FineGrid::default(),
            tiers,
            kappa: 0.02,
            churn_per_day: 0.25,
            entries: const {
                match NonZeroU8::new(5) {
                    Some(entries) => entries,
                    None => NonZeroU8::MIN,
                }
            },
            phi0: 0.05,
            gap: 3,
        }
    }

    /// The documented defaults of `model` for `coin`: its tiers, equally weighted.
    #[must_use]
    pub fn of(model: Model, coin: &str) -> Self {
        let (leverages, weight) = match model {
            Model::Exposure => (EXPOSURE, 1.0 / 4.0),
            Model::Expected => (EXPECTED, 1.0 / 10.0),
        };
        let tier = |leverage: &u8| {
            let leverage = f64::from(*leverage);
            Tier {
                leverage,
                maintenance: maintenance_margin(coin, leverage),
                weight,
            }
        };
        Self::new(leverages.iter().map(tier).collect())
    }

    /// Whether an estimate can be made with them.
    ///
    /// # Errors
    ///
    /// [`EngineError::BadParameter`] for the first that is not allowed.
    pub fn check(&self) -> Result<(), EngineError> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let above_zero = |value: f64| value.is_finite() && value > 0.0;
        let tier = |tier: &Tier| {
            tier.leverage > 1.0
                && tier.leverage <= 1e3
                && tier.leverage.fract() == 0.0
                && (0.0..1.0 / tier.leverage).contains(&tier.maintenance)
                && share(tier.weight)
        };
        let weights: f64 = self.tiers.iter().map(|tier| tier.weight).sum();
        let tiers = self.tiers.iter().all(tier)
            && self.tiers.is_sorted_by(|a, b| a.leverage < b.leverage)
            && (weights - 1.0).abs() < 1e-9;
        let grid = above_zero(self.grid.p0) && (1e-5..=0.1).contains(&self.grid.h);
        let checked: [(&'static str, bool, &dyn Debug, &'static str); 6] = [
            ("grid", grid, &self.grid, "p0 above 0, h from 1e-5 to 0.1"),
            (
                "tiers",
                tiers,
                &self.tiers,
                "whole leverages from 2 to 1000, ascending; maintenance below 1/leverage; weights of sum 1",
            ),
            ("kappa", share(self.kappa), &self.kappa, "from 0 to 1"),
            (
                "churn_per_day",
                self.churn_per_day.is_finite() && self.churn_per_day >= 0.0,
                &self.churn_per_day,
                "from 0",
            ),
            ("phi0", share(self.phi0), &self.phi0, "from 0 to 1"),
            ("gap", self.gap >= 1, &self.gap, "from 1"),
        ];
        match checked.into_iter().find(|(_, allowed, ..)| !allowed) {
            None => Ok(()),
            Some((name, _, value, allowed)) => Err(EngineError::BadParameter {
                name,
                value: format!("{value:?}"),
                allowed,
            }),
        }
    }

    /// What one located USD of each tier counts in a model's read-out: its weight, or its expected liquidations.
    pub(super) fn shown(&self, model: Model) -> Vec<f64> {
        let kappa = match model {
            Model::Exposure => 1.0,
            Model::Expected => self.kappa,
        };
        self.tiers.iter().map(|tier| kappa * tier.weight).collect()
    }
}
