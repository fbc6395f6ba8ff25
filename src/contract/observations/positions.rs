//! `/api/positions`: observed trading positions of individual accounts; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::model::{Coin, PositionRow};

endpoint! {
    /// Asks for the trading positions of a coin in the newest snapshot of accounts.
    Positions = "positions" at "/api/positions", "positions of single accounts in the latest snapshot";
    symbol: Coin = "BTC", "coin";
    => enveloped Vec<PositionRow>; large
}
