//! Estimate details beyond the contract: cells by side, and maps on the ledger's grid.

use serde::{Deserialize, Serialize};

/// The split of each heatmap column into longs and shorts.
///
/// Rows below the split row are longs, rows above it are shorts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// The row that may hold both sides, counted from 0; -1 if there are no longs.
    pub row: Vec<i64>,
    /// USD of longs in that row.
    pub long: Vec<f64>,
    /// USD of shorts in that row.
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

/// USD of a map, by bin of the ledger's own grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FineCells {
    /// Price of bin 0.
    pub p0: f64,
    /// Width of a bin in log price.
    pub h: f64,
    /// Number of the first bin in `usd`.
    pub first: i64,
    /// The first bin without longs.
    pub longs_end: i64,
    /// USD by leverage and bin: all bins of the first leverage, then those of the next.
    pub usd: Vec<f64>,
}

impl FineCells {
    /// Number of bins per leverage; `None` if the vector does not divide evenly.
    #[must_use]
    pub fn bins(&self, leverages: usize) -> Option<usize> {
        let whole = leverages > 0 && self.usd.len().is_multiple_of(leverages);
        whole.then(|| self.usd.len() / leverages)
    }
}
