//! A slow, plain ledger: hash maps instead of arrays, every cell updated in every step, formulas as documented.

use std::collections::BTreeMap;

use liqdata::engine::{Parameters, Step};
use liqdata::model::Side;

pub(crate) struct Oracle {
    parameters: Parameters,
    /// Mass by bin, per side, tier and clock.
    cells: [Vec<Vec<BTreeMap<i64, f64>>>; 2],
    unlocated: [Vec<Vec<f64>>; 2],
    pub(crate) flux: [Vec<f64>; 2],
    pub(crate) phi: [f64; 2],
    pub(crate) open_interest: f64,
}

impl Oracle {
    pub(crate) fn new(parameters: Parameters, open_interest: f64) -> Self {
        let tiers = parameters.tiers.len();
        let rest: Vec<f64> = parameters
            .clocks
            .iter()
            .map(|clock| {
                if clock.per_day > 0.0 {
                    clock.share / clock.per_day
                } else {
                    1.0
                }
            })
            .collect();
        let all: f64 = rest.iter().sum();
        let unlocated: Vec<f64> = rest
            .iter()
            .map(|share| open_interest * share / all)
            .collect();
        let cells = vec![vec![BTreeMap::new(); rest.len()]; tiers];
        Self {
            parameters,
            cells: [cells.clone(), cells],
            unlocated: [vec![unlocated.clone(); tiers], vec![unlocated; tiers]],
            flux: [vec![0.0; tiers], vec![0.0; tiers]],
            phi: [1.0; 2],
            open_interest,
        }
    }

    /// Mass by bin of a side and tier.
    pub(crate) fn located(&self, side: Side, tier: usize) -> BTreeMap<i64, f64> {
        let mut sum = BTreeMap::new();
        for (bin, mass) in self.cells[side.index()][tier].iter().flatten() {
            *sum.entry(*bin).or_default() += mass;
        }
        sum.retain(|_, mass| *mass > 0.0);
        sum
    }

    #[allow(
        dead_code,
        reason = "one of the two test programs that share this asks"
    )]
    pub(crate) fn unlocated(&self, side: Side, tier: usize) -> f64 {
        self.unlocated[side.index()][tier].iter().sum()
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let parameters = self.parameters.clone();
        let grid = parameters.grid;
        let bin_of = |price: f64| ((price / grid.p0).ln() / grid.h).floor() as i64;
        let (low, high, close) = (bin_of(step.low), bin_of(step.high), bin_of(step.close));
        for side in [Side::Long, Side::Short] {
            let s = side.index();
            let hit = |bin: i64| match side {
                Side::Long => bin >= low,
                Side::Short => bin <= high,
            };
            let swept: Vec<Vec<f64>> = self.cells[s]
                .iter_mut()
                .map(|tier| {
                    let clocks = tier.iter_mut().map(|cells| {
                        let crossed = cells.iter().filter(|(bin, _)| hit(**bin));
                        let sum = crossed.map(|(_, mass)| mass).sum();
                        cells.retain(|bin, _| !hit(*bin));
                        sum
                    });
                    clocks.collect()
                })
                .collect();
            self.flux[s] = swept.iter().map(|clocks| clocks.iter().sum()).collect();
            let predicted: f64 = parameters
                .tiers
                .iter()
                .zip(&self.flux[s])
                .map(|(tier, flux)| tier.weight * flux)
                .sum();
            self.phi[s] = match step.realised[s] {
                None => parameters.phi0,
                Some(realised) if predicted > 0.0 => f64::min(1.0, realised / predicted),
                Some(_) => 0.0,
            };
            for (tier, parameters_of_tier) in parameters.tiers.iter().enumerate() {
                let cells = &mut self.cells[s][tier];
                let unlocated = &mut self.unlocated[s][tier];
                for (unlocated, swept) in unlocated.iter_mut().zip(&swept[tier]) {
                    *unlocated += swept - self.phi[s] * swept;
                }
                let mass: Vec<f64> = cells
                    .iter()
                    .zip(&*unlocated)
                    .map(|(cells, unlocated)| cells.values().sum::<f64>() + unlocated)
                    .collect();
                let left = self.open_interest - self.phi[s] * self.flux[s][tier];
                let stays = if left > 0.0 {
                    f64::min(left, step.open_interest) / left
                } else {
                    0.0
                };
                let churn: Vec<f64> = parameters
                    .clocks
                    .iter()
                    .map(|clock| f64::min(0.5, clock.per_day * step.days * step.volume_ratio))
                    .collect();
                let renewed = churn
                    .iter()
                    .zip(&mass)
                    .map(|(churn, mass)| churn * mass * stays);
                let opened = f64::max(step.open_interest - left, 0.0) + renewed.sum::<f64>();
                for ((cells, unlocated), churn) in cells.iter_mut().zip(unlocated).zip(&churn) {
                    for mass in cells.values_mut() {
                        *mass *= (1.0 - churn) * stays;
                    }
                    *unlocated *= (1.0 - churn) * stays;
                }
                let (leverage, m) = (parameters_of_tier.leverage, parameters_of_tier.maintenance);
                let ratio = match side {
                    Side::Long => (1.0 - 1.0 / leverage) / (1.0 - m),
                    Side::Short => (1.0 + 1.0 / leverage) / (1.0 + m),
                };
                let entries = parameters.entries.get();
                for entry in 0..entries {
                    let fraction = (f64::from(entry) + 0.5) / f64::from(entries);
                    let price = step.low * (step.high / step.low).powf(fraction);
                    let bin = bin_of(price * ratio);
                    let bin = match side {
                        Side::Long => bin.min(close - 1),
                        Side::Short => bin.max(close + 1),
                    };
                    for (cells, clock) in cells.iter_mut().zip(&parameters.clocks) {
                        *cells.entry(bin).or_default() += opened * clock.share / f64::from(entries);
                    }
                }
            }
        }
        self.open_interest = step.open_interest;
    }

    /// A gap of `days`: located mass becomes unlocated at the rate of its clock.
    #[allow(
        dead_code,
        reason = "one of the two test programs that share this asks"
    )]
    pub(crate) fn regroup(&mut self, factor: f64) {
        let cells = self.cells.iter_mut().flatten().flatten();
        for mass in cells.flat_map(BTreeMap::values_mut) {
            *mass *= factor;
        }
        for unlocated in self.unlocated.iter_mut().flatten().flatten() {
            *unlocated *= factor;
        }
        self.open_interest *= factor;
    }

    pub(crate) fn lapse(&mut self, days: f64) {
        let tiers = self
            .cells
            .iter_mut()
            .flatten()
            .zip(self.unlocated.iter_mut().flatten());
        for (cells, unlocated) in tiers {
            for ((cells, unlocated), clock) in
                cells.iter_mut().zip(unlocated).zip(&self.parameters.clocks)
            {
                let lost = f64::min(0.5, clock.per_day * days);
                for mass in cells.values_mut() {
                    *unlocated += *mass * lost;
                    *mass *= 1.0 - lost;
                }
            }
        }
    }
}
