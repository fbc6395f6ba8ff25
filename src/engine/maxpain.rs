//! Max pain: the strongest cluster per side of the one-day and the seven-day map.

use super::{EngineError, Estimate, View};
use crate::model::MaxPain;

/// The max pain of a coin.
///
/// # Errors
///
/// [`EngineError`] where the coin has no bars in the range, or too coarse ones.
pub fn maxpain(view: &View, coin: &str) -> Result<Estimate<MaxPain>, EngineError> {
    Err(view.unknown(coin))
}
