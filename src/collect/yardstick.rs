//! What orders are measured by: the last closed price of each coin, and how much of it is open; the prices of orders on the
//! other venues, where no bars of a coin are collected.
//!
//! A row that is somewhat off is kept all the same, with the message it was read from, and counted. One that is so far off
//! that its unit must be another is set aside and counted: a cascade moves a price by half, a wrong unit by ten times.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rust_decimal::Decimal;

use crate::archive::OrderRow;
use crate::feeds::price_of_one;
use crate::model::{Millis, coin_of_base, quote_of_pair};

/// Readings older than this measure nothing.
const FRESH: i64 = 15 * Millis::MINUTE;
/// How far off the market a price may be, as a part of it.
const OFF: Decimal = Decimal::from_parts(2, 0, 0, false, 1);
/// How many times the market's price no price can be, or the other way round.
const TIMES: Decimal = Decimal::from_parts(5, 0, 0, false, 0);
/// How many other venues have to be of one mind before an order is set aside for it.
const WITNESSES: usize = 2;
/// Which part of the open interest one order may be.
const PART: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

#[derive(Clone, Copy, Debug)]
struct Read {
    at: Millis,
    value: Decimal,
}

#[derive(Debug, Default)]
struct Coin {
    close: Option<Read>,
    /// The last prices of orders, by venue.
    prices: HashMap<&'static str, Read>,
    open_interest: HashMap<&'static str, Read>,
}

/// Why an order is doubted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It looks wrong.
    Suspect(String),
    /// It cannot be: its unit must be another.
    Impossible(String),
}

/// The measures of all coins.
#[derive(Debug, Default)]
pub(super) struct Yardstick {
    coins: Mutex<HashMap<String, Coin>>,
}

impl Yardstick {
    fn change(&self, coin: &str, change: impl FnOnce(&mut Coin)) {
        let mut coins = self.coins.lock().unwrap_or_else(PoisonError::into_inner);
        change(coins.entry(coin.to_owned()).or_default());
    }

    /// Learns the close of a bar.
    pub(super) fn close(&self, coin: &str, at: Millis, value: Decimal) {
        self.change(coin, |coin| {
            if coin.close.is_none_or(|known| known.at < at) {
                coin.close = Some(Read { at, value });
            }
        });
    }

    /// Learns the open interest on a venue.
    pub(super) fn open_interest(
        &self,
        coin: &str,
        exchange: &'static str,
        at: Millis,
        value: Decimal,
    ) {
        self.change(coin, |coin| {
            let known = coin
                .open_interest
                .entry(exchange)
                .or_insert(Read { at, value });
            if known.at < at {
                *known = Read { at, value };
            }
        });
    }

    /// Why a row cannot be right, by when it was received; see [`Yardstick::doubt`].
    pub(super) fn doubt_row(&self, exchange: &'static str, row: &OrderRow) -> Option<Doubt> {
        let symbol = &row.order.symbol;
        let base = symbol.strip_suffix(quote_of_pair(symbol).unwrap_or_default());
        let (_, scale) = coin_of_base(base.unwrap_or(symbol));
        let price = price_of_one(row.order.price, scale)?;
        self.doubt(
            &row.coin,
            exchange,
            price,
            row.order.value_usd,
            row.received_at,
        )
    }

    /// Why an order cannot be right: its price, of a single coin, or its value. What is not impossible measures those of the
    /// other venues.
    pub(super) fn doubt(
        &self,
        coin: &str,
        exchange: &'static str,
        price: Decimal,
        value_usd: Decimal,
        now: Millis,
    ) -> Option<Doubt> {
        let mut coins = self.coins.lock().unwrap_or_else(PoisonError::into_inner);
        if !coins.contains_key(coin) {
            coins.insert(coin.to_owned(), Coin::default());
        }
        let coin = coins.get_mut(coin)?;
        let doubt = coin.doubt(exchange, price, value_usd, now);
        if !matches!(doubt, Some(Doubt::Impossible(_))) {
            coin.prices.insert(
                exchange,
                Read {
                    at: now,
                    value: price,
                },
            );
        }
        doubt
    }
}

fn is_fresh(read: &Read, now: Millis) -> bool {
    read.at >= now.back(FRESH)
}

/// Whether two prices are so far apart that they cannot be of the same unit.
fn is_of_another_unit(a: Decimal, b: Decimal) -> bool {
    let times = a.min(b).checked_mul(TIMES);
    times.is_some_and(|times| times < a.max(b))
}

impl Coin {
    /// The market's price, where it comes from, and how many are of that mind.
    fn market(&self, exchange: &str, now: Millis) -> Option<(Decimal, &'static str, usize)> {
        if let Some(close) = self.close.filter(|read| is_fresh(read, now)) {
            return Some((close.value, "the market's", WITNESSES));
        }
        let others = self.prices.iter().filter(|(name, _)| **name != exchange);
        let others = others.filter(|(_, read)| is_fresh(read, now));
        let mut others: Vec<Decimal> = others.map(|(_, read)| read.value).collect();
        others.sort_unstable();
        let middle = others.get(others.len() / 2).copied()?;
        let agree = others
            .iter()
            .filter(|price| !is_of_another_unit(**price, middle));
        Some((middle, "the other venues'", agree.count()))
    }

    fn doubt(
        &self,
        exchange: &str,
        price: Decimal,
        value_usd: Decimal,
        now: Millis,
    ) -> Option<Doubt> {
        let (market, whose, witnesses) = self.market(exchange, now)?;
        if is_of_another_unit(price, market) {
            let why = format!("its price {price} is more than five times off {whose} {market}");
            return Some(if witnesses >= WITNESSES {
                Doubt::Impossible(why)
            } else {
                Doubt::Suspect(why)
            });
        }
        let off = market.checked_mul(OFF)?;
        if price.checked_sub(market)?.abs() > off {
            return Some(Doubt::Suspect(format!(
                "its price {price} is more than 20 % off {whose} {market}"
            )));
        }
        let mut open = self
            .open_interest
            .values()
            .filter(|read| is_fresh(read, now))
            .map(|read| read.value)
            .peekable();
        open.peek()?;
        let open = open.try_fold(Decimal::ZERO, Decimal::checked_add)?;
        let open_usd = open.checked_mul(market)?;
        if value_usd > open_usd {
            return Some(Doubt::Impossible(format!(
                "its {value_usd} USD are more than the {open_usd} USD that are open"
            )));
        }
        (value_usd > open_usd.checked_mul(PART)?).then(|| {
            Doubt::Suspect(format!(
                "its {value_usd} USD are more than 5 % of the {open_usd} USD that are open"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspected(doubt: Option<Doubt>, part: &str) -> bool {
        matches!(doubt, Some(Doubt::Suspect(why)) if why.contains(part))
    }

    fn impossible(doubt: Option<Doubt>, part: &str) -> bool {
        matches!(doubt, Some(Doubt::Impossible(why)) if why.contains(part))
    }

    #[test]
    fn an_order_far_off_price_or_open_interest_is_doubted() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::MINUTE);
        let doubt =
            |coin, price: i64, usd: i64| measures.doubt(coin, "htx", price.into(), usd.into(), now);
        measures.close("BTC", now, 100.into());
        measures.close("BTC", now.back(Millis::MINUTE), 5.into());
        assert_eq!(doubt("BTC", 119, 1_000_000), None);
        assert!(suspected(doubt("BTC", 121, 1), "20 %"));
        assert!(suspected(doubt("BTC", 79, 1), "20 %"));
        // A cascade moves a price by half; a wrong unit does so by ten times.
        assert!(suspected(doubt("BTC", 499, 1), "20 %"));
        assert!(impossible(doubt("BTC", 1000, 1), "five times"));
        assert!(impossible(doubt("BTC", 10, 1), "five times"));
        measures.open_interest("BTC", "okx", now, 600.into());
        measures.open_interest("BTC", "bybit", now, 400.into());
        assert_eq!(doubt("BTC", 100, 5000), None);
        assert!(suspected(doubt("BTC", 100, 5001), "5 %"));
        assert!(impossible(doubt("BTC", 100, 100_001), "that are open"));
        assert_eq!(doubt("ETH", 1, 1), None);
        // What is old measures nothing.
        measures.close("SOL", now.back(16 * Millis::MINUTE), 100.into());
        assert_eq!(doubt("SOL", 1, 1), None);
    }

    #[test]
    fn a_coin_without_bars_is_measured_by_the_other_venues() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::MINUTE);
        let of =
            |exchange, price: i64| measures.doubt("PEPE", exchange, price.into(), 1.into(), now);
        assert_eq!(of("okx", 100), None);
        // Of two nobody knows which is wrong.
        assert!(suspected(of("gate", 1000), "the other venues'"));
        assert!(suspected(of("htx", 100), "the other venues'"));
        assert_eq!(of("gate", 101), None);
        assert!(impossible(of("htx", 100_000), "the other venues' 101"));
        assert_eq!(of("htx", 99), None);
        // Its own price is no measure, and what was set aside is none.
        assert_eq!(of("okx", 98), None);
    }
}
