//! Details of an estimate beyond the API: heatmap cells by side, and maps on the price grid of the ledger.
//!
//! The ledger is the list of estimated open positions, by liquidation price.

use serde::{Deserialize, Serialize};

use crate::model::FineGrid;

/// The split of each heatmap column into longs and shorts.
///
/// Cells below the split row contain longs, cells above it contain shorts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// Index of the split row, which may contain both sides; -1 if the column has no longs.
    pub row: Vec<i64>,
    /// USD of longs in the split row.
    pub long: Vec<f64>,
    /// USD of shorts in the split row.
    pub short: Vec<f64>,
    /// Last price at the end of the column.
    pub price: Vec<f64>,
}

impl Sides {
    /// Whether all vectors have `columns` entries.
    #[must_use]
    pub fn has(&self, columns: usize) -> bool {
        let lengths = [
            self.row.len(),
            self.long.len(),
            self.short.len(),
            self.price.len(),
        ];
        lengths == [columns; 4]
    }
}

/// USD of a liquidation map, by bin of the ledger's own price grid.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FineCells {
    /// Price of bin 0.
    pub p0: f64,
    /// Width of a bin in log price.
    pub h: f64,
    /// Number of the first bin in `usd`.
    pub first: i64,
    /// Number of the first bin that has no longs.
    pub longs_end: i64,
    /// USD by leverage and bin: all bins of the first leverage, then those of the next.
    pub usd: Vec<f64>,
}

impl FineCells {
    /// The price grid of the bins.
    #[must_use]
    pub fn grid(&self) -> FineGrid {
        FineGrid {
            p0: self.p0,
            h: self.h,
        }
    }

    /// Number of bins per leverage; `None` if the length of `usd` is not a multiple of `leverages`.
    #[must_use]
    pub fn bins(&self, leverages: usize) -> Option<usize> {
        let whole = leverages > 0 && self.usd.len().is_multiple_of(leverages);
        whole.then(|| self.usd.len() / leverages)
    }
}
