//! What an estimate is based on.

use serde::Serialize;

use crate::engine::fit::Fit;
use crate::engine::ledger::parameters::SHOWN_LEVERAGES;
use crate::engine::observations::bar_sources::BarCounts;
use crate::model::{Damage, FineCells, FineGrid, Millis, Sides};

/// A reply with its explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate<T> {
    /// The reply as the API returns it.
    pub reply: T,
    /// The explanation: details that the reply of the API does not contain.
    pub explain: EstimateBasis,
}

/// What an estimate is based on: model, parameters, and the age and extent of its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateBasis {
    /// Close of the last bar.
    #[serde(skip)]
    pub closed: Millis,
    /// Model number, 2 or 3.
    pub model: i64,
    /// The version of the model: a digest of everything that enters a cell.
    pub model_version: String,
    /// The exchange, if the ledger covers a single one. Open interest and orders are then those of this exchange; bars
    /// and relative volume are those of the coin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    /// What the USD figures are: open interest (`exposure`) or reported liquidations (`expected`).
    pub view: &'static str,
    /// Leverages of the tiers.
    pub tiers: Vec<f64>,
    /// Share of new positions and turnover per day of each clock.
    pub clocks: Vec<(f64, f64)>,
    /// Maintenance margin rate of each tier.
    pub maintenance_margins: Vec<f64>,
    /// Assumed share of the open interest in each tier.
    pub weights: Vec<f64>,
    /// USD expected to be reported per USD crossed, by tier, for longs and shorts; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<[Vec<f64>; 2]>,
    /// Sums of `theta`; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa: Option<[f64; 2]>,
    /// The fit behind `theta` and its data; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Share of the open interest with a known liquidation price at the end, long and short.
    pub located_share: [f64; 2],
    /// `usd`, or `relative` if a multiple of the volume replaces unknown open interest.
    pub open_interest_scale: &'static str,
    /// Age of the last open interest reading at the end, in milliseconds.
    pub open_interest_age_ms: Option<i64>,
    /// Bars that close with an exchange missing from the open interest, because its last reading is older than 15
    /// minutes.
    pub open_interest_partial_bars: usize,
    /// Open interest readings that are left out because they left the level of their neighbours and came back.
    pub open_interest_outliers: usize,
    /// The newest readings, if they left the level: they are used, and cannot be judged yet.
    pub open_interest_unjudged: usize,
    /// Bars that are left out because their prices left the level of their neighbours and came back.
    pub bar_outliers: usize,
    /// The newest bars, if their prices left the level: they are used, and cannot be judged yet.
    pub bars_unjudged: usize,
    /// Length of the longest bar used, in milliseconds.
    pub bar_interval_ms: i64,
    /// Number of bars used.
    pub bars: usize,
    /// Gaps of more than three bar lengths.
    pub gaps: usize,
    /// Number of bars priced by each exchange; empty if the sources of the bars are unknown.
    #[serde(skip_serializing_if = "BarCounts::is_empty")]
    pub price_exchanges: BarCounts,
    /// Number of bars that include the volume of each exchange; empty if the sources are unknown.
    #[serde(skip_serializing_if = "BarCounts::is_empty")]
    pub volume_exchanges: BarCounts,
    /// Number of bar closes with open interest of each exchange; 0 if only at the start. Empty without readings and if
    /// readings name no exchange.
    #[serde(skip_serializing_if = "BarCounts::is_empty")]
    pub open_interest_exchanges: BarCounts,
    /// Damaged files with data in the time range of the estimate, its fit included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
    /// Per heatmap column, the row that separates longs from shorts.
    #[serde(skip)]
    pub side_boundaries: Vec<SideBoundary>,
    /// The map on the grid of the ledger.
    #[serde(skip)]
    pub fine: Option<FineMap>,
}

/// The row at which a heatmap column changes from longs to shorts. Rows below it have longs, rows above it have
/// shorts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideBoundary {
    /// The row that may have both, counted from 0; -1 without longs.
    pub row: i64,
    /// USD of longs in this row.
    pub long: f64,
    /// USD of shorts in this row.
    pub short: f64,
    /// The last price at the column's end.
    pub price: f64,
}

/// A map at the resolution of the ledger: USD by fine bin and shown leverage.
#[derive(Clone, Debug, PartialEq)]
pub struct FineMap {
    /// The price grid.
    pub grid: FineGrid,
    /// The first bin with USD.
    pub first: i64,
    /// The first bin without longs.
    pub longs_end: i64,
    /// USD by leverage, then by bin.
    pub usd: Vec<f64>,
}

impl FineMap {
    /// Number of bins.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.usd.len() / SHOWN_LEVERAGES.len()
    }
}

impl EstimateBasis {
    /// The side of each heatmap cell; `None` if the estimate is no heatmap.
    #[must_use]
    pub fn sides(&self) -> Option<Sides> {
        let column =
            |value: fn(&SideBoundary) -> f64| self.side_boundaries.iter().map(value).collect();
        (!self.side_boundaries.is_empty()).then(|| Sides {
            row: self
                .side_boundaries
                .iter()
                .map(|parting| parting.row)
                .collect(),
            long: column(|parting| parting.long),
            short: column(|parting| parting.short),
            price: column(|parting| parting.price),
        })
    }

    /// The map on the grid of the ledger; `None` if the estimate is no map.
    #[must_use]
    pub fn fine_cells(&self) -> Option<FineCells> {
        let fine = self.fine.as_ref()?;
        Some(FineCells {
            p0: fine.grid.p0,
            h: fine.grid.h,
            first: fine.first,
            longs_end: fine.longs_end,
            usd: fine.usd.clone(),
        })
    }

    /// Whether USD amounts are relative, because the open interest is unknown.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        self.open_interest_scale == "relative"
    }
}
