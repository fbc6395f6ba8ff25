//! Prediction intervals of an estimate, by distance from the price.

use serde::Serialize;

use crate::model::{BinBounds, LiquidationMap, Millis, Side};

/// Length of the past from which an interval is computed, in milliseconds.
pub const SPAN: i64 = 90 * Millis::DAY;

/// Share of the past price moves inside the interval, weighted by predicted USD.
pub const SHARE: f64 = 0.8;

/// Quantile of the normal distribution that 10 % of the values exceed.
const DEVIATE: f64 = 1.281_551_565_544_6;

/// Ends of the bands of distance from the price, as fractions of the price. Larger distances have no interval.
pub const ENDS: [f64; 3] = [0.01, 0.02, 0.05];

/// Minimum number of moves per band. A band with fewer moves also uses the moves of the bands nearer to the price.
const LEAST: usize = 30;

/// Quantiles of the ratio of realised to predicted USD, per distance band.
///
/// Ratios are weighted by predicted USD. 10 % of the weight lie below the lower quantile, and 10 % above the upper one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PastRatios([Option<[f64; 2]>; ENDS.len()]);

impl PastRatios {
    /// Computes the quantiles from price moves.
    ///
    /// A move is its distance beyond the previous close, the predicted USD and the realised USD.
    pub fn new(moves: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let mut by_distance = ENDS.map(|_| Vec::new());
        for (beyond, predicted, realised) in moves.filter(|(_, predicted, _)| *predicted > 0.0) {
            let place = ENDS.iter().position(|end| beyond < *end);
            if let Some(band) = place.and_then(|place| by_distance.get_mut(place)) {
                band.push((realised / predicted, predicted));
            }
        }
        let mut found = Self::default();
        let mut seen: Vec<(f64, f64)> = Vec::new();
        for (factors, band) in found.0.iter_mut().zip(by_distance) {
            if band.len() >= LEAST {
                seen = band;
            } else {
                seen.extend(band);
            }
            if seen.len() >= LEAST {
                *factors = Some(tenths(&mut seen));
            }
        }
        found
    }
}

/// The ratios below and above which 10 % of the weight lie.
fn tenths(seen: &mut [(f64, f64)]) -> [f64; 2] {
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = seen.iter().map(|(_, weight)| weight).sum();
    let below = 0.5 * (1.0 - SHARE);
    let at = |share: f64| {
        let mut left = share * all;
        let found = seen.iter().find(|(_, weight)| {
            left -= weight;
            left <= 0.0
        });
        found.or(seen.last()).map_or(1.0, |(factor, _)| *factor)
    };
    [at(below), at(1.0 - below)]
}

/// Factors that turn an estimate into the ends of its prediction interval, per distance band.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FitInterval {
    /// Share of the past price moves inside the interval, weighted by predicted USD.
    pub share: f64,
    /// End of each band, as a fraction of the price.
    pub ends: Vec<f64>,
    /// Lower and upper factor for longs, per band; `None` without data.
    pub long: Vec<Option<[f64; 2]>>,
    /// Lower and upper factor for shorts, per band; `None` without data.
    pub short: Vec<Option<[f64; 2]>>,
}

/// The factors of a distance without an interval: from 0 to infinity.
const UNBOUNDED: [f64; 2] = [0.0, f64::INFINITY];

impl FitInterval {
    /// The low and the high end of the interval of a cell with an amount of one side.
    ///
    /// `distance` is the distance of the cell from the price on its side, as a share of the price. It is negative on the
    /// other side of the price, where the side has no cells.
    #[must_use]
    pub fn ends(&self, side: Side, distance: f64, usd: f64) -> [f64; 2] {
        let band = self.ends.partition_point(|end| *end <= distance);
        let factors = match side {
            Side::Long => &self.long,
            Side::Short => &self.short,
        };
        let [low, high] = factors.get(band).copied().flatten().unwrap_or(UNBOUNDED);
        let high = if usd != 0.0 {
            usd * high
        } else if distance < 0.0 || high.is_finite() {
            0.0
        } else {
            f64::INFINITY
        };
        [usd * low, high]
    }

    /// The intervals of the bins of a map.
    pub fn of_bins(&self, map: &LiquidationMap) -> BinBounds {
        let mut found = BinBounds::default();
        for bin in &map.bins {
            let above = bin.price / map.current_price - 1.0;
            let distance = match bin.side {
                Side::Long => -above,
                Side::Short => above,
            };
            let [low, high] = self.ends(bin.side, distance, bin.total);
            found.low.push(low);
            found.high.push(high);
        }
        found
    }

    /// Widens the past quantiles by the uncertainty of the fitted shares in each band.
    ///
    /// The interval always contains the estimate.
    pub fn new(past: &[PastRatios; 2], unsure: &[[f64; ENDS.len()]; 2]) -> Self {
        let wide = |past: &PastRatios, unsure: &[f64; ENDS.len()]| {
            let both = past.0.iter().zip(unsure);
            both.map(|(factors, unsure)| {
                let [low, high] = (*factors)?;
                let wider = (DEVIATE * unsure).exp();
                Some([(low / wider).min(1.0), (high * wider).max(1.0)])
            })
            .collect()
        };
        let ([long, short], [unsure_long, unsure_short]) = (past, unsure);
        Self {
            share: SHARE,
            ends: ENDS.to_vec(),
            long: wide(long, unsure_long),
            short: wide(short, unsure_short),
        }
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_predicted_usd_lies_on_each_side() {
        let moves = (0..100).map(|move_| (0.005, 2.0, 2.0 * f64::from(move_)));
        let PastRatios([near, middle, far]) = PastRatios::new(moves);
        assert_eq!(near, Some([9.0, 89.0]));
        // No move reached the other bands, so they use the moves of the nearest band.
        assert_eq!((middle, far), (near, near));
        assert_eq!(PastRatios::new(std::iter::empty()), PastRatios::default());
    }

    #[test]
    fn what_is_not_sure_is_wide() {
        let past = [PastRatios([Some([0.5, 2.0]), None, None]); 2];
        let found = FitInterval::new(&past, &[[0.0; 3], [1.0; 3]]);
        assert_eq!(found.long[0], Some([0.5, 2.0]));
        let [low, high] = found.short[0].unwrap_or_default();
        assert!(low < 0.2 && high > 5.0);
        assert_eq!(found.long[2], None);
    }
}
