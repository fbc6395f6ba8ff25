//! Reference prices of coins, and the outlier check of orders against them.
//!
//! The reference price is the close of the last bar of a coin. Without bars it is the median price of orders on other
//! exchanges. If those disagree, it is the price that the exchange itself publishes. Open interest bounds the value of
//! an order.
//!
//! An order with a price somewhat off the reference is stored with its raw message and counted as suspect. An order
//! with a price so far off that its unit must be wrong is quarantined. A cascade of liquidations may halve a price, but
//! a wrong unit changes it by a factor of ten or more.

use std::collections::HashMap;
use std::sync::Mutex;

use rust_decimal::Decimal;

use crate::archive::OrderRow;
use crate::collect::lock::locked;
use crate::collect::quarantine::quarantined_order::QuarantineReason;
use crate::collect::quarantine::ratio::are_apart;
use crate::feeds::price_of_one;
use crate::model::{Millis, coin_of_pair};

/// Maximum age of a value that serves as a reference, in milliseconds.
const FRESH: i64 = 15 * Millis::MINUTE;
/// A price that differs from its reference by more than this fraction is suspect.
const OFF: Decimal = Decimal::from_parts(2, 0, 0, false, 1);
/// A price more than this factor above or below its reference must be in a wrong unit.
const FACTOR: Decimal = Decimal::from_parts(5, 0, 0, false, 0);
/// The exchange's own price is read once an hour. Up to this age, in milliseconds, it counts like any other reference.
const RECENT: i64 = 2 * Millis::HOUR;
/// Up to this age, in milliseconds, the exchange's own price counts with a doubled factor, because a new coin may rise
/// fivefold in a morning.
const AGED: i64 = 6 * Millis::HOUR;
const AGED_FACTOR: Decimal = Decimal::from_parts(10, 0, 0, false, 0);
/// Minimum number of other exchanges that must agree before their prices quarantine an order. They must also be a
/// majority.
const WITNESSES: usize = 2;
/// An order with a value above this fraction of the open interest is suspect.
const SHARE: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

/// A price or open interest, and when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PricePoint {
    pub(crate) at: Millis,
    pub(crate) value: Decimal,
}

/// The price that an order is compared with.
#[derive(Clone, Copy, Debug)]
struct Reference {
    price: Decimal,
    source: &'static str,
    /// A price more than this factor above or below the reference must be in a wrong unit.
    factor: Decimal,
    /// How many exchanges must confirm an outlier so that it is not quarantined.
    against: usize,
    is_fresh: bool,
}

/// The values of an order that are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PricedOrder {
    /// Price of one coin, in USD.
    pub(crate) price: Decimal,
    pub(crate) value_usd: Decimal,
    /// Event time, or time of receipt if that is earlier.
    pub(crate) at: Millis,
}

#[derive(Debug, Default)]
struct Coin {
    close: Option<PricePoint>,
    /// The price of the last order on each exchange.
    prices: HashMap<&'static str, PricePoint>,
    open_interest: HashMap<&'static str, PricePoint>,
}

/// Result of the check of an order that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outlier {
    /// The order looks wrong, for this reason.
    Suspect(String),
    /// The unit of the order must be wrong, for this reason.
    Impossible(QuarantineReason, String),
    /// There is no reference price to check the order against.
    Unchecked,
}

/// The reference prices and open interest of all coins, on all exchanges.
#[derive(Debug, Default)]
pub(crate) struct ReferencePrices {
    coins: Mutex<HashMap<String, Coin>>,
}

impl ReferencePrices {
    fn change(&self, coin: &str, change: impl FnOnce(&mut Coin)) {
        let mut coins = locked(&self.coins);
        change(coins.entry(coin.to_owned()).or_default());
    }

    /// Adds the closing price of a bar.
    pub(crate) fn add_close(&self, coin: &str, at: Millis, value: Decimal) {
        self.change(coin, |coin| {
            if coin.close.is_none_or(|known| known.at < at) {
                coin.close = Some(PricePoint { at, value });
            }
        });
    }

    /// Adds the open interest on an exchange.
    pub(crate) fn add_open_interest(
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
                .or_insert(PricePoint { at, value });
            if known.at < at {
                *known = PricePoint { at, value };
            }
        });
    }

    /// Checks a row as of its receipt; `own` is the price that the exchange itself publishes. See [`Self::check`].
    pub(crate) fn check_row(
        &self,
        exchange: &'static str,
        row: &OrderRow,
        own: Option<PricePoint>,
    ) -> Option<Outlier> {
        let symbol = &row.order.symbol;
        let (_, scale) = coin_of_pair(symbol);
        let Some(price) = price_of_one(row.order.price, scale) else {
            return Some(Outlier::Unchecked);
        };
        let at = row.received_at.min(row.order.timestamp);
        // The exchange's price counts as read no later than the event: for an order received late, the current price is
        // no better than an old price.
        let own = own.and_then(|read| {
            let value = price_of_one(read.value, scale)?;
            let at = read.at.min(at);
            Some(PricePoint { at, value })
        });
        let order = PricedOrder {
            price,
            value_usd: row.order.value_usd,
            at,
        };
        self.check(&row.coin, exchange, order, own, row.received_at)
    }

    /// Checks the price and the value of an order. Unless the order is quarantined, its price becomes a reference for
    /// other exchanges.
    pub(crate) fn check(
        &self,
        coin: &str,
        exchange: &'static str,
        order: PricedOrder,
        own: Option<PricePoint>,
        now: Millis,
    ) -> Option<Outlier> {
        let mut coins = locked(&self.coins);
        if !coins.contains_key(coin) {
            coins.insert(coin.to_owned(), Coin::default());
        }
        let coin = coins.get_mut(coin)?;
        let outlier = coin.check(exchange, order, own, now);
        if !matches!(outlier, Some(Outlier::Impossible(..))) {
            let price = PricePoint {
                at: order.at,
                value: order.price,
            };
            let known = coin.prices.entry(source(exchange)).or_insert(price);
            if known.at <= price.at {
                *known = price;
            }
        }
        outlier
    }
}

fn is_fresh(read: &PricePoint, now: Millis) -> bool {
    read.at >= now.back(FRESH)
}

/// The source of an exchange's prices. The two names of one exchange count as one source.
fn source(exchange: &'static str) -> &'static str {
    match exchange {
        "lighter_rh" => "lighter",
        other => other,
    }
}

/// The exchange's own price as a reference, unless it is too old.
fn own_reference(own: PricePoint, now: Millis) -> Option<Reference> {
    let factor = match own.at {
        at if at >= now.back(RECENT) => FACTOR,
        at if at >= now.back(AGED) => AGED_FACTOR,
        _ => return None,
    };
    Some(Reference {
        price: own.value,
        source: "the exchange's own",
        factor,
        against: 1,
        is_fresh: is_fresh(&own, now),
    })
}

impl Coin {
    /// The reference for an order on `exchange`; `own` is the price that the exchange itself publishes.
    fn reference(
        &self,
        exchange: &'static str,
        own: Option<PricePoint>,
        now: Millis,
    ) -> Option<Reference> {
        if let Some(close) = self.close.filter(|read| is_fresh(read, now)) {
            return Some(Reference {
                price: close.value,
                source: "the market's",
                factor: FACTOR,
                against: usize::MAX,
                is_fresh: true,
            });
        }
        let others = self.median(exchange, now);
        match others {
            Some(others) if others.against > 0 => Some(others),
            others => own.and_then(|own| own_reference(own, now)).or(others),
        }
    }

    /// The last prices on other exchanges that are at most [`FRESH`] old.
    fn others(&self, exchange: &'static str, now: Millis) -> impl Iterator<Item = Decimal> {
        let own = source(exchange);
        let others = self
            .prices
            .iter()
            .filter(move |(source, _)| **source != own);
        let fresh = others.filter(move |(_, read)| is_fresh(read, now));
        fresh.map(|(_, read)| read.value)
    }

    /// The median of the last prices on other exchanges, as a reference.
    fn median(&self, exchange: &'static str, now: Millis) -> Option<Reference> {
        let mut others: Vec<Decimal> = self.others(exchange, now).collect();
        others.sort_unstable();
        let median = others.get(others.len() / 2).copied()?;
        let agree = others
            .iter()
            .filter(|price| !are_apart(**price, median, FACTOR))
            .count();
        let is_majority = agree >= WITNESSES && agree > others.len() - agree;
        Some(Reference {
            price: median,
            source: "the other exchanges'",
            factor: FACTOR,
            // The exchange of the order itself counts as one exchange that confirms the price.
            against: if is_majority { agree - 1 } else { 0 },
            is_fresh: true,
        })
    }

    fn check(
        &self,
        exchange: &'static str,
        order: PricedOrder,
        own: Option<PricePoint>,
        now: Millis,
    ) -> Option<Outlier> {
        let PricedOrder {
            price, value_usd, ..
        } = order;
        let reference = if order.at >= now.back(FRESH) {
            self.reference(exchange, own, now)
        } else {
            // Current prices on other exchanges are no reference for an old order.
            own.and_then(|own| own_reference(own, now))
        };
        let Some(reference) = reference else {
            return Some(Outlier::Unchecked);
        };
        let Reference {
            price: market,
            source,
            factor,
            ..
        } = reference;
        if are_apart(price, market, factor) {
            let why = format!(
                "its price {price} differs from {source} {market} by more than a factor of {factor}"
            );
            let own = own.filter(|own| own.at >= now.back(RECENT));
            if let Some(own) = own.filter(|own| !are_apart(price, own.value, FACTOR)) {
                let own = own.value;
                return Some(Outlier::Suspect(format!(
                    "{why}, but the exchange's own price {own} confirms it"
                )));
            }
            let others = self.others(exchange, now);
            let confirming = others.filter(|other| !are_apart(price, *other, FACTOR));
            return Some(if reference.against > confirming.count() {
                Outlier::Impossible(QuarantineReason::Price, why)
            } else {
                Outlier::Suspect(why)
            });
        }
        if !reference.is_fresh {
            return None;
        }
        let off = market.checked_mul(OFF)?;
        if price.checked_sub(market)?.abs() > off {
            return Some(Outlier::Suspect(format!(
                "its price {price} differs from {source} {market} by more than 20 %"
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
        // Open interest on other exchanges does not bound an order on this exchange.
        let here = self.open_interest.get(exchange);
        let is_known_here = here.is_some_and(|read| is_fresh(read, now));
        if value_usd > open_usd && is_known_here {
            let why =
                format!("its value of {value_usd} USD exceeds the open interest of {open_usd} USD");
            return Some(Outlier::Impossible(QuarantineReason::OpenInterest, why));
        }
        (value_usd > open_usd.checked_mul(SHARE)?).then(|| {
            Outlier::Suspect(format!(
                "its value of {value_usd} USD exceeds 5 % of the open interest of {open_usd} USD"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::reference_data::reference_price::*;

    fn suspected(outlier: Option<Outlier>, part: &str) -> bool {
        matches!(outlier, Some(Outlier::Suspect(why)) if why.contains(part))
    }

    fn impossible(outlier: Option<Outlier>, part: &str) -> bool {
        matches!(outlier, Some(Outlier::Impossible(_, why)) if why.contains(part))
    }

    fn order(price: i64, value_usd: i64, at: Millis) -> PricedOrder {
        PricedOrder {
            price: price.into(),
            value_usd: value_usd.into(),
            at,
        }
    }

    #[test]
    fn an_order_received_late_is_no_reference_and_is_not_checked_against_current_prices() {
        let prices = ReferencePrices::default();
        let now = Millis(100 * Millis::HOUR);
        let old = now.back(20 * Millis::HOUR);
        let of = |exchange, price: i64, at: Millis| {
            prices.check("ABC", exchange, order(price, 1, at), None, now)
        };
        assert_eq!(of("binance", 10, old), Some(Outlier::Unchecked));
        assert_eq!(of("aster", 10, old), Some(Outlier::Unchecked));
        assert_eq!(of("bybit", 60, now), Some(Outlier::Unchecked));
        // The price of an old order does not replace the current price.
        assert_eq!(of("okx", 60, now), None);
        assert_eq!(of("okx", 10, old), Some(Outlier::Unchecked));
        assert!(impossible(of("gate", 6, now), "the other exchanges' 60"));
        prices.add_close("ABC", now, 60.into());
        prices.add_open_interest("ABC", "bybit", now, 1.into());
        assert_eq!(of("bybit", 10, old), Some(Outlier::Unchecked));
        let late = now.back(FRESH);
        assert!(impossible(of("bybit", 10, late), "the market's"));
        assert_eq!(of("bybit", 10, late.back(1)), Some(Outlier::Unchecked));
    }

    #[test]
    fn an_order_far_off_price_or_open_interest_is_an_outlier() {
        let prices = ReferencePrices::default();
        let now = Millis(100 * Millis::MINUTE);
        let check = |coin, price: i64, usd: i64| {
            prices.check(coin, "htx", order(price, usd, now), None, now)
        };
        prices.add_close("BTC", now, 100.into());
        prices.add_close("BTC", now.back(Millis::MINUTE), 5.into());
        assert_eq!(check("BTC", 119, 1_000_000), None);
        assert!(suspected(check("BTC", 121, 1), "20 %"));
        assert!(suspected(check("BTC", 79, 1), "20 %"));
        // A fivefold price is suspect, as in a cascade. A tenfold price is impossible: its unit must be wrong.
        assert!(suspected(check("BTC", 499, 1), "20 %"));
        assert!(impossible(check("BTC", 1000, 1), "a factor of 5"));
        assert!(impossible(check("BTC", 10, 1), "a factor of 5"));
        prices.add_open_interest("BTC", "okx", now, 600.into());
        prices.add_open_interest("BTC", "bybit", now, 400.into());
        assert_eq!(check("BTC", 100, 5000), None);
        assert!(suspected(check("BTC", 100, 5001), "5 %"));
        // Open interest on other exchanges does not bound an order on this exchange, …
        assert!(suspected(check("BTC", 100, 100_001), "5 %"));
        // … and neither does an old open-interest reading.
        prices.add_open_interest("BTC", "htx", now.back(FRESH + 1), 100.into());
        assert!(suspected(check("BTC", 100, 100_001), "5 %"));
        prices.add_open_interest("BTC", "htx", now, 100.into());
        assert!(suspected(check("BTC", 100, 110_000), "5 %"));
        assert!(impossible(
            check("BTC", 100, 110_001),
            "exceeds the open interest"
        ));
        assert_eq!(check("ETH", 1, 1), Some(Outlier::Unchecked));
        // An old close does not serve as a reference.
        prices.add_close("SOL", now.back(16 * Millis::MINUTE), 100.into());
        assert_eq!(check("SOL", 1, 1), Some(Outlier::Unchecked));
    }

    #[test]
    fn a_coin_without_bars_is_checked_against_other_exchanges() {
        let prices = ReferencePrices::default();
        let now = Millis(100 * Millis::MINUTE);
        let of =
            |exchange, price: i64| prices.check("PEPE", exchange, order(price, 1, now), None, now);
        assert_eq!(of("okx", 100), Some(Outlier::Unchecked));
        // With only two prices, either may be wrong, so both are suspect.
        assert!(suspected(of("gate", 1000), "the other exchanges'"));
        assert!(suspected(of("htx", 100), "the other exchanges'"));
        assert_eq!(of("gate", 101), None);
        assert!(impossible(of("htx", 100_000), "the other exchanges' 101"));
        assert_eq!(of("htx", 99), None);
        // Earlier orders of the same exchange are no reference, and neither are quarantined orders.
        assert_eq!(of("okx", 98), None);
    }

    #[test]
    fn a_coin_on_one_exchange_is_checked_against_its_own_recent_price() {
        let prices = ReferencePrices::default();
        let now = Millis(100 * Millis::HOUR);
        let of = |price: i64, age: i64| {
            let own = PricePoint {
                at: now.back(age),
                value: 100.into(),
            };
            prices.check("NEW", "gate", order(price, 1, now), Some(own), now)
        };
        assert_eq!(of(119, Millis::MINUTE), None);
        assert!(suspected(of(121, Millis::MINUTE), "the exchange's own 100"));
        assert!(impossible(of(501, Millis::MINUTE), "a factor of 5"));
        assert!(impossible(of(19, Millis::MINUTE), "a factor of 5"));
        // After two hours, a price may differ by almost the whole factor without being suspect.
        assert_eq!(of(499, 2 * Millis::HOUR), None);
        assert!(impossible(of(501, 2 * Millis::HOUR), "a factor of 5"));
        assert_eq!(of(999, 3 * Millis::HOUR), None);
        assert!(impossible(of(1001, 6 * Millis::HOUR), "a factor of 10"));
        assert_eq!(of(1001, 6 * Millis::HOUR + 1), Some(Outlier::Unchecked));
    }

    #[test]
    fn a_price_that_the_exchange_itself_confirms_is_not_quarantined() {
        let prices = ReferencePrices::default();
        let now = Millis(100 * Millis::HOUR);
        let of = |exchange, price: i64, own: Option<(i64, i64)>| {
            let own = own.map(|(value, age)| PricePoint {
                at: now.back(age),
                value: value.into(),
            });
            prices.check("PEPE", exchange, order(price, 1, now), own, now)
        };
        let fresh = |value| Some((value, 0));
        // The price of one other exchange does not quarantine an order that the exchange's own price confirms.
        assert_eq!(of("okx", 100_000, None), Some(Outlier::Unchecked));
        assert_eq!(of("gate", 100, fresh(100)), None);
        assert!(impossible(of("bitmex", 1000, fresh(100)), "exchange's own"));
        assert_eq!(of("bitmex", 100, fresh(100)), None);
        // Another token may have the same name on other exchanges. If the exchange's own price confirms the order, two
        // others that disagree only make it suspect.
        assert!(suspected(
            of("htx", 1000, fresh(1000)),
            "but the exchange's own price 1000 confirms it"
        ));
        assert_eq!(of("okx", 100, None), None);
        assert!(impossible(
            of("dydx", 10, fresh(100)),
            "the other exchanges'"
        ));
        assert!(impossible(of("dydx", 10, None), "the other exchanges'"));
        // An old price of the exchange itself confirms nothing, …
        let old = Some((10, RECENT + 1));
        assert!(impossible(of("dydx", 10, old), "the other exchanges'"));
        // … and its hour-old price does not outweigh the current prices of the others.
        assert_eq!(of("dydx", 100, Some((10, Millis::HOUR))), None);
        // The same applies if the reference is a bar: the exchange's own price prevents quarantine.
        prices.add_close("PEPE", now, 100.into());
        assert!(suspected(of("htx", 1000, fresh(1000)), "the market's 100"));
        assert!(impossible(of("htx", 1000, fresh(100)), "the market's 100"));
    }

    #[test]
    fn an_order_is_quarantined_by_more_exchanges_than_confirm_it() {
        let now = Millis(100 * Millis::HOUR);
        let of = |orders: &[(&'static str, i64)], exchange, price: i64, own: Option<i64>| {
            let prices = ReferencePrices::default();
            for (exchange, price) in orders {
                let none = prices.check("PEPE", exchange, order(*price, 1, now), None, now);
                assert!(!matches!(none, Some(Outlier::Impossible(..))), "{none:?}");
            }
            let own = own.map(|value| PricePoint {
                at: now,
                value: value.into(),
            });
            prices.check("PEPE", exchange, order(price, 1, now), own, now)
        };
        let low = [("okx", 100), ("gate", 100)];
        assert!(impossible(
            of(&low, "htx", 1000, None),
            "the other exchanges'"
        ));
        // Two other exchanges agree with each price, so there is no majority.
        let split = [
            ("okx", 100),
            ("gate", 1000),
            ("bitmex", 1000),
            ("dydx", 100),
        ];
        assert!(!matches!(
            of(&split, "htx", 10_000, None),
            Some(Outlier::Impossible(..))
        ));
        assert!(!matches!(
            of(&split, "htx", 100, None),
            Some(Outlier::Impossible(..))
        ));
        // The exchange of the order confirms one of three prices: two against two, so the order is suspect, …
        let two = [("okx", 100), ("gate", 1000), ("bitmex", 100)];
        assert!(suspected(
            of(&two, "htx", 1000, None),
            "the other exchanges' 100"
        ));
        assert!(impossible(
            of(&two, "htx", 10_000, None),
            "the other exchanges'"
        ));
        // … and one confirmation outweighs the exchange's own price.
        assert!(suspected(
            of(&two[1..2], "htx", 1000, Some(100)),
            "the exchange's own 100"
        ));
        // The two names of one exchange count as one source.
        let twice = [("lighter", 100), ("lighter_rh", 100)];
        assert!(suspected(
            of(&twice, "htx", 1000, None),
            "the other exchanges'"
        ));
        assert_eq!(
            of(&twice[..1], "lighter_rh", 1000, None),
            Some(Outlier::Unchecked)
        );
    }
}
