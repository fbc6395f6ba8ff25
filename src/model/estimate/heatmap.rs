//! The heatmap: estimated liquidations over price and time.

use std::fmt;

use crate::model::{ColumnUsd, EstimateLabels, Millis, Vocabulary};

/// How a heatmap weights the estimated positions of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// Model 2: the documented weights. Cells are USD of open interest that would be liquidated at that price.
    Exposure,
    /// Model 3: the fitted weights. Cells are USD that are expected to be reported as liquidated.
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
}
