//! Leverage tiers of the two models: leverages, maintenance margins and prior weights.

use crate::model::{Model, Side, liquidation_price, maintenance_margin};

/// Leverages of the documented prior, the tiers the contract shows.
const EXPOSURE: [u8; 4] = [10, 25, 50, 100];

/// Leverages of model 3.
const EXPECTED: [u8; 10] = [5, 10, 15, 20, 25, 33, 50, 75, 100, 125];

/// USD expected to be reported as liquidated per USD swept, over all tiers, before anything is fitted.
pub(super) const KAPPA: f64 = 0.02;

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

/// The tiers of `model` for `coin`, equally weighted.
pub(super) fn tiers(model: Model, coin: &str) -> Vec<Tier> {
    let (leverages, weight): (&[u8], f64) = match model {
        Model::Exposure => (&EXPOSURE, 1.0 / 4.0),
        Model::Expected => (&EXPECTED, 1.0 / 10.0),
    };
    leverages
        .iter()
        .map(|&leverage| {
            let leverage = f64::from(leverage);
            Tier {
                leverage,
                maintenance: maintenance_margin(coin, leverage),
                weight,
            }
        })
        .collect()
}

/// What one located USD of each tier counts in the model's read-out: its weight, or its expected liquidations.
pub(super) fn shown(model: Model, tiers: &[Tier]) -> Vec<f64> {
    let kappa = match model {
        Model::Exposure => 1.0,
        Model::Expected => KAPPA,
    };
    tiers.iter().map(|tier| kappa * tier.weight).collect()
}

/// What the USD of a read-out are.
pub(super) fn view_name(model: Model) -> &'static str {
    match model {
        Model::Exposure => "exposure, USD of open interest",
        Model::Expected => "expected, USD reported",
    }
}
