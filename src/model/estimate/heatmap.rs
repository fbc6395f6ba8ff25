//! The heatmap: estimated liquidations over price and time.

use std::fmt;

use crate::model::{ColumnUsd, EstimateLabels, ExactPart, Millis, Vocabulary};

/// How a heatmap weights the estimated positions of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Model 2: the documented weights. Cells are USD of open interest that would be liquidated at that price.
    Exposure,
    /// Model 3: the fitted weights. Cells are USD that are expected to be liquidated and reported.
    Expected,
}

impl Model {
    /// The model number in the API.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::Exposure => 2,
            Self::Expected => 3,
        }
    }
}

impl Vocabulary for Model {
    const ALL: &'static [Self] = &[Self::Exposure, Self::Expected];

    fn name(self) -> &'static str {
        match self {
            Self::Exposure => "2",
            Self::Expected => "3",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A price × time matrix of estimated liquidation intensity.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatmapGrid {
    /// Coin symbol.
    pub symbol: String,
    /// Name of the requested range.
    pub range: String,
    /// Model number, 2 or 3.
    pub model: i64,
    /// Time of the last input of the estimate.
    pub updated_at: Millis,
    /// Current price.
    pub current_price: f64,
    /// Price levels; their number is P.
    pub prices: Vec<f64>,
    /// End times of the columns; their number is T.
    pub times: Vec<Millis>,
    /// P × T cells, row after row; a row is one price level.
    pub matrix: Vec<f64>,
    /// Unit, view, and whether the market is simulated.
    pub labels: EstimateLabels,
    /// USD at prices that the heatmap does not show.
    pub outside: Option<ColumnUsd>,
    /// Length of a column in milliseconds; the last column may be shorter. `None` if the service does not send it.
    pub step: Option<i64>,
    /// Width of a row in log price. `None` if the rows differ in width, or if the service does not send it.
    pub row_step: Option<f64>,
    /// Prices at which rows begin, and at which the last one ends, if the rows differ in width.
    pub edges: Option<Vec<f64>>,
    /// Share of each row of the last column that is positions of accounts, NaN for an empty row; only of a blended
    /// heatmap.
    pub exact_share: Option<Vec<f64>>,
    /// The same of the whole last column; only of a blended heatmap.
    pub exact: Option<ExactPart>,
}

/// Rows are equally wide in log price if each lies this close to its place, as a share of the width.
const EVEN: f64 = 0.02;

impl HeatmapGrid {
    /// The length of most columns, by their ends. `None` for fewer than three columns, because the last may be shorter.
    #[must_use]
    pub fn column_step(ends: &[Millis]) -> Option<i64> {
        let (_, whole) = ends.split_last()?;
        let mut lengths: Vec<i64> = whole
            .windows(2)
            .filter_map(|ends| match ends {
                [start, end] => end.0.checked_sub(start.0),
                _ => None,
            })
            .collect();
        let middle = lengths.len() / 2;
        (!lengths.is_empty()).then(|| *lengths.select_nth_unstable(middle).1)
    }

    /// Derives the length of a column and the edges of the rows that the service did not send.
    pub fn complete(&mut self) {
        if self.step.is_none() {
            self.step = Self::column_step(&self.times);
        }
        if self.row_step.is_none() && self.edges.is_none() {
            self.row_step = even_step(&self.prices);
            if self.row_step.is_none() {
                self.edges = middles(&self.prices);
            }
        }
    }
}

/// The width of rows in log price, if all are equally wide. `None` for fewer than two rows.
fn even_step(prices: &[f64]) -> Option<f64> {
    let (first, last) = (*prices.first()?, *prices.last()?);
    let logs = |price: f64| (price / first).ln();
    #[expect(clippy::cast_precision_loss, reason = "rows are counted in thousands")]
    let step = logs(last) / (prices.len().checked_sub(1).filter(|rows| *rows > 0)?) as f64;
    #[expect(clippy::cast_precision_loss, reason = "rows are counted in thousands")]
    let mut off = prices
        .iter()
        .enumerate()
        .map(|(row, price)| (logs(*price) - row as f64 * step).abs());
    off.all(|off| off < EVEN * step).then_some(step)
}

/// The edges of rows halfway between their prices. `None` for fewer than two rows.
fn middles(prices: &[f64]) -> Option<Vec<f64>> {
    let ([first, ..], [.., last]) = (prices, prices) else {
        return None;
    };
    let between = prices.windows(2).filter_map(|prices| match prices {
        [low, high] => Some(f64::midpoint(*low, *high)),
        _ => None,
    });
    let between: Vec<f64> = between.collect();
    let (lowest, highest) = (between.first()?, between.last()?);
    let start = (2.0 * first - lowest).max(first / 2.0);
    let end = 2.0 * last - highest;
    Some([&[start], between.as_slice(), &[end]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_column_does_not_depend_on_the_last_one() {
        let step = |ends: &[i64]| {
            let ends: Vec<Millis> = ends.iter().copied().map(Millis).collect();
            HeatmapGrid::column_step(&ends)
        };
        assert_eq!(step(&[600, 1_200, 1_300]), Some(600));
        assert_eq!(step(&[600, 1_200, 3_000, 3_600, 4_200]), Some(600));
        assert_eq!(step(&[600, 700]), None);
        assert_eq!(step(&[600]), None);
        assert_eq!(step(&[]), None);
    }

    #[test]
    fn rows_are_even_in_log_price_or_have_edges() {
        let prices: Vec<f64> = (0..4)
            .map(|row| 99.0 * (f64::from(row) * 0.01).exp())
            .collect();
        assert!((even_step(&prices).unwrap_or_default() - 0.01).abs() < 1e-12);
        let prices = [1900.0, 1950.0, 2100.0, 2300.0];
        assert_eq!(even_step(&prices), None);
        assert_eq!(
            middles(&prices),
            Some(vec![1875.0, 1925.0, 2025.0, 2200.0, 2400.0])
        );
        assert_eq!((even_step(&[1.0]), middles(&[1.0])), (None, None));
        assert_eq!((even_step(&[]), middles(&[])), (None, None));
        // The first row does not reach below half of its price.
        assert_eq!(middles(&[1.0, 9.0]), Some(vec![0.5, 5.0, 13.0]));
    }
}
