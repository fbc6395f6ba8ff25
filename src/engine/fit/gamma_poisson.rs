//! Gamma–Poisson regression: posterior modes of non-negative term weights.
//!
//! Amounts are treated as Poisson counts of events of mean size. The estimate is consistent if the mean is modelled
//! correctly, whatever the distribution. The weights `u` have prior mean 1 and maximise `Σ g (y log xu − xu) + ν Σ (log
//! u − u)`. Here `x` are the terms of a row, `y` is its amount, `g` is its weight, and `ν` is the weight of the prior.
//! The problem is concave. Newton's method with bounded steps leaves `u` above zero and finds the only maximum.

/// Maximum number of Newton steps, and of halvings of one step.
const STEPS: usize = 100;

/// Newton's method stops when the predicted gain of a step is below this.
const CLOSE: f64 = 1e-9;

/// Fitted weights, and the amount of data that supports each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermWeights {
    /// Weight of each term, as a multiple of its prior mean.
    pub over_prior: Vec<f64>,
    /// Effective sample size of each term: the events that it explains, plus the weight of the prior.
    pub events: Vec<f64>,
}

/// Regression rows: terms scaled by their prior means, amount in events, and row weight.
#[derive(Clone, Debug, Default)]
pub struct TermRows {
    terms: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    counts: Vec<f64>,
}

impl TermRows {
    pub fn new(terms: usize) -> Self {
        Self {
            terms,
            ..Self::default()
        }
    }

    /// Adds a row. The fit ignores rows without a term above zero.
    pub fn push(&mut self, x: impl Iterator<Item = f64>, y: f64, counts: f64) {
        self.x.extend(x);
        self.y.push(y);
        self.counts.push(counts);
    }

    fn each(&self) -> impl Iterator<Item = (&[f64], f64, f64)> {
        self.x
            .chunks_exact(self.terms.max(1))
            .zip(self.y.iter().zip(&self.counts))
            .map(|(x, (y, counts))| (x, *y, *counts))
            .filter(|(x, ..)| x.iter().any(|x| *x > 0.0))
    }

    /// Fits the weights. `near` is the starting point on entry and the result on return.
    pub fn fit(&self, nu: f64, near: &mut Vec<f64>) -> TermWeights {
        let terms = self.terms;
        let mut sums = vec![0.0; terms];
        for (x, _, counts) in self.each() {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum += counts * x;
            }
        }
        let value = |u: &[f64]| {
            let likelihood: f64 = self
                .each()
                .filter(|(_, y, _)| *y > 0.0)
                .map(|(x, y, counts)| counts * y * dot(x, u).ln())
                .sum();
            let prior: f64 = u.iter().map(|u| u.ln() - u).sum();
            likelihood - dot(&sums, u) + nu * prior
        };
        let mut u = std::mem::take(near);
        u.resize(terms, 1.0);
        let mut best = value(&u);
        for _ in 0..STEPS {
            let mut bend = vec![0.0; terms * terms];
            let mut slope = vec![0.0; terms];
            for (x, y, counts) in self.each().filter(|(_, y, _)| *y > 0.0) {
                let expected = dot(x, &u);
                let ratio = counts * y / expected;
                let curve = ratio / expected;
                for (place, (slope, a)) in slope.iter_mut().zip(x).enumerate() {
                    *slope += ratio * a;
                    let weighed = curve * a;
                    let row = bend.iter_mut().skip(place * terms).take(place + 1);
                    for (bend, b) in row.zip(x) {
                        *bend += weighed * b;
                    }
                }
            }
            for (place, ((slope, sum), u)) in slope.iter_mut().zip(&sums).zip(&u).enumerate() {
                *slope += nu * (1.0 / u - 1.0) - sum;
                if let Some(diagonal) = bend.get_mut(place * terms + place) {
                    *diagonal += nu / (u * u);
                }
            }
            let step = solve(&mut bend, &slope);
            if dot(&slope, &step) < CLOSE {
                let there: Vec<f64> = u.iter().zip(&step).map(|(u, d)| u + d).collect();
                if there.iter().all(|u| *u > 0.0) {
                    u = there;
                }
                break;
            }
            let room = u.iter().zip(&step).filter(|(_, step)| **step < 0.0);
            let mut length = room.map(|(u, step)| -0.95 * u / step).fold(1.0, f64::min);
            let reached = (0..STEPS).find_map(|_| {
                let there: Vec<f64> = u.iter().zip(&step).map(|(u, d)| u + length * d).collect();
                length /= 2.0;
                let value = value(&there);
                (value >= best).then_some((there, value))
            });
            let Some((there, value)) = reached else { break };
            (u, best) = (there, value);
        }
        let mut events = vec![nu; terms];
        for (x, y, counts) in self.each().filter(|(_, y, _)| *y > 0.0) {
            let events_of_one = counts * y / dot(x, &u);
            for (events, (x, u)) in events.iter_mut().zip(x.iter().zip(&u)) {
                *events += events_of_one * x * u;
            }
        }
        near.clone_from(&u);
        TermWeights {
            over_prior: u,
            events,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves `bend · step = slope` by Cholesky decomposition.
///
/// `bend` must be positive definite. Only its lower triangle is read, and it is overwritten.
fn solve(bend: &mut [f64], slope: &[f64]) -> Vec<f64> {
    let n = slope.len();
    let at = |row: usize, column: usize| row * n + column;
    let get = |of: &[f64], place: usize| of.get(place).copied().unwrap_or(0.0);
    for row in 0..n {
        for column in 0..=row {
            let done: f64 = (0..column)
                .map(|k| get(bend, at(row, k)) * get(bend, at(column, k)))
                .sum();
            let left = get(bend, at(row, column)) - done;
            let value = if row == column {
                left.max(f64::MIN_POSITIVE).sqrt()
            } else {
                left / get(bend, at(column, column))
            };
            if let Some(cell) = bend.get_mut(at(row, column)) {
                *cell = value;
            }
        }
    }
    let mut found = slope.to_vec();
    for row in 0..n {
        let done: f64 = (0..row)
            .map(|k| get(bend, at(row, k)) * get(&found, k))
            .sum();
        if let Some(cell) = found.get_mut(row) {
            *cell = (*cell - done) / get(bend, at(row, row));
        }
    }
    for row in (0..n).rev() {
        let done: f64 = (row + 1..n)
            .map(|k| get(bend, at(k, row)) * get(&found, k))
            .sum();
        if let Some(cell) = found.get_mut(row) {
            *cell = (*cell - done) / get(bend, at(row, row));
        }
    }
    found
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The gradient is zero at the maximum: `Σ g y x / xu − Σ g x + ν (1/u − 1) = 0`.
        #[test]
        fn no_other_weights_are_likelier(
            rows in proptest::collection::vec((proptest::collection::vec(0.0..3.0_f64, 3), 0.0..5.0_f64, 0.1..1.0_f64), 1..60),
            nu in 0.5..4.0_f64,
        ) {
            let mut given = TermRows::new(3);
            for (x, y, counts) in &rows {
                given.push(x.iter().copied(), *y, *counts);
            }
            let found = given.fit(nu, &mut vec![0.3, 4.0]);
            for term in 0..3 {
                let likelihood: f64 = rows
                    .iter()
                    .filter(|(x, ..)| x.iter().any(|x| *x > 0.0))
                    .map(|(x, y, counts)| {
                        counts * (y / dot(x, &found.over_prior) - 1.0) * x[term]
                    })
                    .sum();
                let u = found.over_prior[term];
                prop_assert!((likelihood + nu * (1.0 / u - 1.0)).abs() < 1e-3, "{likelihood} {u}");
                prop_assert!(u > 0.0);
            }
            // The events of all terms sum to the events of all rows plus the prior weights.
            let events: f64 = found.events.iter().sum();
            let all: f64 = rows
                .iter()
                .filter(|(x, ..)| x.iter().any(|x| *x > 0.0))
                .map(|(_, y, counts)| y * counts)
                .sum();
            prop_assert!((events - all - 3.0 * nu).abs() < 1e-9 * (1.0 + all));
        }
    }

    #[test]
    fn a_term_that_was_never_met_keeps_its_prior() {
        let mut rows = TermRows::new(2);
        for _ in 0..1000 {
            rows.push([1.0, 0.0].into_iter(), 4.0, 1.0);
        }
        let found = rows.fit(2.0, &mut Vec::new());
        assert!((found.over_prior[0] - 4.0).abs() < 0.02, "{found:?}");
        assert!((found.over_prior[1] - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.events[1] - 2.0).abs() < 1e-9);
    }
}
