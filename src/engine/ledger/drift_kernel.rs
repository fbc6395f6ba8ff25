//! The drift of liquidation prices in a quarter of a day.
//!
//! A share of the positions moves by a normal distribution in log price. No position passes the price: a move beyond
//! it is reflected.

use crate::engine::ledger::mass_cells::{Lanes, MassCells, places, plus, times};
use crate::engine::ledger::parameters::Drift;
use crate::model::Side;

/// Number of standard deviations of the widest move.
const WIDEST: f64 = 4.0;

/// Cells at the ends with less than this share of all mass are joined to their neighbour, so that the range stays
/// bounded.
const NEGLIGIBLE: f64 = 1e-9;

/// The moves of a quarter of a day, in bins.
pub struct Kernel {
    /// Share of the positions that stay whatever is drawn.
    stays: f64,
    /// The widest move in bins.
    widest: i64,
    /// Share of the positions by move, from the widest one down to the widest one up.
    moves: Vec<f64>,
}

impl Kernel {
    /// The moves on a grid with bins of `h` in log price.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "moves are at most some ten thousand bins"
    )]
    pub fn new(drift: Drift, h: f64) -> Self {
        // Four moves of half the deviation have the deviation of a day.
        let sigma = drift.per_day / 2.0 / h;
        let widest = (WIDEST * sigma).ceil() as i64;
        let density = |bins: i64| (-0.5 * (bins as f64 / sigma).powi(2)).exp();
        let sum: f64 = (-widest..=widest).map(density).sum();
        let share = |bins: i64| drift.share * density(bins) / sum;
        Self {
            stays: 1.0 - drift.share,
            widest,
            moves: (-widest..=widest).map(share).collect(),
        }
    }

    /// Moves the mass of the lanes that `moves`. `price` is the bin of the price.
    pub fn apply(&self, cells: &mut MassCells, moves: [bool; 2], side: Side, price: i64) {
        if moves == [false; 2] || cells.is_empty() {
            return;
        }
        let first = cells.first - self.widest;
        let mut drifted = vec![[0.0; 2]; places(cells.end - first + self.widest)];
        let mut add = |bin: i64, mass: Lanes| {
            let bin = match side {
                Side::Long if bin >= price => 2 * price - 1 - bin,
                Side::Short if bin <= price => 2 * price + 1 - bin,
                _ => bin,
            };
            if let Some(cell) = drifted.get_mut(places(bin - first)) {
                *cell = plus(*cell, mass);
            }
        };
        let lanes = |share: f64, rest: f64| moves.map(|moves| if moves { share } else { rest });
        let stays = lanes(self.stays, 1.0);
        for (bin, mass) in (cells.first..).zip(cells.occupied()) {
            if mass.iter().all(|mass| *mass <= 0.0) {
                continue;
            }
            add(bin, times(*mass, stays));
            for (by, share) in (-self.widest..).zip(&self.moves) {
                add(bin + by, times(*mass, lanes(*share, 0.0)));
            }
        }
        *cells = MassCells::of(first, without_tails(drifted));
    }
}

/// Joins negligible cells at both ends to their neighbours.
fn without_tails(mut cells: Vec<Lanes>) -> Vec<Lanes> {
    let all: f64 = cells.iter().flatten().sum();
    let least = NEGLIGIBLE * all;
    for is_upper in [false, true] {
        if is_upper {
            cells.reverse();
        }
        let mut carried = [0.0; 2];
        for cell in &mut cells {
            let sum = plus(carried, *cell);
            let [one, other] = sum;
            if one + other >= least {
                *cell = sum;
                break;
            }
            carried = sum;
            *cell = [0.0; 2];
        }
        if is_upper {
            cells.reverse();
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use crate::engine::ledger::drift_kernel::*;

    const DRIFT: Drift = Drift {
        share: 1.0,
        per_day: 0.005,
    };

    fn apply(kernel: &Kernel, side: Side, bin: i64) -> Vec<(i64, Lanes)> {
        let mut cells = MassCells::default();
        cells.add(&[bin], [3.0, 5.0]);
        kernel.apply(&mut cells, [true, false], side, 1000);
        (cells.first..)
            .zip(cells.occupied().to_vec())
            .filter(|(_, mass)| mass.iter().any(|mass| *mass > 0.0))
            .collect()
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "bins are small numbers")]
    fn the_slow_clock_moves_by_a_quarter_of_the_variance_of_a_day() {
        let moved = apply(&Kernel::new(DRIFT, 5e-4), Side::Long, 500);
        let mass: f64 = moved.iter().map(|(_, [slow, _])| slow).sum();
        assert!((mass - 3.0).abs() < 1e-12);
        let variance = moved
            .iter()
            .map(|(bin, [slow, _])| slow * ((bin - 500) as f64).powi(2));
        let sigma = (variance.sum::<f64>() / 3.0).sqrt();
        assert!((sigma / 5.0 - 1.0).abs() < 0.01, "{sigma}");
        let other: Vec<i64> = moved
            .iter()
            .filter(|(_, [_, fast])| *fast > 0.0)
            .map(|(bin, _)| *bin)
            .collect();
        assert_eq!(other, [500]);
    }

    #[test]
    fn nothing_passes_the_price() {
        for (side, bin) in [(Side::Long, 998), (Side::Short, 1002)] {
            let moved = apply(&Kernel::new(DRIFT, 5e-4), side, bin);
            let mass: f64 = moved.iter().map(|(_, [slow, _])| slow).sum();
            assert!((mass - 3.0).abs() < 1e-12);
            assert!(moved.iter().all(|(at, _)| match side {
                Side::Long => *at < 1000,
                Side::Short => *at > 1000,
            }));
        }
    }
}
