//! `/api/bars`: the price bars from which estimates are computed; an extension of the contract.

use crate::api::endpoint::endpoint;
use crate::api::time::{Bound, Period};
use crate::model::{ClosedBar, Coin};

endpoint! {
    /// Asks for the price bars of a coin.
    Bars = "bars" at "/api/bars", "price bars of a coin that have closed";
    symbol: Coin = "BTC", "coin";
    start: Option<Bound>, "only bars that opened then or later";
    end: Option<Bound>, "only bars that closed by then";
    interval: Option<Period>, "length of the bars; as they are where absent";
    => enveloped Vec<ClosedBar>; large
}
