//! The replies that are lists of rows.

use super::damage::Damage;
use super::quick::Cursor;
use super::reply::Reply;
use super::token::{Read, object};
use crate::model::{ChartRow, CoinTotals, ExchangeTotals, Order, OrderColumns};

object!(Order, "an order row", { exchange, symbol, side, price, qty, value_usd, timestamp });

object!(ExchangeTotals, "an exchange row", { exchange, long_usd, short_usd, total_usd, cnt });

object!(CoinTotals, "a coin row", { coin, long_usd, short_usd, total_usd, cnt });

object!(ChartRow, "a chart row", { hour, side, total_usd });

/// A row of a list that is a reply.
trait Row: Sized {
    /// All rows of a plain body; `None` at the first surprise.
    fn quick(_body: &[u8]) -> Option<Vec<Self>> {
        None
    }
}

impl Row for Order {
    fn quick(body: &[u8]) -> Option<Vec<Self>> {
        OrderColumns::quick(body, true).map(|columns| columns.iter().collect())
    }
}

impl Row for ExchangeTotals {}

impl Row for CoinTotals {
    /// The members in the order the contract lists them.
    fn quick(body: &[u8]) -> Option<Vec<Self>> {
        let mut rows = Vec::new();
        Cursor::of(body).rows(|from| {
            rows.push(coin(from)?);
            Some(())
        })?;
        Some(rows)
    }
}

impl Row for ChartRow {}

fn coin(from: &mut Cursor<'_>) -> Option<CoinTotals> {
    let name = |from: &mut Cursor<'_>, before, quoted| {
        from.take(before)?;
        from.word(quoted)?;
        from.take(b':')
    };
    name(from, b'{', "\"coin\"")?;
    let coin = from.string()?.to_owned();
    let double = |from: &mut Cursor<'_>, quoted| {
        name(from, b',', quoted)?;
        from.double()
    };
    let totals = CoinTotals {
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

/// A list that is `null` is an empty list: some services encode "no rows" so.
impl<T: Row + for<'de> Read<'de>> Reply for Vec<T> {
    type Sheet = Option<Self>;

    fn of(sheet: Option<Self>) -> Result<Self, Damage> {
        Ok(sheet.unwrap_or_default())
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        if enveloped { T::quick(body) } else { None }
    }
}
