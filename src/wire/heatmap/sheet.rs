//! A decoded heatmap before its cells are put in order.

use super::matrix::Matrix;
use crate::model::{HeatmapGrid, Millis};
use crate::wire::damage::DecodeError;
use crate::wire::token::{AxisInstant, object};

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
}

object!(HeatmapFields, "a heatmap", {
    success, symbol, range, model, updated_at: "updatedAt", current_price: "currentPrice", prices,
    times, matrix,
});

impl HeatmapFields {
    /// Converts to the heatmap, with one row of cells per price level.
    ///
    /// Instants stay in the unit of the body.
    pub(super) fn in_order(self) -> Result<HeatmapGrid, DecodeError> {
        if self.success == Some(false) {
            return Err(DecodeError::at("success", "is false"));
        }
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
        })
    }
}
