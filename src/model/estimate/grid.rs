//! Price grids: the fine logarithmic grid of the ledger of estimated positions, and the linear bins of a liquidation
//! map.

/// The logarithmic price grid of the ledger: bin `j` contains prices in `[p0·exp(jh), p0·exp((j+1)h))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FineGrid {
    /// Price at the lower edge of bin 0.
    pub p0: f64,
    /// Width of a bin in log price.
    pub h: f64,
}

impl Default for FineGrid {
    /// Bins of five basis points, starting at a price of one.
    fn default() -> Self {
        Self { p0: 1.0, h: 5e-4 }
    }
}

impl FineGrid {
    /// The bin that contains `price`.
    #[must_use]
    pub fn bin(&self, price: f64) -> i64 {
        self.bin_of_ln(price.ln() - self.p0.ln())
    }

    /// The bin of a price, given as its logarithm relative to `p0`.
    #[must_use]
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a log price over 1e-5 lies far inside i64, and bins are counted in millions"
    )]
    pub fn bin_of_ln(&self, ln: f64) -> i64 {
        // On generic processors `floor` is a function call; a cast and a comparison are not.
        let bins = ln / self.h;
        let towards_zero = bins as i64;
        towards_zero - i64::from(towards_zero as f64 > bins)
    }

    /// Writes the bins of prices into `bins`, clamped to the range `within`.
    ///
    /// Prices are given as logarithms relative to `p0`.
    ///
    /// Equals [`FineGrid::bin_of_ln`] without a division in the common case. A product with `1 / h` is off by less than
    /// a millionth of a bin, so it gives the bin unless a price lies that close to an edge.
    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounds within 2^40 are exact in a double"
    )]
    pub fn bins_of_lns(&self, lns: &[f64], within: (i64, i64), bins: &mut [i64]) {
        // Adding this constant rounds a number of moderate size to an integer in its low bits.
        const WHOLE: f64 = 6_755_399_441_055_744.0;
        const MOST: i64 = 1 << 40;
        let per_bin = 1.0 / self.h;
        let [least, most] = [within.0, within.1].map(|bin| WHOLE + bin.clamp(-MOST, MOST) as f64);
        let mut sure = true;
        // Branch-free, so that the compiler vectorizes it.
        for (bin, ln) in bins.iter_mut().zip(lns) {
            let middle = ln * per_bin - 0.5;
            let shifted = middle + WHOLE;
            let off = (middle - (shifted - WHOLE)).abs();
            sure &= (off < 0.5 - 1e-6) & (middle.abs() < 1e9);
            let shifted = if shifted < most { shifted } else { most };
            let shifted = if shifted > least { shifted } else { least };
            *bin = shifted
                .to_bits()
                .wrapping_sub(WHOLE.to_bits())
                .cast_signed();
        }
        if !sure {
            for (bin, ln) in bins.iter_mut().zip(lns) {
                *bin = self.bin_of_ln(*ln).min(within.1).max(within.0);
            }
        }
    }

    /// The price in the middle of bin `j`, on the log scale.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bins are counted in thousands")]
    pub fn mid(&self, j: i64) -> f64 {
        self.p0 * ((j as f64 + 0.5) * self.h).exp()
    }

    /// The price in the middle of a coarse bin of `factor` fine bins, on the log scale.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bins are counted in thousands")]
    pub fn coarse_mid(&self, coarse: i64, factor: i64) -> f64 {
        self.p0 * ((coarse as f64 + 0.5) * factor as f64 * self.h).exp()
    }
}

/// The bin width of a liquidation map: the value 1, 2 or 5 times a power of ten that is nearest to 0.1 % of `price`.
/// Of two equally near values, the smaller one.
///
/// # Examples
///
/// ```
/// use liqdata::model::map_step;
///
/// assert_eq!(map_step(91_234.5), 100.0);
/// assert_eq!(map_step(2_056.7), 2.0);
/// assert_eq!(map_step(0.00001234), 1e-8);
/// ```
#[must_use]
pub fn map_step(price: f64) -> f64 {
    let target = price * 1e-3;
    let exponent = target.log10().floor();
    let mut best = (f64::INFINITY, target);
    for (digit, decade) in [(1_u8, 0), (2, 0), (5, 0), (1, 1)] {
        // Parsing gives the double nearest to 1, 2 or 5 times a power of ten.
        let step: f64 = format!("{digit}e{}", exponent + f64::from(decade))
            .parse()
            .unwrap_or(target);
        let distance = (step - target).abs();
        if distance < best.0 {
            best = (distance, step);
        }
    }
    best.1
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tests of small whole numbers"
)]
mod tests {
    use crate::model::estimate::grid::*;

    #[test]
    fn a_price_lies_in_the_bin_with_the_nearest_middle() {
        let grid = FineGrid::default();
        for price in [0.000_012, 1.0, 99.5, 65_432.1] {
            let j = grid.bin(price);
            assert!((grid.mid(j) / price).ln().abs() <= grid.h / 2.0 + 1e-12);
        }
    }

    #[test]
    fn a_bin_is_the_floor_of_its_quotient() {
        let grid = FineGrid::default();
        for place in -4_000_i32..4_000 {
            for ln in [f64::from(place) * 1e-4, f64::from(place) * grid.h] {
                for ln in [ln, ln.next_down(), ln.next_up()] {
                    let floor = (ln / grid.h).floor();
                    assert_eq!(grid.bin_of_ln(ln) as f64, floor, "{ln}");
                }
            }
        }
    }

    #[test]
    fn many_bins_at_once_are_those_of_each() {
        let grid = FineGrid::default();
        let mut rng = fastrand::Rng::with_seed(5);
        let mut lns: Vec<f64> = (0..200_000).map(|_| (rng.f64() - 0.5) * 40.0).collect();
        for place in -40_000_i32..40_000 {
            let edge = f64::from(place) * grid.h;
            lns.extend([
                edge,
                edge.next_down(),
                edge.next_up(),
                edge + 4e-10,
                edge - 6e-10,
            ]);
        }
        lns.extend([0.0, -0.0]);
        let mut bins = vec![0; lns.len()];
        for (least, most) in [
            (i64::MIN, i64::MAX),
            (i64::MIN, 3_000),
            (-70, i64::MAX),
            (-5, 5),
        ] {
            let alone = |ln: &f64| grid.bin_of_ln(*ln).clamp(least, most);
            grid.bins_of_lns(&lns, (least, most), &mut bins);
            assert!(lns.iter().map(alone).eq(bins.iter().copied()));
            for (lns, bins) in lns.chunks(5).zip(bins.chunks_mut(5)) {
                grid.bins_of_lns(lns, (least, most), bins);
                assert!(lns.iter().map(alone).eq(bins.iter().copied()), "{lns:?}");
            }
            for ln in [1e6, -1e6, 1e12, -1e12, f64::NAN] {
                let mut bin = [0];
                grid.bins_of_lns(&[ln], (least, most), &mut bin);
                assert_eq!(bin, [alone(&ln)], "{ln}");
            }
        }
    }

    #[test]
    fn a_coarse_bin_of_one_is_a_fine_bin() {
        let grid = FineGrid::default();
        assert_eq!(grid.coarse_mid(17, 1).to_bits(), grid.mid(17).to_bits());
    }
}
