//! The parameters of an estimate: all values that are chosen, not observed.
//!
//! A [`Tier`] stands for all positions with one leverage. Its weight is its assumed share of the open interest.
//! [`Parameters::of`] normalises the weights that the caller gives, or chooses default weights.

use std::num::NonZeroU8;

use sha2::{Digest, Sha256};

use crate::model::{
    ExchangeShare, FineGrid, Margins, Model, Side, Specification, coins_with_shares,
    liquidation_price, maintenance_margin, shares_of,
};

/// The leverages shown in replies.
pub const SHOWN_LEVERAGES: [u8; 7] = [2, 3, 5, 10, 25, 50, 100];

/// The leverages of levels, as in the contract.
pub const LEVELS: [u8; 4] = [10, 25, 50, 100];

/// The index of the [shown](SHOWN_LEVERAGES) leverage under which `leverage` is reported.
pub fn shown_for(leverage: f64) -> usize {
    match leverage {
        ..=2.0 => 0,
        ..=3.0 => 1,
        ..7.0 => 2,
        ..=17.0 => 3,
        ..=35.0 => 4,
        ..=70.0 => 5,
        _ => 6,
    }
}

/// A leverage tier: all of its positions have the same leverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// The leverage, above 1.
    pub leverage: f64,
    /// Maintenance margin rate.
    pub maintenance: f64,
    /// Assumed share of the open interest; the shares of all tiers sum to 1.
    pub weight: f64,
}

impl Tier {
    /// Liquidation price divided by entry price.
    #[must_use]
    pub fn ratio(&self, side: Side) -> f64 {
        liquidation_price(side, 1.0, self.leverage, self.maintenance)
    }
}

/// A rate at which part of the positions are closed and opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnoverClock {
    /// Share of new positions that turn over at this rate. The shares of all clocks sum to 1.
    pub share: f64,
    /// Share of these positions that is closed and opened again in a day of average volume.
    pub per_day: f64,
}

/// Moves of the liquidation prices of the slow clock, because positions get or lose margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Share of the positions that moves in a day.
    pub share: f64,
    /// Standard deviation of their move in a day, in log price.
    pub per_day: f64,
}

/// USD that Binance, Bybit and OKX together report per USD crossed of Binance's open interest; measured.
const KAPPA: f64 = 0.21;

/// The same per USD crossed of the open interest of all three.
const KAPPA_OF_ALL: f64 = 0.11;

/// The exchanges on which these shares were measured.
pub const MEASURED_ON: [&str; 3] = ["binance", "bybit", "okx"];

/// The parameters of an estimate.
///
/// To add a parameter, add a field here and in [`Specification`], which validates it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The price grid.
    pub grid: FineGrid,
    /// The leverage tiers.
    pub tiers: Vec<Tier>,
    /// USD expected to be liquidated and reported per USD crossed, over all tiers, before the fit.
    pub kappa: f64,
    /// Weight of the Gamma prior of each tier in a fit, as a number of events of mean size.
    pub nu: f64,
    /// Turnover rates of positions.
    pub clocks: Vec<TurnoverClock>,
    /// Entry prices per bar, spaced evenly in log price from low to high.
    pub entries: NonZeroU8,
    /// Share of the crossed mass that counts as liquidated if no liquidations are known.
    pub phi0: f64,
    /// Shares of new positions that get a liquidation price, by exchange; 1 for all others.
    pub shares: Vec<ExchangeShare>,
    /// Drift of liquidation prices; `None` if they stay.
    pub drift: Option<Drift>,
    /// Maximum gap between bars, in bar lengths. A longer gap makes part of the located mass unlocated.
    pub gap: i64,
}

impl Parameters {
    /// The documented default parameters with these tiers.
    #[must_use]
    pub fn new(tiers: Vec<Tier>) -> Self {
        Self {
            grid: FineGrid::default(),
            tiers,
            kappa: KAPPA,
            nu: 2.0,
            clocks: vec![
                TurnoverClock {
                    share: 0.3,
                    per_day: 0.1,
                },
                TurnoverClock {
                    share: 0.7,
                    per_day: 16.0,
                },
            ],
            entries: const {
                match NonZeroU8::new(5) {
                    Some(entries) => entries,
                    None => NonZeroU8::MIN,
                }
            },
            phi0: 0.05,
            shares: Vec::new(),
            drift: None,
            gap: 3,
        }
    }

    /// The parameters for `coin`: defaults, replaced by those set in `own`.
    #[must_use]
    pub fn of(own: Option<&Specification>, coin: &str) -> Self {
        let usual = Specification::default();
        let own = own.unwrap_or(&usual);
        let leverages = own.leverages();
        // If the caller sets tiers but no weights, all tiers have equal weights.
        let power = if own.tiers.is_some() { 0.0 } else { -0.75 };
        let weights = own.weights.clone().unwrap_or_else(|| {
            let weight = |leverage: &u16| f64::from(*leverage).powf(power);
            leverages.iter().map(weight).collect()
        });
        // Weights that already sum to 1 stay unchanged, so that a model made from another model's weights has the same
        // version.
        let sum = Some(weights.iter().sum::<f64>()).filter(|sum| (sum - 1.0).abs() > 1e-14);
        let tier = |(place, (leverage, weight)): (usize, (&u16, f64))| {
            let leverage = f64::from(*leverage);
            Tier {
                leverage,
                maintenance: match &own.mmr {
                    None => maintenance_margin(coin, leverage),
                    Some(Margins::One(rate)) => rate.min(0.5 / leverage),
                    Some(Margins::Each(rates)) => rates.get(place).copied().unwrap_or_default(),
                },
                weight: sum.map_or(weight, |sum| weight / sum),
            }
        };
        let usual = Self::new(
            leverages
                .iter()
                .zip(weights)
                .enumerate()
                .map(tier)
                .collect(),
        );
        Self {
            grid: FineGrid {
                h: own.grid.unwrap_or(usual.grid.h),
                ..usual.grid
            },
            kappa: own.kappa0.unwrap_or(usual.kappa),
            nu: own.nu.unwrap_or(usual.nu),
            clocks: own.clocks.as_deref().map_or(usual.clocks, |clocks| {
                clocks
                    .iter()
                    .map(|&(share, per_day)| TurnoverClock { share, per_day })
                    .collect()
            }),
            entries: own
                .entries
                .and_then(NonZeroU8::new)
                .unwrap_or(usual.entries),
            phi0: own.phi0.unwrap_or(usual.phi0),
            shares: shares_of(own.shares.as_deref(), coin),
            drift: own
                .drift
                .filter(|(share, per_day)| *share > 0.0 && *per_day > 0.0)
                .map(|(share, per_day)| Drift { share, per_day }),
            ..usual
        }
    }

    /// The parameters for open interest that includes all exchanges of [`MEASURED_ON`].
    #[must_use]
    pub fn of_all(self, own: Option<&Specification>) -> Self {
        match own.and_then(|own| own.kappa0) {
            Some(_) => self,
            None => Self {
                kappa: KAPPA_OF_ALL,
                ..self
            },
        }
    }

    /// All parameters that a caller can choose, with the defaults filled in; `own` are those that were chosen.
    ///
    /// Defaults that depend on the coin or on its data are left out: maintenance margins and `kappa0`. Only the
    /// expected view has `nu`.
    pub fn specification(&self, own: Option<&Specification>, model: Model) -> Specification {
        let usual = Specification::default();
        let own = own.unwrap_or(&usual);
        let is_expected = model == Model::Expected;
        Specification {
            tiers: Some(own.leverages().to_vec()),
            weights: Some(self.weights()),
            mmr: own.mmr.clone(),
            clocks: Some(
                self.clocks
                    .iter()
                    .map(|clock| (clock.share, clock.per_day))
                    .collect(),
            ),
            entries: Some(self.entries.get()),
            grid: Some(self.grid.h),
            phi0: Some(self.phi0),
            kappa0: own.kappa0,
            nu: is_expected.then_some(self.nu),
            shares: own.shares.clone(),
            drift: own.drift,
            name: own.name.clone(),
        }
    }

    /// Equilibrium share of the open interest per clock.
    ///
    /// Proportional to the share of the clock divided by its rate.
    pub fn standing(&self) -> Vec<f64> {
        let rest = |clock: &TurnoverClock| {
            if clock.per_day > 0.0 {
                clock.share / clock.per_day
            } else {
                1.0
            }
        };
        let sum: f64 = self.clocks.iter().map(rest).sum();
        self.clocks.iter().map(|clock| rest(clock) / sum).collect()
    }

    /// Assumed share of the open interest per tier.
    pub fn weights(&self) -> Vec<f64> {
        self.tiers.iter().map(|tier| tier.weight).collect()
    }

    /// USD expected to be liquidated and reported per USD crossed, per tier, before the fit.
    pub fn reported(&self) -> Vec<f64> {
        let shares = self.tiers.iter().map(|tier| self.kappa * tier.weight);
        shares.collect()
    }

    /// Maintenance margin rate of the tier nearest to `leverage`.
    pub fn maintenance_at(&self, leverage: f64) -> f64 {
        let distance = |tier: &Tier| (tier.leverage - leverage).abs();
        self.tiers
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .map_or(0.0, |tier| tier.maintenance)
    }
}

/// Version of the ledger algorithm. Increase it when the same parameters give different cells.
const LEDGER: u8 = 2;

/// Version of the fit algorithm. Increase it when the same data give a different fit.
const FIT: f64 = 2.0;

/// The version of a model: a digest of everything that affects the value of a cell.
#[must_use]
pub fn version(own: Option<&Specification>, model: Model) -> String {
    let mut digest = Sha256::new();
    digest.update([LEDGER, u8::from(model == Model::Expected)]);
    let mut take = |numbers: &[f64]| {
        for number in numbers {
            digest.update(number.to_be_bytes());
        }
    };
    // There are two sets of default maintenance margins: one for major coins such as BTC, and one for all other coins.
    for coin in ["BTC", ""] {
        let found = Parameters::of(own, coin);
        for tier in &found.tiers {
            take(&[tier.leverage, tier.maintenance, tier.weight]);
        }
        for clock in &found.clocks {
            take(&[clock.share, clock.per_day]);
        }
        let entries = f64::from(found.entries.get());
        take(&[found.grid.p0, found.grid.h, entries, found.phi0]);
        if model == Model::Expected {
            let of_all = found.clone().of_all(own).kappa;
            take(&[found.kappa, of_all, found.nu, FIT]);
        }
    }
    let own = own.cloned().unwrap_or_default();
    for coin in coins_with_shares(own.shares.as_deref()) {
        for one in shares_of(own.shares.as_deref(), &coin) {
            digest.update(format!("{coin} {} {:?}\n", one.exchange, one.shares));
        }
    }
    if let Some(drift) = Parameters::of(Some(&own), "BTC").drift {
        digest.update(format!("drift {:?} {:?}", drift.share, drift.per_day));
    }
    let digest = digest.finalize();
    let short = digest
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
        >> 16;
    format!("{short:012x}")
}
