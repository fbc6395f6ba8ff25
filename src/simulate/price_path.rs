//! The price path of a simulated coin: correlated shocks with clustered volatility and jumps.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, StandardNormal};

use super::coins::count;
use crate::model::Millis;

/// Length of a bar in milliseconds.
pub(super) const INTERVAL: i64 = 5 * Millis::MINUTE;
/// Number of steps per bar; the mark price moves along a straight line in each.
pub(super) const STEPS: u8 = 10;
/// Number of intervals in the result up to the simulated instant: 30 days.
pub(super) const BARS: usize = 30 * 288;
/// Number of intervals before the simulated instant that have bars of one minute: 2 days.
pub(super) const FINE: usize = 2 * 288;
/// Number of steps per bar of one minute.
pub(super) const MINUTE_STEPS: u8 = 2;
/// Number of intervals simulated before the first bar of the result: 10 days.
pub(super) const WARM_UP: usize = 10 * 288;
const BARS_PER_DAY: f64 = 288.0;

/// The random shocks of one bar, and its volatility.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarShocks {
    /// One shock per step. The unit is the standard deviation of the log return over a day of average volatility.
    pub(super) shocks: [f64; STEPS as usize],
    /// Volatility of the bar divided by average volatility.
    pub(super) volatility: f64,
}

/// A stochastic volatility process with a slow and a fast component; jumps raise the fast component.
#[derive(Debug)]
pub(super) struct VolatilityProcess {
    slow: f64,
    fast: f64,
    jumps_per_day: f64,
}

impl VolatilityProcess {
    pub(super) fn new(jumps_per_day: f64) -> Self {
        Self {
            slow: 0.0,
            fast: 0.0,
            jumps_per_day,
        }
    }

    /// Draws the shocks of the next bar, which opens at `open`.
    pub(super) fn next(&mut self, open: Millis, rng: &mut impl Rng) -> BarShocks {
        const SLOW_SPREAD: f64 = 0.35;
        const FAST_SPREAD: f64 = 0.35;
        let slow_memory = half_life(1.5 * BARS_PER_DAY);
        let fast_memory = half_life(BARS_PER_DAY / 16.0);
        self.slow = remembered(self.slow, slow_memory, SLOW_SPREAD, rng);
        self.fast = remembered(self.fast, fast_memory, FAST_SPREAD, rng);
        // The subtraction offsets the mean of the log-normal variable, so that volatility averages one.
        let level = self.slow + self.fast
            - f64::midpoint(SLOW_SPREAD * SLOW_SPREAD, FAST_SPREAD * FAST_SPREAD);
        let volatility = level.exp() * hour_of_day(open);
        let scale = volatility / steps_per_day().sqrt();
        let mut shocks = [0.0; STEPS as usize];
        for shock in &mut shocks {
            *shock = scale * normal(rng);
            if rng.random::<f64>() < self.jumps_per_day / steps_per_day() {
                let size = 0.2 + 0.25 * exponential(rng);
                *shock += if rng.random::<bool>() { size } else { -size };
                self.fast += size;
            }
        }
        BarShocks { shocks, volatility }
    }
}

fn steps_per_day() -> f64 {
    BARS_PER_DAY * f64::from(STEPS)
}

/// Advances a mean-reverting (Ornstein–Uhlenbeck) value by one step; its long-run standard deviation is `spread`.
fn remembered(value: f64, memory: f64, spread: f64, rng: &mut impl Rng) -> f64 {
    value * memory + spread * (1.0 - memory * memory).sqrt() * normal(rng)
}

/// Returns the decay factor per bar that halves a value in `bars` bars.
fn half_life(bars: f64) -> f64 {
    (-1.0 / bars).exp2()
}

/// Returns the activity factor for the hour of day, highest at 15:00 UTC.
fn hour_of_day(open: Millis) -> f64 {
    let day = count(open.0.rem_euclid(Millis::DAY)) / count(Millis::DAY);
    1.0 + 0.3 * ((day - 15.0 / 24.0) * std::f64::consts::TAU).cos()
}

/// The log price of a coin: shocks, mean reversion and the price impact of liquidations.
#[derive(Debug)]
pub(super) struct PriceProcess {
    ln: f64,
    /// Slow average of the log price, to which the price reverts.
    anchor: f64,
    /// Price impact that is still to come, because the impact per step is limited.
    pending: f64,
    /// Temporary price impact of liquidations that has not reverted yet.
    displaced: f64,
}

impl PriceProcess {
    /// Maximum price impact per step, as a change of the log price; the rest is applied in later steps.
    const PUSH: f64 = 0.003;
    /// Share of the price impact that reverts.
    const TRANSIENT: f64 = 0.6;

    pub(super) fn new(start: f64) -> Self {
        let ln = start.ln();
        Self {
            ln,
            anchor: ln,
            pending: 0.0,
            displaced: 0.0,
        }
    }

    /// Advances the price by one step with a shock; returns the new price.
    pub(super) fn step(&mut self, shock: f64) -> f64 {
        let push = self.pending.clamp(-Self::PUSH, Self::PUSH);
        self.pending -= push;
        let reverted = self.displaced / 40.0;
        self.displaced += push * Self::TRANSIENT - reverted;
        let drawn = (self.anchor - self.ln) / (4.0 * steps_per_day());
        self.ln += shock + push - reverted + drawn;
        self.anchor += (self.ln - self.anchor) / (6.0 * steps_per_day());
        self.ln.exp()
    }

    /// Adds a price impact of `ln` on the log price, applied in the next steps.
    pub(super) fn press(&mut self, ln: f64) {
        self.pending += ln;
    }
}

/// Draws a standard normal random number.
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Draws an exponentially distributed random number with mean one.
pub(super) fn exponential(rng: &mut impl Rng) -> f64 {
    Exp1.sample(rng)
}
