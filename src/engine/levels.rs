//! Key levels: the strongest cluster per tier and side of the seven-day map.

use super::{EngineError, Estimate, View};
use crate::model::Levels;

/// The key liquidation levels of a coin.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars in the range, or too coarse ones.
pub fn levels(view: &View, coin: &str) -> Result<Estimate<Levels>, EngineError> {
    Err(view.unknown(coin))
}
