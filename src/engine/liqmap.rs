//! The liquidation map: the last state of the ledger by price, side and tier.

use super::{EngineError, Estimate, View};
use crate::model::{LiquidationMap, MapRange};

/// The liquidation map of a coin.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars in the range, or too coarse ones.
pub fn liqmap(
    view: &View,
    coin: &str,
    _range: MapRange,
) -> Result<Estimate<LiquidationMap>, EngineError> {
    Err(view.unknown(coin))
}
