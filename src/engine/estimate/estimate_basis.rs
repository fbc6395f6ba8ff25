//! What an estimate is based on.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::engine::Parameters;
use crate::engine::estimate::reach::{HeadlineBasis, HeadlineUsd};
use crate::engine::fit::Fit;
use crate::engine::observations::bar_sources::BarCounts;
use crate::engine::observations::known_positions::PositionSnapshot;
use crate::model::{
    Damage, EstimateLabels, EstimateView, ExchangeShare, FineCells, MeasuredExchange, Millis,
    Model, Opened, Sides, Specification, Units, Vocabulary,
};

/// The share of the new positions of an exchange that gets a liquidation price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeShares {
    /// Of longs.
    pub long: f64,
    /// Of shorts.
    pub short: f64,
    /// `measured`, or `not measured` if nothing is known about the exchange and coin.
    pub basis: &'static str,
}

impl ExchangeShares {
    /// The shares of an exchange; 1 if they are unknown.
    #[must_use]
    pub fn of(known: Option<&ExchangeShare>) -> Self {
        let [long, short] = known.map_or([1.0; 2], |known| known.shares);
        Self {
            long,
            short,
            basis: if known.is_some() {
                "measured"
            } else {
                "not measured"
            },
        }
    }
}

/// The known positions of an exchange, and what is left of its interest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeasuredBasis {
    #[serde(skip)]
    pub facts: MeasuredExchange,
    /// Completion time of the snapshot, in epoch milliseconds.
    pub observed_at: i64,
    /// Number of positions.
    pub positions: i64,
    /// Number of accounts.
    pub accounts: i64,
    /// Open interest that the estimate counts for the exchange, in base units; `None` without a reading of its own.
    pub open_interest: Option<f64>,
    /// Quantity of the positions, of longs and of shorts.
    pub quantity: [f64; 2],
    /// Factor of the modelled remainder, of longs and of shorts.
    pub scale: [f64; 2],
    /// Assumed share of the remainder in each tier, of longs and of shorts; `None` if those of the model are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<[Vec<f64>; 2]>,
}

impl MeasuredBasis {
    /// The basis before the interest of the exchange is known.
    pub fn new(
        (exchange, taken): (&str, Millis),
        snapshot: &PositionSnapshot,
        crossed_usd: f64,
    ) -> Self {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let [positions, accounts] = [snapshot.positions, snapshot.accounts].map(count);
        Self {
            facts: MeasuredExchange {
                exchange: exchange.to_owned(),
                observed_at: taken,
                positions,
                accounts,
                long_share: None,
                short_share: None,
                long_scale: 1.0,
                short_scale: 1.0,
                unplaced_usd: snapshot.unplaced_usd,
                crossed_usd,
            },
            observed_at: taken.0,
            positions,
            accounts,
            open_interest: None,
            quantity: snapshot.qty,
            scale: [1.0; 2],
            weights: None,
        }
    }
}

/// An estimate: a reply with its explanation.
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
    /// Close time of the last bar.
    #[serde(skip)]
    pub closed: Millis,
    /// Which positions count.
    #[serde(serialize_with = "as_name")]
    pub opened: Opened,
    /// The start of the time in which these positions were opened.
    #[serde(serialize_with = "as_number")]
    pub opened_since: Millis,
    /// Whether the last column of a heatmap is shorter than the others; `None` if the estimate is no heatmap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// Standard deviation of the log price over a day; `None` with less than a day of bars.
    pub sigma_day: Option<f64>,
    /// Lowest and highest price that a map shows; `None` if it shows all prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<[f64; 2]>,
    /// How the headlines of levels and max pain were chosen; `None` for other estimates.
    #[serde(flatten)]
    pub headlines: Option<HeadlineBasis>,
    /// Number of the API's model with the same view, 2 or 3.
    pub model_number: i64,
    /// The parameters of the model.
    pub model: Specification,
    /// The version of the model: a digest of everything that affects the value of a cell.
    pub model_version: String,
    /// The exchange, if the estimate is limited to one. Open interest and orders are then from this exchange; bars and
    /// volume are from all exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    /// Meaning of the USD figures: open interest (`exposure`), or expected to be liquidated and reported
    /// (`expected`).
    pub view: &'static str,
    /// Leverages of the tiers.
    pub tiers: Vec<f64>,
    /// Share of new positions, and turnover per day, of each clock. A clock is a rate at which positions are closed and
    /// reopened.
    pub clocks: Vec<(f64, f64)>,
    /// Maintenance margin rate of each tier.
    pub maintenance_margins: Vec<f64>,
    /// Assumed share of the open interest in each tier.
    pub weights: Vec<f64>,
    /// USD expected to be liquidated and reported per USD crossed, by tier, for longs and shorts; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<[Vec<f64>; 2]>,
    /// Sums of `theta` over the tiers, for longs and shorts; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa: Option<[f64; 2]>,
    /// The fit from which `theta` was taken, and its data; model 3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Share of the open interest with a known liquidation price at the end, for longs and shorts.
    pub located_share: [f64; 2],
    /// Share of new positions that gets a liquidation price, by exchange of the open interest.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub liquidatable_shares: BTreeMap<String, ExchangeShares>,
    /// The exchanges with positions that are placed exactly.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, MeasuredBasis>,
    /// `usd`, or `relative` if the volume replaces unknown open interest.
    pub open_interest_scale: &'static str,
    /// Age of the last open interest reading at the end, in milliseconds.
    pub open_interest_age_ms: Option<i64>,
    /// Number of bars with open interest that lacks an exchange, because the exchange has no reading of the 15 minutes
    /// before the close.
    pub open_interest_partial_bars: usize,
    /// Number of open interest readings left out as outliers: they left the usual level, and later readings returned to
    /// it, or they moved it further than positions can, so that the change opened and closed none.
    pub open_interest_outliers: usize,
    /// Number of newest readings that left the usual level and cannot be judged yet. They are used.
    pub open_interest_unjudged: usize,
    /// The factor between two levels of open interest, by exchange. Two sources of one exchange that count differently
    /// have such levels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub open_interest_factors: BTreeMap<String, f64>,
    /// Number of bars left out as outliers: their prices left the usual level, and later bars returned to it.
    pub bar_outliers: usize,
    /// Number of newest bars with prices that left the usual level and cannot be judged yet. They are used.
    pub bars_unjudged: usize,
    /// Length of the longest bar used, in milliseconds.
    pub bar_interval_ms: i64,
    /// Number of bars used.
    pub bars: usize,
    /// Number of gaps between bars that are longer than three bar lengths.
    pub gaps: usize,
    /// Number of bars priced by each exchange; empty if the sources of the bars are unknown.
    #[serde(skip_serializing_if = "BarCounts::is_empty")]
    pub price_exchanges: BarCounts,
    /// Number of bars that include the volume of each exchange; empty if the sources are unknown.
    #[serde(skip_serializing_if = "BarCounts::is_empty")]
    pub volume_exchanges: BarCounts,
    /// Number of bar closes with open interest of each exchange. 0 if an exchange has a reading only at the start.
    /// Empty if there are no readings, or readings name no exchange.
    #[serde(skip_serializing_if = "BarCounts::is_empty")]
    pub open_interest_exchanges: BarCounts,
    /// Damaged files with data in the time range of the estimate or of its fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
    /// Per heatmap column, the row that separates longs from shorts.
    #[serde(skip)]
    pub side_boundaries: Vec<SideBoundary>,
    /// The liquidation map on the price grid of the ledger; `None` for other estimates.
    #[serde(skip)]
    pub fine: Option<FineCells>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the derive calls it")]
fn as_number<S: Serializer>(instant: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(instant.0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the derive calls it")]
fn as_name<S: Serializer>(opened: &Opened, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(opened.name())
}

/// The row at which a heatmap column changes from longs to shorts. Rows below it have longs, rows above it have
/// shorts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideBoundary {
    /// The row that may have both longs and shorts, counted from 0; -1 without longs.
    pub row: i64,
    /// USD of longs in this row.
    pub long: f64,
    /// USD of shorts in this row.
    pub short: f64,
    /// Close price at the end of the column.
    pub price: f64,
}

impl SideBoundary {
    /// The boundary of a column that is unknown.
    pub const UNKNOWN: Self = Self {
        row: -1,
        long: 0.0,
        short: 0.0,
        price: f64::NAN,
    };
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

    /// The labels of the estimate; whether the market is simulated is not known here.
    #[must_use]
    pub fn labels(&self) -> EstimateLabels {
        let is_expected = self.model_number == Model::Expected.number();
        EstimateLabels {
            units: Some(if self.is_relative() {
                Units::Relative
            } else {
                Units::Usd
            }),
            view: Some(if is_expected {
                EstimateView::Expected
            } else {
                EstimateView::Exposed
            }),
            simulated: None,
            price_at: Some(self.closed),
            served_by: None,
        }
    }

    /// What the USD of headlines count; `parameters` are those of the estimate.
    #[must_use]
    pub fn counted(&self, parameters: &Parameters) -> HeadlineUsd {
        let is_expected = self.model_number == Model::Expected.number();
        HeadlineUsd {
            view: if is_expected {
                Model::Expected
            } else {
                Model::Exposure
            },
            kappa: parameters.kappa,
        }
    }

    /// Whether USD amounts are relative, because the open interest is unknown.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        self.open_interest_scale == "relative"
    }
}
