//! Liquidations over time: what is asked, and the columns of the answer.

use rust_decimal::Decimal;

use super::columns::Columns;
use crate::api::BadQuery;
use crate::engine::{Grouping, TimelineQuestion};
use crate::model::{Coin, Millis, Pair, PeriodRow, exchange_name, hint_coin};

/// The columns that rows can be grouped by.
const GROUPS: [&str; 4] = ["coin", "symbol", "exchange", "side"];

/// The question of these parameters; a symbol is a pair where it plainly is one, else a coin.
pub(super) fn question(
    symbols: &[String],
    by: &[String],
    (interval, start, end): (i64, i64, i64),
    exchange: Option<&str>,
    min_usd: Option<&str>,
) -> Result<TimelineQuestion, BadQuery> {
    let (mut coins, mut pairs) = (Vec::new(), Vec::new());
    for symbol in symbols {
        let blank = || {
            BadQuery::new(
                "symbol",
                format!("{symbol:?} is blank"),
                "a coin or a trading pair",
            )
        };
        if hint_coin(&symbol.trim().to_uppercase()).is_some() {
            pairs.push(Pair::new(symbol).ok_or_else(blank)?.as_str().to_owned());
        } else {
            coins.push(Coin::new(symbol).ok_or_else(blank)?.to_string());
        }
    }
    let least = min_usd
        .map(|text| {
            Decimal::from_str_exact(text)
                .or_else(|_| Decimal::from_scientific(text))
                .ok()
                .filter(|usd| *usd >= Decimal::ZERO)
                .ok_or_else(|| {
                    let message = format!("{text} is not an amount");
                    BadQuery::new("min_usd", message, "USD from 0 on, of at most 28 digits")
                })
        })
        .transpose()?;
    let is = |name: &str| by.iter().any(|column| column == name);
    Ok(TimelineQuestion {
        start: Millis(start),
        end: Millis(end),
        interval,
        by: Grouping {
            coin: is("coin"),
            symbol: is("symbol"),
            exchange: is("exchange"),
            side: is("side"),
        },
        coins,
        pairs,
        exchange: exchange.map(exchange_name),
        least,
    })
}

/// The rows as columns: the period, what they are grouped by in that order, and the sums.
pub(super) fn columns(rows: Vec<PeriodRow>, by: &[String]) -> Columns {
    let mut columns = Columns::from(rows).keeping(&GROUPS, by);
    for column in &mut columns.columns {
        if column.name != "covered" {
            column.present = None;
        }
    }
    columns
}
