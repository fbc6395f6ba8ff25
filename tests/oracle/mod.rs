//! A slow, plain ledger: maps instead of arrays, every cell touched in every step, formulas as they are defined.

use std::collections::BTreeMap;

use liqdata::engine::{Parameters, Step};
use liqdata::model::Side;

pub(crate) struct Oracle {
    parameters: Parameters,
    /// Mass by bin, per side and tier.
    pub(crate) cells: [Vec<BTreeMap<i64, f64>>; 2],
    pub(crate) unlocated: [Vec<f64>; 2],
    pub(crate) flux: [Vec<f64>; 2],
    pub(crate) phi: [f64; 2],
    pub(crate) open_interest: f64,
}

impl Oracle {
    pub(crate) fn new(parameters: Parameters, open_interest: f64) -> Self {
        let tiers = parameters.tiers.len();
        Self {
            parameters,
            cells: [vec![BTreeMap::new(); tiers], vec![BTreeMap::new(); tiers]],
            unlocated: [vec![open_interest; tiers], vec![open_interest; tiers]],
            flux: [vec![0.0; tiers], vec![0.0; tiers]],
            phi: [1.0; 2],
            open_interest,
        }
    }

    fn bin(&self, price: f64) -> i64 {
        let grid = self.parameters.grid;
        ((price / grid.p0).ln() / grid.h).floor() as i64
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let parameters = self.parameters.clone();
        let (low, high, close) = (
            self.bin(step.low),
            self.bin(step.high),
            self.bin(step.close),
        );
        for side in [Side::Long, Side::Short] {
            let s = side.index();
            for tier in 0..parameters.tiers.len() {
                let cells = &mut self.cells[s][tier];
                let hit = |bin: i64| match side {
                    Side::Long => bin >= low,
                    Side::Short => bin <= high,
                };
                self.flux[s][tier] = cells
                    .iter()
                    .filter(|(bin, _)| hit(**bin))
                    .map(|(_, m)| m)
                    .sum();
                cells.retain(|bin, _| !hit(*bin));
            }
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
                let flux = self.flux[s][tier];
                let liquidated = self.phi[s] * flux;
                self.unlocated[s][tier] += flux - liquidated;
                let change = step.open_interest - (self.open_interest - liquidated);
                let churn = f64::min(
                    0.5,
                    parameters.churn_per_day * step.days * step.volume_ratio,
                ) * f64::min(self.open_interest - liquidated, step.open_interest);
                let opened = f64::max(change, 0.0) + churn;
                let closed = opened - change;
                let left = self.open_interest - liquidated;
                let kept = if left <= 0.0 {
                    0.0
                } else {
                    f64::max(0.0, 1.0 - closed / left)
                };
                for mass in self.cells[s][tier].values_mut() {
                    *mass *= kept;
                }
                self.unlocated[s][tier] *= kept;
                let (leverage, m) = (parameters_of_tier.leverage, parameters_of_tier.maintenance);
                let ratio = match side {
                    Side::Long => (1.0 - 1.0 / leverage) / (1.0 - m),
                    Side::Short => (1.0 + 1.0 / leverage) / (1.0 + m),
                };
                let entries = parameters.entries.get();
                for entry in 0..entries {
                    let fraction = (f64::from(entry) + 0.5) / f64::from(entries);
                    let price = step.low * (step.high / step.low).powf(fraction);
                    let bin = self.bin(price * ratio);
                    let bin = match side {
                        Side::Long => bin.min(close - 1),
                        Side::Short => bin.max(close + 1),
                    };
                    *self.cells[s][tier].entry(bin).or_default() += opened / f64::from(entries);
                }
            }
        }
        self.open_interest = step.open_interest;
    }

    /// A gap of `days`: what is located is forgotten at the rate of the churn.
    pub(crate) fn lapse(&mut self, days: f64) {
        let lost = f64::min(0.5, self.parameters.churn_per_day * days);
        for (cells, unlocated) in self
            .cells
            .iter_mut()
            .flatten()
            .zip(self.unlocated.iter_mut().flatten())
        {
            for mass in cells.values_mut() {
                *unlocated += *mass * lost;
                *mass *= 1.0 - lost;
            }
        }
    }
}
