//! A decoded heatmap before its cells are put in order.

use super::matrix::Matrix;
use crate::contract::decode::damage::DecodeError;
use crate::contract::decode::token::{AxisInstant, CellToken, object};
use crate::model::{ColumnUsd, EstimateLabels, HeatmapGrid, Millis};

/// The members of a heatmap reply.
#[derive(Debug)]
pub struct HeatmapFields {
    pub(super) success: Option<bool>,
    pub(super) symbol: String,
    pub(super) range: String,
    pub(super) model: i64,
    pub(super) updated_at: Millis,
    pub(super) current_price: f64,
    pub(super) prices: Vec<f64>,
    pub(super) times: Vec<AxisInstant>,
    pub(super) matrix: Matrix,
    pub(super) units: Option<String>,
    pub(super) view: Option<String>,
    pub(super) simulated: Option<bool>,
    pub(super) source: Option<String>,
    pub(super) recorded_at: Option<Millis>,
    pub(super) outside: Option<Outside>,
}

object!(HeatmapFields, "a heatmap", {
    success, symbol, range, model, updated_at: "updatedAt", current_price: "currentPrice", prices,
    times, matrix, units, view, simulated, source, recorded_at: "recordedAt", outside,
});

/// USD at prices that the heatmap does not show; empty cells are unknown.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) long_usd: Vec<CellToken>,
    pub(super) short_usd: Vec<CellToken>,
}

object!(Outside, "the USD outside of a heatmap", { long_usd, short_usd });

impl Outside {
    pub(super) fn in_columns(self, columns: usize) -> Result<ColumnUsd, DecodeError> {
        for (name, cells) in [("long_usd", &self.long_usd), ("short_usd", &self.short_usd)] {
            if cells.len() != columns {
                let message = format!("has {} values; there are {columns} times", cells.len());
                return Err(DecodeError::at(name, message).below("outside"));
            }
        }
        let values = |cells: Vec<CellToken>| cells.into_iter().map(|CellToken(usd)| usd).collect();
        Ok(ColumnUsd {
            long_usd: values(self.long_usd),
            short_usd: values(self.short_usd),
        })
    }
}

impl HeatmapFields {
    /// Converts to the heatmap, with one row of cells per price level.
    ///
    /// Instants stay in the unit of the body.
    pub(super) fn in_order(self) -> Result<HeatmapGrid, DecodeError> {
        if self.success == Some(false) {
            return Err(DecodeError::at("success", "is false"));
        }
        let columns = self.times.len();
        let outside = self.outside.map(|outside| outside.in_columns(columns));
        let matrix = self.matrix.in_order(self.prices.len(), self.times.len());
        Ok(HeatmapGrid {
            symbol: self.symbol,
            range: self.range,
            model: self.model,
            updated_at: self.updated_at,
            current_price: self.current_price,
            prices: self.prices,
            times: self.times.into_iter().map(|AxisInstant(at)| at).collect(),
            matrix: matrix.map_err(|damage| damage.below("matrix"))?,
            labels: EstimateLabels::parse(
                self.units.as_deref(),
                self.view.as_deref(),
                self.simulated,
            )
            .served_by(self.source, self.recorded_at),
            outside: outside.transpose()?,
        })
    }
}
