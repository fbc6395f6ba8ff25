//! `/api/positions`: positions of single accounts as they were seen; an extension beside the ten.

use crate::api::endpoint::endpoint;
use crate::model::{Coin, PositionRow};

endpoint! {
    /// Asks for the positions of a coin in the last snapshot of single accounts.
    Positions = "positions" at "/api/positions", "positions of single accounts in the last snapshot of them";
    symbol: Coin = "BTC", "coin";
    => enveloped Vec<PositionRow>; large
}
