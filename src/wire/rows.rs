//! The replies that are lists of rows.

use serde::Deserializer;

use super::intake::Whole;
use super::number::exact_decimal;
use super::quick::Cursor;
use super::reply::Reply;
use super::token::{Read, object};
use crate::model::{ChartRow, CoinTotals, ExchangeTotals, Millis, Order, Side};

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
trait Row: Sized {
    /// The next row of a plain body; `None` at the first surprise.
    fn quick(_from: &mut Cursor<'_>) -> Option<Self> {
        None
    }
}

impl Row for Order {
    /// The members in the order the contract lists them, decimals as strings.
    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        let order = Self {
            exchange: member(from, b'{', "\"exchange\"")?.to_owned(),
            symbol: member(from, b',', "\"symbol\"")?.to_owned(),
            side: Side::read(member(from, b',', "\"side\"")?)?,
            price: exact_decimal(member(from, b',', "\"price\"")?).ok()?,
            qty: exact_decimal(member(from, b',', "\"qty\"")?).ok()?,
            value_usd: exact_decimal(member(from, b',', "\"value_usd\"")?).ok()?,
            timestamp: {
                name(from, b',', "\"timestamp\"")?;
                Millis(from.whole()?)
            },
        };
        from.take(b'}')?;
        Some(order)
    }
}

/// The quoted name of a member behind `before`, with its colon.
fn name(from: &mut Cursor<'_>, before: u8, quoted: &str) -> Option<()> {
    from.take(before)?;
    from.word(quoted)?;
    from.take(b':')
}

/// A member that is a string.
fn member<'a>(from: &mut Cursor<'a>, before: u8, quoted: &str) -> Option<&'a str> {
    name(from, before, quoted)?;
    from.string()
}

impl Row for ExchangeTotals {}

impl Row for CoinTotals {
    /// The members in the order the contract lists them.
    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        let double = |from: &mut Cursor<'_>, quoted| {
            name(from, b',', quoted)?;
            from.double()
        };
        let coin = member(from, b'{', "\"coin\"")?.to_owned();
        let totals = Self {
            coin,
            long_usd: double(from, "\"long_usd\"")?,
            short_usd: double(from, "\"short_usd\"")?,
            total_usd: double(from, "\"total_usd\"")?,
            cnt: {
                name(from, b',', "\"cnt\"")?;
                u64::try_from(from.whole()?).ok()?
            },
        };
        from.take(b'}')?;
        Some(totals)
    }
}
impl Row for ChartRow {}

/// A list that is `null` is an empty list: some services encode "no rows" so.
impl<T: Row + for<'de> Read<'de>> Reply for Vec<T> {
    type Intake = Whole<Self>;

    fn reply<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::<Self>::read(from).map(Option::unwrap_or_default)
    }

    fn quick(json: &str, enveloped: bool) -> Option<Self> {
        if !enveloped {
            return None;
        }
        let mut from = Cursor::new(json);
        for word in ["{", "\"success\"", ":", "true", ",", "\"data\"", ":", "["] {
            from.word(word)?;
        }
        let mut rows = Self::new();
        loop {
            rows.push(T::quick(&mut from)?);
            if !from.more(b']')? {
                break;
            }
        }
        from.take(b'}')?;
        from.end()?;
        Some(rows)
    }
}
