//! What an estimate rests on.

use serde::Serialize;

use crate::engine::fit::Fit;
use crate::engine::ledger::parameters::SHOWN;
use crate::engine::observations::bar_sources::Bars;
use crate::model::{Damage, FineCells, FineGrid, Millis, Sides};

/// A reply and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate<T> {
    /// The reply of the contract.
    pub reply: T,
    /// What the contract has no room for.
    pub explain: Explain,
}

/// What an estimate rests on: the model, its parameters, and the age and extent of its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explain {
    /// Close of the last bar.
    #[serde(skip)]
    pub closed: Millis,
    /// Model number, 2 or 3.
    pub model: i64,
    /// The version of the model: a digest of everything that enters a cell.
    pub model_version: String,
    /// The exchange whose ledger it is, where it is of one: its open interest and its orders. Bars and the relative volume
    /// are the coin's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    /// What the USD figures are.
    pub view: &'static str,
    /// Leverages of the ledger's tiers.
    pub tiers: Vec<f64>,
    /// Share of what is opened and turnover a day of each clock.
    pub clocks: Vec<(f64, f64)>,
    /// Maintenance margin rate per tier.
    pub maintenance_margins: Vec<f64>,
    /// Share of the open interest each tier is taken to hold.
    pub weights: Vec<f64>,
    /// USD expected to be reported per USD swept, by tier, of longs and of shorts; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<[Vec<f64>; 2]>,
    /// The sums of theta; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa: Option<[f64; 2]>,
    /// What theta rests on; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Share of the open interest whose liquidation price is known at the end, long and short.
    pub located_share: [f64; 2],
    /// `usd`, or `relative` where open interest is unknown and a multiple of the volume stands in for it.
    pub open_interest_scale: &'static str,
    /// Age of the last reading of open interest at the end, in milliseconds.
    pub open_interest_age_ms: Option<i64>,
    /// Bars used at whose close the open interest was summed over some of its venues only, because the last reading of
    /// another was older than 15 minutes: there the sum falls by what that venue holds.
    pub open_interest_partial_bars: usize,
    /// Length of the longest bar used, in milliseconds.
    pub bar_interval_ms: i64,
    /// Number of bars used.
    pub bars: usize,
    /// Interruptions of more than three bars among them.
    pub gaps: usize,
    /// How many of them have the price of each exchange; empty where it is not known which exchange bars are of.
    #[serde(skip_serializing_if = "Bars::is_empty")]
    pub price_venues: Bars,
    /// How many of them have the volume of each exchange in their sum; empty as `price_venues` is.
    #[serde(skip_serializing_if = "Bars::is_empty")]
    pub volume_venues: Bars,
    /// At the close of how many of them each exchange had part in the open interest; 0 where it had at the start only.
    /// Empty where readings name no exchange, and where there are none.
    #[serde(skip_serializing_if = "Bars::is_empty")]
    pub open_interest_venues: Bars,
    /// Damaged files of the time it rests on, the fit's included: what they held is missing from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
    /// The side of each of a heatmap's cells.
    #[serde(skip)]
    pub parted: Vec<Parting>,
    /// A map on the ledger's own grid.
    #[serde(skip)]
    pub fine: Option<FineMap>,
}

/// Where a column of a heatmap turns from longs to shorts: below a row all are longs, above it all are shorts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parting {
    /// The row that may hold both, counted from 0; -1 where there are no longs.
    pub row: i64,
    /// What it holds of longs.
    pub long: f64,
    /// What it holds of shorts.
    pub short: f64,
    /// The last price at the column's end.
    pub price: f64,
}

/// A map as the ledger has it: USD by bin of the fine grid and shown leverage.
#[derive(Clone, Debug, PartialEq)]
pub struct FineMap {
    /// The grid.
    pub grid: FineGrid,
    /// The bin of the first USD.
    pub first: i64,
    /// The first bin that holds no longs.
    pub longs_end: i64,
    /// USD by shown leverage and bin: all bins of the first leverage, then those of the next.
    pub usd: Vec<f64>,
}

impl FineMap {
    /// How many bins there are.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.usd.len() / SHOWN.len()
    }
}

impl Explain {
    /// Which of a heatmap's cells are longs and which are shorts; none of what is no heatmap.
    #[must_use]
    pub fn sides(&self) -> Option<Sides> {
        let column = |value: fn(&Parting) -> f64| self.parted.iter().map(value).collect();
        (!self.parted.is_empty()).then(|| Sides {
            row: self.parted.iter().map(|parting| parting.row).collect(),
            long: column(|parting| parting.long),
            short: column(|parting| parting.short),
            price: column(|parting| parting.price),
        })
    }

    /// A map on the ledger's own grid; none of what is no map.
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

    /// Whether amounts are none, because open interest is unknown.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        self.open_interest_scale == "relative"
    }
}
