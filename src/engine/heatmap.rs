//! The heatmap: the ledger of open positions by liquidation price, column by column.

use super::{EngineError, Estimate, View};
use crate::model::{Heatmap, HeatmapRange, Model};

/// The heatmap of a coin.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars in the range, or too coarse ones.
pub fn heatmap(
    view: &View,
    coin: &str,
    _range: HeatmapRange,
    _model: Model,
) -> Result<Estimate<Heatmap>, EngineError> {
    Err(view.unknown(coin))
}
