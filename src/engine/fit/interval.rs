//! The interval of an estimate: between what and what it lay that was then realised, by distance from the price.

use serde::Serialize;

use crate::model::Millis;

/// The past that an interval is taken from.
pub(super) const SPAN: i64 = 90 * Millis::DAY;

/// The interval holds so large a share of what was realised.
pub(super) const SHARE: f64 = 0.8;

/// The normal deviate that leaves a tenth on each side.
const DEVIATE: f64 = 1.281_551_565_544_6;

/// Ends of the distances from the price, as shares of it; beyond the last nothing is validated.
pub(super) const ENDS: [f64; 3] = [0.01, 0.02, 0.05];

/// A distance that was come to less often is told from what is nearer, too.
const LEAST: usize = 30;

/// What was realised over what had been told, by distance: the factors that leave a tenth of what was told below them,
/// and above them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Past([Option<[f64; 2]>; ENDS.len()]);

impl Past {
    /// Of moves so far beyond the close before, what was told of them, and what they brought.
    pub(super) fn new(moves: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let mut by_distance = ENDS.map(|_| Vec::new());
        for (beyond, told, realised) in moves.filter(|(_, told, _)| *told > 0.0) {
            let place = ENDS.iter().position(|end| beyond < *end);
            if let Some(band) = place.and_then(|place| by_distance.get_mut(place)) {
                band.push((realised / told, told));
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

/// The factors that a tenth of the weight lies below, and above.
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

/// By distance from the price, the factors that take what a map tells to the ends of its interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Interval {
    /// The share of what was realised that lay within it.
    pub share: f64,
    /// Where each distance ends, as a share of the price.
    pub ends: Vec<f64>,
    /// Of longs, below and above; none where nothing is known, and beyond the last.
    pub long: Vec<Option<[f64; 2]>>,
    /// Of shorts.
    pub short: Vec<Option<[f64; 2]>>,
}

impl Interval {
    /// What the past shows, made wider by how unsure the weights are of what lies in each distance of this map; what is
    /// told always lies within it.
    pub(super) fn new(past: &[Past; 2], unsure: &[[f64; ENDS.len()]; 2]) -> Self {
        let wide = |past: &Past, unsure: &[f64; ENDS.len()]| {
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
    fn a_tenth_of_what_was_told_lies_on_each_side() {
        let moves = (0..100).map(|move_| (0.005, 2.0, 2.0 * f64::from(move_)));
        let Past([near, middle, far]) = Past::new(moves);
        assert_eq!(near, Some([9.0, 89.0]));
        // Nothing went farther: what is nearer has to serve.
        assert_eq!((middle, far), (near, near));
        assert_eq!(Past::new(std::iter::empty()), Past::default());
    }

    #[test]
    fn what_is_not_sure_is_wide() {
        let past = [Past([Some([0.5, 2.0]), None, None]); 2];
        let found = Interval::new(&past, &[[0.0; 3], [1.0; 3]]);
        assert_eq!(found.long[0], Some([0.5, 2.0]));
        let [low, high] = found.short[0].unwrap_or_default();
        assert!(low < 0.2 && high > 5.0);
        assert_eq!(found.long[2], None);
    }
}
