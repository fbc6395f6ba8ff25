//! `/api/liquidations/history`: liquidation totals per period over any time range; an extension of the contract.

use std::fmt;

use rust_decimal::Decimal;

use crate::contract::argument::Argument;
use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, Rule, Switch, read, text_of};
use crate::contract::refusal::BadQuery;
use crate::contract::time::{Bound, Period, words};
use crate::model::{PeriodRow, Symbol, Vocabulary};

endpoint! {
    /// Asks for liquidation totals per period.
    History = "history" at "/api/liquidations/history", "liquidated USD by period";
    symbol: Option<SymbolList>, "coins or trading pairs, such as BTC or BTCUSDT,ETHUSDT; if absent, all";
    interval: Period = "1h", "length of a period";
    by: GroupBy = "coin", "grouping columns of the rows; none for totals";
    start: Option<Bound>, "only orders at or after this instant; if absent, 24 hours before the end";
    end: Option<Bound>, "only orders before this instant; if absent, up to and including now";
    exchange: Option<Exchange>, "exchange, such as binance";
    min_usd: Option<UsdAmount>, "only orders of at least this many USD";
    [extension] sparse: Option<Switch>, "1 leaves out periods without orders";
    => enveloped Vec<PeriodRow>; large
}

/// A column by which the totals of a period are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupColumn {
    /// Groups by coin.
    Coin,
    /// Groups by trading pair.
    Symbol,
    /// Groups by exchange.
    Exchange,
    /// Groups by side of the liquidated position.
    Side,
}

impl Vocabulary for GroupColumn {
    const ALL: &'static [Self] = &[Self::Coin, Self::Symbol, Self::Exchange, Self::Side];

    fn name(self) -> &'static str {
        match self {
            Self::Coin => "coin",
            Self::Symbol => "symbol",
            Self::Exchange => "exchange",
            Self::Side => "side",
        }
    }
}

impl fmt::Display for GroupColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rule for a comma-separated list of coins and trading pairs.
#[derive(Debug)]
pub struct SymbolList;

impl Rule for SymbolList {
    type Value = Vec<Symbol>;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "a coin such as BTC, a trading pair such as BTCUSDT, or several with commas between them"
            .to_owned()
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<Vec<Symbol>, BadQuery> {
        let symbols = text.split(',');
        symbols
            .map(|symbol| read(name, symbol, &Self::allowed()))
            .collect()
    }

    fn text(symbols: &Vec<Symbol>) -> Option<String> {
        let names: Vec<&str> = symbols.iter().map(Symbol::name).collect();
        Some(names.join(","))
    }
}

words! {
    /// Rule for a list of distinct group columns; the text `none` stands for the empty list.
    GroupBy = Vec<GroupColumn> {
        "coin, symbol, exchange and side, several with commas between them, or none";
        |text| if text == "none" {
            Some(Vec::new())
        } else {
            let groups: Option<Vec<GroupColumn>> = text.split(',').map(|name| GroupColumn::parse(name.trim())).collect();
            groups.filter(|groups| {
                let mut rest = groups.as_slice();
                std::iter::from_fn(|| rest.split_first().map(|(group, others)| {
                    rest = others;
                    !others.contains(group)
                }))
                .all(|alone| alone)
            })
        };
        |groups| if groups.is_empty() {
            "none".to_owned()
        } else {
            groups.iter().map(|group| group.name()).collect::<Vec<_>>().join(",")
        };
        {
            "type": "string",
            "pattern": r"^(none|(?!.*\b(\w+)\b.*,\2(,|$))(coin|symbol|exchange|side)(,(coin|symbol|exchange|side)){0,3})$",
        }
    }
    /// Rule for a non-negative amount in USD.
    UsdAmount = Decimal {
        "USD from 0 on, of at most 28 digits";
        |text| Decimal::from_str_exact(text)
            .or_else(|_| Decimal::from_scientific(text))
            .ok()
            .filter(|usd| *usd >= Decimal::ZERO);
        |usd| usd.to_string();
        {"type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,12})?$"}
    }
}
