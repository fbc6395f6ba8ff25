//! `/api/liquidations/history`: liquidations over time, of any stretch; an extension beside the ten.

use std::fmt;

use rust_decimal::Decimal;

use super::endpoint::endpoint;
use super::parameter::{Exchange, Rule, read};
use super::refusal::BadQuery;
use crate::model::{Millis, PeriodRow, Symbol, Vocabulary, read_span};

endpoint! {
    /// Asks for what was liquidated, period by period.
    History = "history" at "/api/liquidations/history", "what was liquidated, period by period";
    symbol: Option<Symbols>, "coins or trading pairs, such as BTC or BTCUSDT,ETHUSDT; all where absent";
    interval: Period = "1h", "length of a period";
    by: Groups = "coin", "what rows are grouped by, each a column";
    start: Option<At>, "only orders from then on; 24 hours before the end where absent";
    end: Option<At>, "only orders before then; up to and with now where absent";
    exchange: Option<Exchange>, "exchange, such as binance";
    min_usd: Option<Usd>, "only orders of at least so many USD";
    => enveloped Vec<PeriodRow>; large
}

/// What rows of liquidations over time can be grouped by beside the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// By coin.
    Coin,
    /// By trading pair.
    Symbol,
    /// By exchange.
    Exchange,
    /// By side.
    Side,
}

impl Vocabulary for Group {
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

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Coins and trading pairs.
#[derive(Debug)]
pub struct Symbols;

impl Rule for Symbols {
    type Value = Vec<Symbol>;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "a coin such as BTC, a trading pair such as BTCUSDT, or several with commas between them"
            .to_owned()
    }

    fn raw<'a>(_: &'static str, text: Option<&'a str>) -> Result<&'a str, BadQuery> {
        Ok(text.unwrap_or_default())
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

/// Says how text is read as one kind of parameter, and written.
macro_rules! texts {
    ($($(#[$about:meta])* $rule:ident = $value:ty { $allowed:literal; |$text:ident| $read:expr; |$held:ident| $write:expr })+) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub struct $rule;

        impl Rule for $rule {
            type Value = $value;
            type Raw<'a> = &'a str;

            fn allowed() -> String {
                $allowed.to_owned()
            }

            fn raw<'a>(_: &'static str, text: Option<&'a str>) -> Result<&'a str, BadQuery> {
                Ok(text.unwrap_or_default())
            }

            fn check(name: &'static str, $text: &str) -> Result<$value, BadQuery> {
                let read: Option<$value> = $read;
                read.ok_or_else(|| BadQuery::new(name, format!("{:?} is not allowed", $text), Self::allowed()))
            }

            fn text($held: &$value) -> Option<String> {
                Some($write)
            }
        }
    )+};
}

texts! {
    /// A length in milliseconds.
    Period = i64 {
        "whole minutes up to 366 days, such as 5m, 4h or 1d, or milliseconds";
        |text| text
            .parse()
            .ok()
            .or_else(|| read_span(text))
            .filter(|length| (1..=366 * Millis::DAY).contains(length) && length % Millis::MINUTE == 0);
        |length| length.to_string()
    }
    /// Columns, each once; none is written as `none`.
    Groups = Vec<Group> {
        "coin, symbol, exchange and side, several with commas between them, or none";
        |text| if text == "none" {
            Some(Vec::new())
        } else {
            let groups: Option<Vec<Group>> = text.split(',').map(|name| Group::parse(name.trim())).collect();
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
        }
    }
    /// An instant.
    At = Millis {
        "epoch milliseconds, or an ISO 8601 date or time such as 2026-06-11 or 2026-06-11T00:00:00Z";
        |text| Millis::read(text);
        |at| at.0.to_string()
    }
    /// An amount of USD.
    Usd = Decimal {
        "USD from 0 on, of at most 28 digits";
        |text| Decimal::from_str_exact(text)
            .or_else(|_| Decimal::from_scientific(text))
            .ok()
            .filter(|usd| *usd >= Decimal::ZERO);
        |usd| usd.to_string()
    }
}
