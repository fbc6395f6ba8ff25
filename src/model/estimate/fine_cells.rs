//! What an estimate tells beside the contract: the sides of a heatmap's cells, and a map on the ledger's own grid.

use serde::{Deserialize, Serialize};

/// Where each column of a heatmap turns from longs to shorts: below a row all are longs, above it all are shorts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// The row that may hold both, counted from 0; -1 where there are no longs.
    pub row: Vec<i64>,
    /// What it holds of longs.
    pub long: Vec<f64>,
    /// What it holds of shorts.
    pub short: Vec<f64>,
    /// The last price at the column's end.
    pub price: Vec<f64>,
}

impl Sides {
    /// Whether they are those of so many columns.
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

/// USD of a map by bin of the ledger's own grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FineCells {
    /// Price of bin 0.
    pub p0: f64,
    /// Width of a bin in log price.
    pub h: f64,
    /// The bin of the first USD.
    pub first: i64,
    /// The first bin that holds no longs.
    pub longs_end: i64,
    /// USD by leverage and bin: all bins of the first leverage, then those of the next.
    pub usd: Vec<f64>,
}

impl FineCells {
    /// How many bins there are, where each of so many leverages has as many.
    #[must_use]
    pub fn bins(&self, leverages: usize) -> Option<usize> {
        let whole = leverages > 0 && self.usd.len().is_multiple_of(leverages);
        whole.then(|| self.usd.len() / leverages)
    }
}
