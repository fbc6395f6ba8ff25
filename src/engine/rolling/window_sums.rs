//! Exact totals of both sides, and how many orders they are of.

use crate::model::{ExactSum, Side, WindowTotals};

/// Exact totals of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Sums {
    pub(in crate::engine) long: ExactSum,
    pub(in crate::engine) short: ExactSum,
    pub(in crate::engine) cnt: u64,
}

impl Sums {
    fn side(&mut self, side: Side) -> &mut ExactSum {
        match side {
            Side::Long => &mut self.long,
            Side::Short => &mut self.short,
        }
    }

    pub(in crate::engine) fn add(&mut self, side: Side, usd: ExactSum) {
        *self.side(side) += usd;
        self.cnt += 1;
    }

    pub(crate) fn take(&mut self, side: Side, usd: ExactSum) {
        *self.side(side) -= usd;
        self.cnt -= 1;
    }

    pub(in crate::engine) fn merge(&mut self, other: &Self) {
        // Most names have no orders in the shorter windows, and exact sums are not free.
        if other.cnt == 0 {
            return;
        }
        self.long += other.long;
        self.short += other.short;
        self.cnt += other.cnt;
    }

    pub(in crate::engine) fn total(&self) -> ExactSum {
        self.long.plus(self.short)
    }
}

/// The running sums of a window.
#[derive(Debug, Default)]
pub(crate) struct Running {
    /// Per exchange and coin.
    pub(crate) named: Vec<Sums>,
    /// Of all of them.
    pub(crate) all: Sums,
}

impl Running {
    /// Makes room for the sums of so many names.
    pub(crate) fn grow(&mut self, names: usize) {
        self.named.resize(names, Sums::default());
    }

    pub(crate) fn add(&mut self, name: usize, side: Side, usd: ExactSum) {
        if let Some(sums) = self.named.get_mut(name) {
            sums.add(side, usd);
            self.all.add(side, usd);
        }
    }

    pub(crate) fn take(&mut self, name: usize, side: Side, usd: ExactSum) {
        if let Some(sums) = self.named.get_mut(name) {
            sums.take(side, usd);
            self.all.take(side, usd);
        }
    }

    /// Adds what a name had elsewhere.
    pub(crate) fn merge(&mut self, name: usize, more: &Sums) {
        if let Some(sums) = self.named.get_mut(name) {
            sums.merge(more);
            self.all.merge(more);
        }
    }
}

impl From<Sums> for WindowTotals {
    fn from(sums: Sums) -> Self {
        Self {
            long_usd: sums.long.f64(),
            short_usd: sums.short.f64(),
            total_usd: sums.total().f64(),
            cnt: sums.cnt,
        }
    }
}
