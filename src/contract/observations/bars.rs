//! `/api/bars`: the price bars from which estimates are computed; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::contract::parameter::Switch;
use crate::contract::time::{Bound, Period};
use crate::model::{ClosedBar, Coin};

endpoint! {
    /// Asks for the price bars of a coin.
    Bars = "bars" at "/api/bars", "price bars of a coin that have closed";
    symbol: Coin = "BTC", "coin";
    start: Option<Bound>, "only bars that open at or after this instant";
    end: Option<Bound>, "only bars that close at or before this instant";
    interval: Option<Period>, "length of the bars; if absent, the stored lengths";
    [extension] running: Option<Switch>, "1 adds the bar of the period that has not ended, if interval is given; its closes_at is before the end of its period";
    => enveloped Vec<ClosedBar>; large
}
