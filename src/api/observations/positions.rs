//! `/api/positions`: observed positions of single accounts; an extension of the contract.

use crate::api::endpoint::endpoint;
use crate::model::{Coin, PositionRow};

endpoint! {
    /// Asks for the positions of a coin in the last account snapshot.
    Positions = "positions" at "/api/positions", "positions of single accounts in the last snapshot of them";
    symbol: Coin = "BTC", "coin";
    => enveloped Vec<PositionRow>; large
}
