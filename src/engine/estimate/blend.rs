//! Known positions in an estimate, and the model of the rest of the open interest.
//!
//! The interest of an exchange is divided: its known positions stand at their own liquidation prices, and the model
//! spreads what is left of its interest on each side. Where positions exceed the last reading of the interest, they are
//! the interest and nothing is left. The remainder is scaled to the known positions of the exchange; with more than
//! [`MANY`] accounts, each tier is.
//!
//! `docs/explanation/model.md` has the formulas.

use crate::engine::estimate::estimate_basis::{EstimateBasis, MeasuredBasis};
use crate::engine::fit::Fit;
use crate::engine::ledger::ledger_state::LedgerState;
use crate::engine::ledger::parameters::{SHOWN_LEVERAGES, shown_for};
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::observations::known_positions::PositionSnapshot;
use crate::model::{FineGrid, MeasuredExchange, Millis, Side};

/// Distances from the price that part the bands in which known and modelled positions are compared, as fractions of it.
const ENDS: [f64; 10] = [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5];

/// The last band is open.
const BANDS: usize = ENDS.len() + 1;

/// Number of bands near the price, up to 10 %.
const NEAR: usize = 6;

/// Number of accounts above which tiers are fitted.
const MANY: usize = 30;

/// Number of accounts that the prior counts as.
const PRIOR: f64 = 10.0;

/// Steps of the fit of tiers.
const STEPS: usize = 100;

/// Located positions beyond this multiple of the price, or its inverse, stand there on the price grid of the ledger.
const FARTHEST: f64 = 100.0;

/// Age from which a snapshot is not used: too much near the price has been closed and opened since.
const OLDEST: i64 = Millis::DAY / 2;

/// Age up to which what is left of an exchange is fitted to a snapshot. Later, the price has closed positions near it.
const FITTED: i64 = Millis::HOUR;

/// Share of an interest up to which the sum of its positions may differ by rounding.
const ROUNDING: f64 = 1e-9;

/// One amount per band.
type Bands = [f64; BANDS];

/// A known position on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedPosition {
    /// Its side.
    pub side: Side,
    /// Liquidation price.
    pub price: f64,
    /// Its bin on the grid of the ledger, on the side's side of the current price.
    pub fine: i64,
    /// Index of the shown leverage.
    pub tier: usize,
    /// Quantity times liquidation price, in the view of the model.
    pub usd: f64,
}

/// What is left of a part of the open interest.
#[derive(Clone, Debug)]
struct Remainder {
    /// Quantity that is left, of longs and of shorts.
    qty: [f64; 2],
    /// Factor of its located part.
    scale: [f64; 2],
    /// Weight of each tier over that of the model.
    tilts: Option<[Vec<f64>; 2]>,
}

/// The known positions of an estimate at one instant, and the factors of its modelled part.
#[derive(Clone, Debug)]
pub struct Blend {
    /// Factors by which located USD of the ledger are multiplied, per tier, for longs and shorts.
    pub counted: [Vec<f64>; 2],
    /// Known positions that wait for the price. Longs come first; prices ascend on each side.
    pub placed: Vec<PlacedPosition>,
    /// The exchanges with known positions.
    pub exchanges: Vec<MeasuredBasis>,
    located_share: [f64; 2],
}

impl Blend {
    /// Blends the state of a ledger with the positions known at its last close, and with the newest ones at the end of
    /// the window.
    ///
    /// `counted` are the factors of the modelled estimate. `None` without positions, and if open interest is unknown.
    pub fn new(
        frame: &ReplayWindow<'_>,
        state: &LedgerState,
        counted: &[Vec<f64>; 2],
        fit: Option<&Fit>,
    ) -> Option<Self> {
        let (at, known) = (state.last_close?, frame.known_positions()?);
        let ledger = &state.ledger;
        let (price, interest) = (ledger.price(), ledger.open_interest());
        // The newest snapshot may be younger than the last bar.
        let known_by = if at == frame.end {
            Millis(i64::MAX)
        } else {
            at
        };
        let mut snapshots: Vec<_> = known.known_at(known_by).collect();
        snapshots.retain(|(_, taken, _)| *taken > at.back(OLDEST));
        if snapshots.is_empty() || state.is_relative || price <= 0.0 {
            return None;
        }
        let weights = frame.parameters.weights();
        let modelled = modelled(state, price);
        let mut placed = Vec::new();
        let mut exchanges = Vec::with_capacity(snapshots.len());
        // Quantity with a liquidation price that waits, by band and side.
        let mut bands: Vec<[Bands; 2]> = Vec::with_capacity(snapshots.len());
        let usd_counts = fit.map_or([1.0; 2], |fit| fit.kappa);
        for (exchange, taken, snapshot) in &snapshots {
            let crossed = frame.range_since(*taken, at);
            let crossed =
                crossed.map_or([price; 2], |[low, high]| [low.min(price), high.max(price)]);
            let place = Place {
                grid: frame.parameters.grid,
                price,
                crossed,
                usd_counts,
            };
            let (of_bands, crossed) = place.all(snapshot, &mut placed);
            bands.push(of_bands);
            let mut basis = MeasuredBasis::new((exchange, *taken), snapshot, crossed.usd);
            for (qty, closed) in basis.quantity.iter_mut().zip(crossed.qty) {
                *qty = (*qty - closed).max(0.0);
            }
            exchanges.push(basis);
        }
        // Positions of one exchange are sorted already.
        placed.sort_by(|a, b| {
            (a.side, a.price)
                .partial_cmp(&(b.side, b.price))
                .unwrap_or(std::cmp::Ordering::Equal)
        });

        let remainders = remainders(
            &frame.interest_by_exchange(at),
            interest,
            &mut exchanges,
            |basis, place, all| {
                let bands = bands.get(place).unwrap_or(&[[0.0; BANDS]; 2]);
                let is_fitted = basis.facts.observed_at > at.back(FITTED);
                let fitted = is_fitted.then_some((&modelled, bands));
                remainder(basis, all, &weights, fitted)
            },
        );
        let factors = [0, 1].map(|side| factors(&remainders, side, weights.len(), interest));
        let mut blended = counted.clone();
        for (counted, factors) in blended.iter_mut().zip(&factors) {
            for (counted, factor) in counted.iter_mut().zip(factors) {
                *counted *= factor;
            }
        }
        let located_share = [0, 1].map(|side| {
            let of = |both: &[f64; 2]| both.get(side).copied().unwrap_or_default();
            let measured: f64 = exchanges.iter().map(|one| of(&one.quantity)).sum();
            let left: f64 = remainders.iter().map(|rest| of(&rest.qty)).sum();
            let waiting = bands.iter().filter_map(|bands| bands.get(side)).flatten();
            let mut located: f64 = waiting.sum();
            let tiers = modelled.get(side).into_iter().flatten();
            let factors = factors.get(side).into_iter().flatten();
            for ((bands, factor), weight) in tiers.zip(factors).zip(&weights) {
                located += weight * factor * interest * bands.iter().sum::<f64>();
            }
            if measured + left > 0.0 {
                located / (measured + left)
            } else {
                0.0
            }
        });
        Some(Self {
            counted: blended,
            placed,
            exchanges,
            located_share,
        })
    }

    /// The explanation of the modelled estimate, changed to that of this one.
    pub fn explain(&self, mut explain: EstimateBasis) -> EstimateBasis {
        explain.located_share = self.located_share;
        let named = self.exchanges.iter();
        explain.measured = named
            .map(|one| (one.facts.exchange.clone(), one.clone()))
            .collect();
        explain
    }

    /// The facts about each exchange with known positions.
    pub fn facts(&self) -> Vec<MeasuredExchange> {
        self.exchanges.iter().map(|one| one.facts.clone()).collect()
    }
}

impl Remainder {
    /// All of an interest of which no positions are known.
    fn unknown(interest: f64) -> Self {
        Self {
            qty: [interest; 2],
            scale: [1.0; 2],
            tilts: None,
        }
    }
}

/// What is left of each part of the interest.
///
/// `levels` are the readings of exchanges, and `fit` fits what is left of an exchange, given by its index.
fn remainders(
    levels: &[(Option<&str>, f64)],
    interest: f64,
    exchanges: &mut [MeasuredBasis],
    fit: impl Fn(&mut MeasuredBasis, usize, f64) -> Remainder,
) -> Vec<Remainder> {
    let sum: f64 = levels.iter().map(|(_, level)| level).sum();
    if sum <= 0.0 {
        return vec![pooled(interest, exchanges)];
    }
    let of = |(name, level): &(Option<&str>, f64)| {
        let all = interest * level / sum;
        let Some(name) = name else {
            return pooled(all, exchanges);
        };
        let mut measured = exchanges.iter_mut().enumerate();
        match measured.find(|(_, one)| one.facts.exchange == *name) {
            Some((place, basis)) => fit(basis, place, all),
            None => Remainder::unknown(all),
        }
    };
    levels.iter().map(of).collect()
}

/// Positions that the price has crossed since their snapshot. They are closed.
#[derive(Clone, Copy, Debug, Default)]
struct Crossed {
    /// Value in the snapshot.
    usd: f64,
    /// Quantity, of longs and of shorts.
    qty: [f64; 2],
}

/// How the positions of a snapshot are placed.
struct Place {
    grid: FineGrid,
    price: f64,
    /// Lowest and highest price since the snapshot.
    crossed: [f64; 2],
    /// USD that count per USD of a position, of longs and of shorts.
    usd_counts: [f64; 2],
}

impl Place {
    /// Appends the positions that wait for the price.
    ///
    /// Returns their quantity by side and band, and the positions that the price has crossed.
    fn all(
        &self,
        snapshot: &PositionSnapshot,
        placed: &mut Vec<PlacedPosition>,
    ) -> ([Bands; 2], Crossed) {
        let [low, high] = self.crossed;
        let ln_p0 = self.grid.p0.ln();
        let mut found = [[0.0; BANDS]; 2];
        let mut crossed = Crossed::default();
        let sides = [Side::Long, Side::Short].into_iter().zip(self.usd_counts);
        let of_snapshot = snapshot.located.iter().zip(&mut crossed.qty);
        for (((side, counts), (located, closed)), bands) in sides.zip(of_snapshot).zip(&mut found) {
            let (first, last) = bins_of(self.grid, self.price, side);
            for position in located {
                let waits = match side {
                    Side::Long => position.price < low,
                    Side::Short => position.price > high,
                };
                if !waits {
                    crossed.usd += position.value_usd;
                    *closed += position.qty;
                    continue;
                }
                let distance = (position.price / self.price - 1.0).abs();
                if let Some(sum) = bands.get_mut(ENDS.partition_point(|end| *end < distance)) {
                    *sum += position.qty;
                }
                let bin = self.grid.bin_of_ln(position.ln_price - ln_p0);
                placed.push(PlacedPosition {
                    side,
                    price: position.price,
                    fine: bin.clamp(first, last),
                    tier: shown_for(position.leverage),
                    usd: position.qty * position.price * counts,
                });
            }
        }
        (found, crossed)
    }
}

/// The factors by which the modelled mass of a side is multiplied, per tier.
fn factors(remainders: &[Remainder], side: usize, tiers: usize, interest: f64) -> Vec<f64> {
    let factor = |tier: usize| {
        let of = |rest: &Remainder| {
            let tilts = rest.tilts.as_ref().and_then(|tilts| tilts.get(side));
            let tilt = tilts.and_then(|tilts| tilts.get(tier)).unwrap_or(&1.0);
            let [qty, scale] =
                [rest.qty, rest.scale].map(|both| both.get(side).copied().unwrap_or_default());
            qty * scale * tilt
        };
        let left: f64 = remainders.iter().map(of).sum();
        if interest > 0.0 { left / interest } else { 0.0 }
    };
    (0..tiers).map(factor).collect()
}

/// What is left of an interest; sums that differ by rounding leave nothing.
fn left(interest: f64, known: f64) -> f64 {
    let left = interest - known;
    if left > ROUNDING * interest {
        left
    } else {
        0.0
    }
}

/// What is left of the interest of several exchanges without readings of their own.
fn pooled(interest: f64, exchanges: &[MeasuredBasis]) -> Remainder {
    let qty = [0, 1].map(|side| {
        let known = exchanges.iter().filter_map(|one| one.quantity.get(side));
        left(interest, known.sum())
    });
    Remainder {
        qty,
        ..Remainder::unknown(interest)
    }
}

/// What is left of the `interest` of an exchange, fitted to its known positions if they are recent.
///
/// `fit` has the located share of the open interest by side, tier and band, and the located quantity of the known
/// positions by side and band.
fn remainder(
    basis: &mut MeasuredBasis,
    interest: f64,
    weights: &[f64],
    fit: Option<(&[Vec<Bands>; 2], &[Bands; 2])>,
) -> Remainder {
    basis.open_interest = Some(interest);
    let accounts = usize::try_from(basis.accounts).unwrap_or(0);
    let mut tilts = [Vec::new(), Vec::new()];
    let sides = fit.map(|(modelled, known)| modelled.iter().zip(known));
    for (side, (modelled, known)) in sides.into_iter().flatten().enumerate() {
        let qty = basis.quantity.get(side).copied().unwrap_or_default();
        let found = fitted(weights, modelled, known, qty, accounts);
        let sum: f64 = found.iter().sum();
        // In no tier is more located than there is.
        let most = modelled.iter().map(|bands| bands.iter().sum::<f64>());
        let most = 1.0 / most.fold(f64::MIN_POSITIVE, f64::max);
        if let Some(scale) = basis.scale.get_mut(side) {
            *scale = sum.min(most);
        }
        if let Some(tilts) = tilts.get_mut(side) {
            let tilt = |(found, weight): (&f64, &f64)| {
                if *weight > 0.0 {
                    found / (sum * weight)
                } else {
                    1.0
                }
            };
            *tilts = found.iter().zip(weights).map(tilt).collect();
        }
    }
    let share = |qty: f64| {
        let all = interest.max(qty);
        (all > 0.0).then(|| qty / all)
    };
    [basis.facts.long_share, basis.facts.short_share] = basis.quantity.map(share);
    [basis.facts.long_scale, basis.facts.short_scale] = basis.scale;
    let tilts = (fit.is_some() && accounts > MANY).then_some(tilts);
    basis.weights = tilts.as_ref().map(|tilts| {
        let weighed = |tilts: &Vec<f64>| {
            tilts
                .iter()
                .zip(weights)
                .map(|(tilt, weight)| tilt * weight)
                .collect()
        };
        tilts.each_ref().map(weighed)
    });
    Remainder {
        qty: basis.quantity.map(|qty| left(interest, qty)),
        scale: basis.scale,
        tilts,
    }
}

/// The weights of tiers, times a scale, by which the model has the known quantity in each band.
///
/// `modelled` has the located share by tier and band, and `qty` is the quantity of all known positions of the side. With
/// few accounts only the scale is fitted, to what lies near the price. With many the weights maximise the Poisson
/// likelihood. Both are shrunk to `weights` by the number of accounts.
fn fitted(
    weights: &[f64],
    modelled: &[Bands],
    known: &Bands,
    qty: f64,
    accounts: usize,
) -> Vec<f64> {
    let many = accounts > MANY;
    let sum = |bands: &Bands| {
        bands
            .iter()
            .take(if many { BANDS } else { NEAR })
            .sum::<f64>()
    };
    let located = weights.iter().zip(modelled);
    let located: f64 = located.map(|(weight, bands)| weight * sum(bands)).sum();
    if qty <= 0.0 || located <= 0.0 {
        return weights.to_vec();
    }
    let scale = sum(known) / (qty * located);
    let mut found: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
    for _ in 0..if many { STEPS } else { 0 } {
        improve(&mut found, modelled, known, qty);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "accounts are counted in thousands"
    )]
    let trust = accounts as f64 / (accounts as f64 + PRIOR);
    let shrunk = found.iter().zip(weights);
    shrunk
        .map(|(found, weight)| weight + trust * (found - weight))
        .collect()
}

/// One step of expectation maximisation.
fn improve(weights: &mut [f64], modelled: &[Bands], known: &Bands, qty: f64) {
    let mut ratios = *known;
    for (band, ratio) in ratios.iter_mut().enumerate() {
        let tiers = weights.iter().zip(modelled);
        let expected = tiers.map(|(weight, bands)| weight * qty * bands.get(band).unwrap_or(&0.0));
        let expected: f64 = expected.sum();
        *ratio = if expected > 0.0 {
            *ratio / expected
        } else {
            0.0
        };
    }
    for (weight, bands) in weights.iter_mut().zip(modelled) {
        let all: f64 = bands.iter().sum();
        if all > 0.0 {
            let times = bands.iter().zip(&ratios).map(|(band, ratio)| band * ratio);
            *weight *= times.sum::<f64>() / all;
        }
    }
}

/// The located share of the open interest by side, tier and band, as if all of it were in that tier.
fn modelled(state: &LedgerState, price: f64) -> [Vec<Bands>; 2] {
    let ledger = &state.ledger;
    let (grid, interest) = (ledger.parameters().grid, ledger.open_interest());
    let tiers = ledger.parameters().tiers.len();
    let at = grid.bin(price);
    [Side::Long, Side::Short].map(|side| {
        let ends = ENDS.map(|end| {
            let end = match side {
                Side::Long => price * (1.0 - end),
                Side::Short => price * (1.0 + end),
            };
            (grid.bin(end) - at).abs()
        });
        let of_tier = |tier| {
            let mut bands = [0.0; BANDS];
            for (bin, mass) in ledger.located(side, tier) {
                let distance = (bin - at).abs();
                if let Some(band) = bands.get_mut(ends.partition_point(|end| *end < distance)) {
                    *band += mass / interest;
                }
            }
            bands
        };
        (0..tiers).map(of_tier).collect()
    })
}

/// The bins in which positions of a side may lie.
fn bins_of(grid: FineGrid, price: f64, side: Side) -> (i64, i64) {
    let at = grid.bin(price);
    match side {
        Side::Long => (grid.bin(price / FARTHEST), at - 1),
        Side::Short => (at + 1, grid.bin(price * FARTHEST)),
    }
}

/// USD by shown leverage.
pub type ShownUsd = [f64; SHOWN_LEVERAGES.len()];
