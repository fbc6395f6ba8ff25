//! `/api/open-interest`: open-interest readings; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::contract::time::Bound;
use crate::model::{Coin, ObservedOpenInterest};

endpoint! {
    /// Asks for the open-interest readings of a coin.
    OpenInterest = "open_interest" at "/api/open-interest", "readings of a coin's open interest";
    symbol: Coin = "BTC", "coin";
    start: Option<Bound>, "only readings at or after this instant";
    end: Option<Bound>, "only readings before this instant";
    => enveloped Vec<ObservedOpenInterest>; large
}
