//! The replies that are lists of rows.

use serde::Deserializer;

use super::reply::Reply;
use super::token::{Read, object};
use crate::model::{ChartRow, CoinTotals, ExchangeTotals, Order};

object!(Order, "an order row", {
    exchange: "exchange",
    symbol: "symbol",
    side: "side",
    price: "price",
    qty: "qty",
    value_usd: "value_usd",
    timestamp: "timestamp",
});

object!(ExchangeTotals, "an exchange row", {
    exchange: "exchange",
    long_usd: "long_usd",
    short_usd: "short_usd",
    total_usd: "total_usd",
    cnt: "cnt",
});

object!(CoinTotals, "a coin row", {
    coin: "coin",
    long_usd: "long_usd",
    short_usd: "short_usd",
    total_usd: "total_usd",
    cnt: "cnt",
});

object!(ChartRow, "a chart row", {
    hour: "hour",
    side: "side",
    total_usd: "total_usd",
});

/// A row of a list that is a reply.
trait Row {}

impl Row for Order {}
impl Row for ExchangeTotals {}
impl Row for CoinTotals {}
impl Row for ChartRow {}

/// A list that is `null` is an empty list: some services encode "no rows" so.
impl<T: Row + for<'de> Read<'de>> Reply for Vec<T> {
    fn reply<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::<Self>::read(from).map(Option::unwrap_or_default)
    }
}
