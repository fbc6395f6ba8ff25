//! Exact USD totals per side.

use crate::model::{ExactSum, Side, WindowTotals};

/// Exact USD totals of both sides, and the number of orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideSums {
    pub long: ExactSum,
    pub short: ExactSum,
    pub cnt: u64,
}

impl SideSums {
    fn side(&mut self, side: Side) -> &mut ExactSum {
        match side {
            Side::Long => &mut self.long,
            Side::Short => &mut self.short,
        }
    }

    pub fn add(&mut self, side: Side, usd: ExactSum) {
        *self.side(side) += usd;
        self.cnt += 1;
    }

    pub fn take(&mut self, side: Side, usd: ExactSum) {
        *self.side(side) -= usd;
        self.cnt -= 1;
    }

    pub fn merge(&mut self, other: &Self) {
        // Empty sums are skipped: most names have no orders in the shorter windows, and exact additions are costly.
        if other.cnt == 0 {
            return;
        }
        self.long += other.long;
        self.short += other.short;
        self.cnt += other.cnt;
    }

    pub fn total(&self) -> ExactSum {
        self.long.plus(self.short)
    }
}

/// Running sums of a window.
#[derive(Debug, Default)]
pub struct WindowSums {
    /// Sums per exchange and coin.
    pub named: Vec<SideSums>,
    /// Sums over all exchanges and coins.
    pub all: SideSums,
}

impl WindowSums {
    /// Extends the sums to the given number of names.
    pub fn grow(&mut self, names: usize) {
        self.named.resize(names, SideSums::default());
    }

    pub fn add(&mut self, name: usize, side: Side, usd: ExactSum) {
        if let Some(sums) = self.named.get_mut(name) {
            sums.add(side, usd);
            self.all.add(side, usd);
        }
    }

    pub fn take(&mut self, name: usize, side: Side, usd: ExactSum) {
        if let Some(sums) = self.named.get_mut(name) {
            sums.take(side, usd);
            self.all.take(side, usd);
        }
    }

    /// Adds the sums of the same name from another part of a ring.
    pub fn merge(&mut self, name: usize, more: &SideSums) {
        if let Some(sums) = self.named.get_mut(name) {
            sums.merge(more);
            self.all.merge(more);
        }
    }
}

impl From<SideSums> for WindowTotals {
    fn from(sums: SideSums) -> Self {
        Self {
            long_usd: sums.long.f64(),
            short_usd: sums.short.f64(),
            total_usd: sums.total().f64(),
            cnt: sums.cnt,
        }
    }
}
