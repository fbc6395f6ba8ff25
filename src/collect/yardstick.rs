//! What orders are measured by: the last closed price of each coin, and how much of it is open.
//!
//! A row that is far off is kept all the same, with the message it was read from, and counted: such rows are how a wrong
//! unit shows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rust_decimal::Decimal;

use crate::model::Millis;

/// Readings older than this measure nothing.
const FRESH: i64 = 15 * Millis::MINUTE;
/// How far off the market a price may be, as a part of it.
const OFF: Decimal = Decimal::from_parts(2, 0, 0, false, 1);
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
    open_interest: HashMap<&'static str, Read>,
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

    /// Why an order cannot be right: its price, of a single coin, or its value.
    pub(super) fn doubt(
        &self,
        coin: &str,
        price: Decimal,
        value_usd: Decimal,
        now: Millis,
    ) -> Option<String> {
        let coins = self.coins.lock().unwrap_or_else(PoisonError::into_inner);
        let coin = coins.get(coin)?;
        let fresh = |read: &Read| read.at >= now.back(FRESH);
        let close = coin.close.filter(fresh)?.value;
        let apart = price.checked_sub(close)?.abs();
        if apart > close.checked_mul(OFF)? {
            return Some(format!(
                "its price {price} is more than 20 % off the market's {close}"
            ));
        }
        let mut open = coin
            .open_interest
            .values()
            .filter(|read| fresh(read))
            .map(|read| read.value)
            .peekable();
        open.peek()?;
        let open = open.try_fold(Decimal::ZERO, Decimal::checked_add)?;
        let open_usd = open.checked_mul(close)?;
        (value_usd > open_usd.checked_mul(PART)?).then(|| {
            format!("its {value_usd} USD are more than 5 % of the {open_usd} USD that are open")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_far_off_price_or_open_interest_is_doubted() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::MINUTE);
        let doubt =
            |coin, price: i64, usd: i64| measures.doubt(coin, price.into(), usd.into(), now);
        measures.close("BTC", now, 100.into());
        measures.close("BTC", now.back(Millis::MINUTE), 5.into());
        assert_eq!(doubt("BTC", 119, 1_000_000), None);
        assert!(doubt("BTC", 121, 1).is_some_and(|why| why.contains("20 %")));
        assert!(doubt("BTC", 79, 1).is_some());
        measures.open_interest("BTC", "okx", now, 600.into());
        measures.open_interest("BTC", "bybit", now, 400.into());
        assert_eq!(doubt("BTC", 100, 5000), None);
        assert!(doubt("BTC", 100, 5001).is_some_and(|why| why.contains("5 %")));
        assert_eq!(doubt("ETH", 1, 1), None);
        // What is old measures nothing.
        measures.close("SOL", now.back(16 * Millis::MINUTE), 100.into());
        assert_eq!(doubt("SOL", 1, 1), None);
    }
}
