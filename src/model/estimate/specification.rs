//! The parameters of an estimate that a caller can choose; all others have their documented defaults.

use serde::{Deserialize, Deserializer, Serialize, de};
use thiserror::Error;

use crate::model::{LiquidatableShare, Model};

/// The default leverage of each tier.
pub const LEVERAGES: [u16; 14] = [2, 3, 4, 5, 7, 10, 15, 20, 25, 33, 50, 75, 100, 125];

/// Maintenance margin rates: one rate for all tiers, or one per tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Margins {
    /// One rate for all tiers; in each tier, at most half of the initial margin rate.
    One(f64),
    /// One rate per tier.
    Each(Vec<f64>),
}

/// The parameters of an estimate that a caller has chosen.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Model, Specification};
///
/// let chosen = Specification { tiers: Some(vec![10, 50]), ..Specification::default() };
/// chosen.check()?;
/// assert_eq!(chosen.view(), Model::Exposure);
/// let wrong = Specification { phi0: Some(2.0), ..Specification::default() };
/// assert_eq!(wrong.check().unwrap_err().name, "phi0");
/// # Ok::<(), liqdata::model::BadSpecification>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Specification {
    /// Leverages of the tiers, ascending.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole_numbers"
    )]
    pub tiers: Option<Vec<u16>>,
    /// Relative weights of the tiers in open interest. If only `tiers` is given, all weights are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
    /// Maintenance margin rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mmr: Option<Margins>,
    /// Clocks: for each group of positions, its share of new positions and its turnover per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Vec<(f64, f64)>>,
    /// Number of entry prices at which the new positions of a bar are placed.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole_number"
    )]
    pub entries: Option<u8>,
    /// Width of a bin of the fine price grid, in log price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<f64>,
    /// Share of the USD crossed by the price that counts as liquidated, where no liquidation orders are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phi0: Option<f64>,
    /// USD liquidated and reported per USD crossed by the price, before the fit. If set, the expected model is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa0: Option<f64>,
    /// Weight of the prior in the fit. If set, the expected model is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nu: Option<f64>,
    /// Shares of new positions that get a liquidation price, by exchange, coin and side; all others are 1. Without this
    /// list the measured shares are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<LiquidatableShare>>,
    /// Drift of liquidation prices: the share of the slow clock's positions that moves in a day, and the standard
    /// deviation of their move in log price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<(f64, f64)>,
    /// A label that the caller chooses; it does not affect the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Reads whole numbers, which may be written as `10.0`.
fn whole_numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Vec<u16>>, D::Error> {
    let given: Option<Vec<f64>> = Deserialize::deserialize(source)?;
    given
        .map(|given| given.into_iter().map(whole).collect())
        .transpose()
}

/// Reads a whole number, which may be written as `5.0`.
fn whole_number<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u8>, D::Error> {
    let given: Option<f64> = Deserialize::deserialize(source)?;
    given.map(whole).transpose()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a number that is no whole one in range is refused"
)]
fn whole<T: TryFrom<i64>, E: de::Error>(number: f64) -> Result<T, E> {
    let found = (number.fract() == 0.0).then_some(number as i64);
    let found = found.and_then(|found| T::try_from(found).ok());
    found.ok_or_else(|| E::custom(format!("{number:?} is not allowed")))
}

// A checked parameter is never NaN.
impl Eq for Specification {}

/// An estimate parameter with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}: {problem}; allowed: {allowed}")]
pub struct BadSpecification {
    /// Name of the parameter.
    pub name: &'static str,
    /// What is wrong with the value.
    pub problem: String,
    /// The allowed values.
    pub allowed: String,
}

impl Specification {
    /// The model that these parameters imply: expected if `kappa0` or `nu` is set, otherwise exposure.
    #[must_use]
    pub fn view(&self) -> Model {
        if self.kappa0.is_some() || self.nu.is_some() {
            Model::Expected
        } else {
            Model::Exposure
        }
    }

    /// The allowed values of the parameter `name`, regardless of the other parameters.
    #[must_use]
    pub fn allowed(name: &str) -> &'static str {
        match name {
            "tiers" => "1 to 64 whole leverages from 2 to 1000, ascending",
            "weights" => "a number from 0 to 1e100 for each tier, not all of them 0",
            "mmr" => {
                "one rate from 0 to below 0.5, or one for each tier from 0 to half of 1/leverage"
            }
            "clocks" => {
                "1 to 8 pairs of a share above 0 and a daily turnover from 0 to 1e6; the shares sum to 1"
            }
            "entries" => "a whole number from 1 to 255",
            "grid" => "a number from 0.00001 to 0.1",
            "phi0" => "a number from 0 to 1",
            "kappa0" => "a number from 0.000001 to 1",
            "nu" => "a number from 0.001 to 1000000",
            "shares" => {
                "rows of exchange, coin, side (LONG, SHORT, or none for both) and share from 0 to 1, each exchange, coin \
                 and side once"
            }
            "drift" => "a pair of a share from 0 to 1 and a standard deviation a day from 0 to 0.1",
            "name" => "text",
            _ => {
                "only the parameters tiers, weights, mmr, clocks, entries, grid, phi0, kappa0, nu, shares, drift and \
                 name"
            }
        }
    }

    /// The leverages of the tiers.
    #[must_use]
    pub fn leverages(&self) -> &[u16] {
        match &self.tiers {
            Some(tiers) => tiers,
            None => &LEVERAGES,
        }
    }

    /// Checks that an estimate can be computed with these parameters.
    ///
    /// # Errors
    ///
    /// [`BadSpecification`] for the first invalid parameter.
    pub fn check(&self) -> Result<(), BadSpecification> {
        let bad = |name, problem: String, allowed: &str| {
            Err(BadSpecification {
                name,
                problem,
                allowed: allowed.to_owned(),
            })
        };
        let tiers = self.leverages();
        if !(1..=64).contains(&tiers.len())
            || !tiers.iter().all(|tier| (2..=1000).contains(tier))
            || !tiers.is_sorted_by(|a, b| a < b)
        {
            return bad("tiers", format!("{tiers:?}"), Self::allowed("tiers"));
        }
        if let Some(weights) = &self.weights {
            let allowed = format!("{} numbers from 0 to 1e100, not all of them 0", tiers.len());
            if weights.len() != tiers.len()
                || !weights.iter().all(|weight| (0.0..=1e100).contains(weight))
                || !weights.iter().any(|weight| *weight > 0.0)
            {
                return bad("weights", format!("{weights:?}"), &allowed);
            }
        }
        match &self.mmr {
            Some(Margins::One(rate)) if !(0.0..0.5).contains(rate) => {
                return bad("mmr", format!("{rate:?}"), "from 0 to below 0.5");
            }
            Some(Margins::Each(rates)) => {
                if rates.len() != tiers.len() {
                    let allowed = format!("one rate for all tiers, or {} rates", tiers.len());
                    return bad("mmr", format!("{rates:?}"), &allowed);
                }
                for (place, (rate, tier)) in rates.iter().zip(tiers).enumerate() {
                    let half = 0.5 / f64::from(*tier);
                    if !(0.0..=half).contains(rate) {
                        let problem = format!("entry {place}, for leverage {tier}, is {rate:?}");
                        let allowed = format!(
                            "for this entry, from 0 to {half:?} (half of 1/leverage); a single rate for all tiers is \
                             capped automatically"
                        );
                        return bad("mmr", problem, &allowed);
                    }
                }
            }
            _ => (),
        }
        if let Some(clocks) = &self.clocks {
            let sum: f64 = clocks.iter().map(|(share, _)| share).sum();
            let fits = |(share, rate): &(f64, f64)| *share > 0.0 && (0.0..=1e6).contains(rate);
            if !(1..=8).contains(&clocks.len())
                || !clocks.iter().all(fits)
                || (sum - 1.0).abs() > 1e-9
            {
                return bad("clocks", format!("{clocks:?}"), Self::allowed("clocks"));
            }
        }
        for (place, one) in self.shares.iter().flatten().enumerate() {
            let earlier = self.shares.iter().flatten().take(place);
            let is_same = |other: &LiquidatableShare| {
                let both = one.side.is_none() || other.side.is_none() || one.side == other.side;
                both && other.exchange == one.exchange && other.coin == one.coin
            };
            let is_named = !one.exchange.is_empty() && !one.coin.is_empty();
            if !is_named || !(0.0..=1.0).contains(&one.share) || earlier.into_iter().any(is_same) {
                let problem = format!(
                    "row {place}, {:?} {:?} with the share {:?}",
                    one.exchange, one.coin, one.share
                );
                return bad("shares", problem, Self::allowed("shares"));
            }
        }
        if let Some((share, sigma)) = self.drift
            && !((0.0..=1.0).contains(&share) && (0.0..=0.1).contains(&sigma))
        {
            let problem = format!("({share:?}, {sigma:?})");
            return bad("drift", problem, Self::allowed("drift"));
        }
        if self.entries == Some(0) {
            return bad("entries", "0".to_owned(), Self::allowed("entries"));
        }
        let numbers = [
            ("grid", self.grid, 1e-5, 0.1),
            ("phi0", self.phi0, 0.0, 1.0),
            ("kappa0", self.kappa0, 1e-6, 1.0),
            ("nu", self.nu, 1e-3, 1e6),
        ];
        for (name, value, least, most) in numbers {
            if let Some(value) = value
                && !(least..=most).contains(&value)
            {
                return bad(name, format!("{value:?}"), Self::allowed(name));
            }
        }
        Ok(())
    }
}

/// The model that a query requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// A model with a number in the API.
    Numbered(Model),
    /// A model with parameters of the caller.
    Own(Box<Specification>),
}

impl Chosen {
    /// The requested model: exposure or expected.
    #[must_use]
    pub fn view(&self) -> Model {
        match self {
            Self::Numbered(model) => *model,
            Self::Own(specification) => specification.view(),
        }
    }

    /// The caller's parameters; `None` for a model with a number.
    #[must_use]
    pub fn own(&self) -> Option<&Specification> {
        match self {
            Self::Numbered(_) => None,
            Self::Own(specification) => Some(specification),
        }
    }
}

impl From<Model> for Chosen {
    fn from(model: Model) -> Self {
        Self::Numbered(model)
    }
}
