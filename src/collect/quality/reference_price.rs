//! What orders are measured by: the last closed price of each coin, and how much of it is open; the prices of orders on the
//! other venues, where no bars of a coin are collected; and the price that the venue itself tells of the market, where the
//! others are not of one mind or there are none.
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
/// The venue's own price is read with its markets, each hour: up to so old it measures like any other, …
const RECENT: i64 = 2 * Millis::HOUR;
/// … up to so old by twice as much, since a new coin may rise fivefold in a morning, and beyond that not at all.
const AGED: i64 = 6 * Millis::HOUR;
const AGED_TIMES: Decimal = Decimal::from_parts(10, 0, 0, false, 0);
/// How many other venues have to be of one mind, as more than half of them, before an order is set aside for it.
const WITNESSES: usize = 2;
/// Which part of the open interest one order may be.
const PART: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

/// What was read, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) at: Millis,
    pub(crate) value: Decimal,
}

/// What a price is held against.
#[derive(Clone, Copy, Debug)]
struct Measure {
    price: Decimal,
    whose: &'static str,
    /// How many times that no price can be.
    times: Decimal,
    /// How many that speak for an order it takes for it not to be set aside.
    against: usize,
    /// Whether it is of now.
    is_fresh: bool,
}

/// What is judged of an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Of a single coin.
    pub(crate) price: Decimal,
    pub(crate) value_usd: Decimal,
    /// When it happened, or was received where that was before.
    pub(crate) at: Millis,
}

#[derive(Debug, Default)]
struct Coin {
    close: Option<Read>,
    /// The last prices of orders, by whose they are.
    prices: HashMap<&'static str, Read>,
    open_interest: HashMap<&'static str, Read>,
}

/// Why an order is doubted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It looks wrong.
    Suspect(String),
    /// It cannot be: its unit must be another.
    Impossible(String),
    /// Nothing measures it.
    Unjudged,
}

/// The measures of all coins.
#[derive(Debug, Default)]
pub(crate) struct Yardstick {
    coins: Mutex<HashMap<String, Coin>>,
}

impl Yardstick {
    fn change(&self, coin: &str, change: impl FnOnce(&mut Coin)) {
        let mut coins = self.coins.lock().unwrap_or_else(PoisonError::into_inner);
        change(coins.entry(coin.to_owned()).or_default());
    }

    /// Learns the close of a bar.
    pub(crate) fn close(&self, coin: &str, at: Millis, value: Decimal) {
        self.change(coin, |coin| {
            if coin.close.is_none_or(|known| known.at < at) {
                coin.close = Some(Read { at, value });
            }
        });
    }

    /// Learns the open interest on a venue.
    pub(crate) fn open_interest(
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

    /// Why a row cannot be right, by when it was received, where the venue itself tells `own` of its market; see
    /// [`Yardstick::doubt`].
    pub(crate) fn doubt_row(
        &self,
        exchange: &'static str,
        row: &OrderRow,
        own: Option<Read>,
    ) -> Option<Doubt> {
        let symbol = &row.order.symbol;
        let base = symbol.strip_suffix(quote_of_pair(symbol).unwrap_or_default());
        let (_, scale) = coin_of_base(base.unwrap_or(symbol));
        let Some(price) = price_of_one(row.order.price, scale) else {
            return Some(Doubt::Unjudged);
        };
        let at = row.received_at.min(row.order.timestamp);
        // Of an order that is told long after it happened it says as little as an old one.
        let own = own.and_then(|read| {
            let value = price_of_one(read.value, scale)?;
            let at = read.at.min(at);
            Some(Read { at, value })
        });
        let order = Told {
            price,
            value_usd: row.order.value_usd,
            at,
        };
        self.doubt(&row.coin, exchange, order, own, row.received_at)
    }

    /// Why an order cannot be right: its price, of a single coin, or its value. What is not impossible measures those of the
    /// other venues.
    pub(crate) fn doubt(
        &self,
        coin: &str,
        exchange: &'static str,
        order: Told,
        own: Option<Read>,
        now: Millis,
    ) -> Option<Doubt> {
        let mut coins = self.coins.lock().unwrap_or_else(PoisonError::into_inner);
        if !coins.contains_key(coin) {
            coins.insert(coin.to_owned(), Coin::default());
        }
        let coin = coins.get_mut(coin)?;
        let doubt = coin.doubt(exchange, order, own, now);
        if !matches!(doubt, Some(Doubt::Impossible(_))) {
            let told = Read {
                at: order.at,
                value: order.price,
            };
            let known = coin.prices.entry(source(exchange)).or_insert(told);
            if known.at <= told.at {
                *known = told;
            }
        }
        doubt
    }
}

fn is_fresh(read: &Read, now: Millis) -> bool {
    read.at >= now.back(FRESH)
}

/// Whose prices a venue tells: an exchange that goes by two names is one witness, and none of itself.
fn source(exchange: &'static str) -> &'static str {
    match exchange {
        "lighter_rh" => "lighter",
        other => other,
    }
}

/// Whether one of two prices is more than so many times the other.
pub(crate) fn are_apart(a: Decimal, b: Decimal, times: Decimal) -> bool {
    let times = a.min(b).checked_mul(times);
    times.is_some_and(|times| times < a.max(b))
}

/// A price that the venue itself told, as far as it is not too old.
fn told(own: Read, now: Millis) -> Option<Measure> {
    let times = match own.at {
        at if at >= now.back(RECENT) => TIMES,
        at if at >= now.back(AGED) => AGED_TIMES,
        _ => return None,
    };
    Some(Measure {
        price: own.value,
        whose: "the exchange's own",
        times,
        against: 1,
        is_fresh: is_fresh(&own, now),
    })
}

impl Coin {
    /// What a price on a venue is held against, which tells `own` of the market itself.
    fn measure(&self, exchange: &'static str, own: Option<Read>, now: Millis) -> Option<Measure> {
        if let Some(close) = self.close.filter(|read| is_fresh(read, now)) {
            return Some(Measure {
                price: close.value,
                whose: "the market's",
                times: TIMES,
                against: usize::MAX,
                is_fresh: true,
            });
        }
        let others = self.middle(exchange, now);
        match others {
            Some(others) if others.against > 0 => Some(others),
            others => own.and_then(|own| told(own, now)).or(others),
        }
    }

    /// What the other venues told last.
    fn others(&self, exchange: &'static str, now: Millis) -> impl Iterator<Item = Decimal> {
        let own = source(exchange);
        let others = self.prices.iter().filter(move |(whose, _)| **whose != own);
        let fresh = others.filter(move |(_, read)| is_fresh(read, now));
        fresh.map(|(_, read)| read.value)
    }

    /// The middle of it.
    fn middle(&self, exchange: &'static str, now: Millis) -> Option<Measure> {
        let mut others: Vec<Decimal> = self.others(exchange, now).collect();
        others.sort_unstable();
        let middle = others.get(others.len() / 2).copied()?;
        let agree = others
            .iter()
            .filter(|price| !are_apart(**price, middle, TIMES))
            .count();
        let is_majority = agree >= WITNESSES && agree > others.len() - agree;
        Some(Measure {
            price: middle,
            whose: "the other venues'",
            times: TIMES,
            // The venue of the order speaks for it.
            against: if is_majority { agree - 1 } else { 0 },
            is_fresh: true,
        })
    }

    fn doubt(
        &self,
        exchange: &'static str,
        order: Told,
        own: Option<Read>,
        now: Millis,
    ) -> Option<Doubt> {
        let Told {
            price, value_usd, ..
        } = order;
        let measure = if order.at >= now.back(FRESH) {
            self.measure(exchange, own, now)
        } else {
            // What others tell of now says nothing of then.
            own.and_then(|own| told(own, now))
        };
        let Some(measure) = measure else {
            return Some(Doubt::Unjudged);
        };
        let Measure {
            price: market,
            whose,
            times,
            ..
        } = measure;
        if are_apart(price, market, times) {
            let why = format!("its price {price} is more than {times} times off {whose} {market}");
            let own = own.filter(|own| own.at >= now.back(RECENT));
            if let Some(own) = own.filter(|own| !are_apart(price, own.value, TIMES)) {
                let own = own.value;
                return Some(Doubt::Suspect(format!(
                    "{why}, though the exchange's own {own} bears it out"
                )));
            }
            let others = self.others(exchange, now);
            let bear_out = others.filter(|other| !are_apart(price, *other, TIMES));
            return Some(if measure.against > bear_out.count() {
                Doubt::Impossible(why)
            } else {
                Doubt::Suspect(why)
            });
        }
        if !measure.is_fresh {
            return None;
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
        // What others hold says nothing of how much can be held here.
        let here = self.open_interest.get(exchange);
        let is_told_here = here.is_some_and(|read| is_fresh(read, now));
        if value_usd > open_usd && is_told_here {
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
    use crate::collect::quality::reference_price::*;

    fn suspected(doubt: Option<Doubt>, part: &str) -> bool {
        matches!(doubt, Some(Doubt::Suspect(why)) if why.contains(part))
    }

    fn impossible(doubt: Option<Doubt>, part: &str) -> bool {
        matches!(doubt, Some(Doubt::Impossible(why)) if why.contains(part))
    }

    fn order(price: i64, value_usd: i64, at: Millis) -> Told {
        Told {
            price: price.into(),
            value_usd: value_usd.into(),
            at,
        }
    }

    #[test]
    fn an_order_that_is_told_long_after_it_happened_measures_nothing_and_is_held_against_nothing_of_now()
     {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::HOUR);
        let old = now.back(20 * Millis::HOUR);
        let of = |exchange, price: i64, at: Millis| {
            measures.doubt("ABC", exchange, order(price, 1, at), None, now)
        };
        assert_eq!(of("binance", 10, old), Some(Doubt::Unjudged));
        assert_eq!(of("aster", 10, old), Some(Doubt::Unjudged));
        assert_eq!(of("bybit", 60, now), Some(Doubt::Unjudged));
        // What is told late does not take the place of what is known of now.
        assert_eq!(of("okx", 60, now), None);
        assert_eq!(of("okx", 10, old), Some(Doubt::Unjudged));
        assert!(impossible(of("gate", 6, now), "the other venues' 60"));
        measures.close("ABC", now, 60.into());
        measures.open_interest("ABC", "bybit", now, 1.into());
        assert_eq!(of("bybit", 10, old), Some(Doubt::Unjudged));
        let late = now.back(FRESH);
        assert!(impossible(of("bybit", 10, late), "the market's"));
        assert_eq!(of("bybit", 10, late.back(1)), Some(Doubt::Unjudged));
    }

    #[test]
    fn an_order_far_off_price_or_open_interest_is_doubted() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::MINUTE);
        let doubt = |coin, price: i64, usd: i64| {
            measures.doubt(coin, "htx", order(price, usd, now), None, now)
        };
        measures.close("BTC", now, 100.into());
        measures.close("BTC", now.back(Millis::MINUTE), 5.into());
        assert_eq!(doubt("BTC", 119, 1_000_000), None);
        assert!(suspected(doubt("BTC", 121, 1), "20 %"));
        assert!(suspected(doubt("BTC", 79, 1), "20 %"));
        // A cascade moves a price by half; a wrong unit does so by ten times.
        assert!(suspected(doubt("BTC", 499, 1), "20 %"));
        assert!(impossible(doubt("BTC", 1000, 1), "5 times"));
        assert!(impossible(doubt("BTC", 10, 1), "5 times"));
        measures.open_interest("BTC", "okx", now, 600.into());
        measures.open_interest("BTC", "bybit", now, 400.into());
        assert_eq!(doubt("BTC", 100, 5000), None);
        assert!(suspected(doubt("BTC", 100, 5001), "5 %"));
        // What is open elsewhere says nothing of how much of it is open here, …
        assert!(suspected(doubt("BTC", 100, 100_001), "5 %"));
        // … and an old reading of here does not either.
        measures.open_interest("BTC", "htx", now.back(FRESH + 1), 100.into());
        assert!(suspected(doubt("BTC", 100, 100_001), "5 %"));
        measures.open_interest("BTC", "htx", now, 100.into());
        assert!(suspected(doubt("BTC", 100, 110_000), "5 %"));
        assert!(impossible(doubt("BTC", 100, 110_001), "that are open"));
        assert_eq!(doubt("ETH", 1, 1), Some(Doubt::Unjudged));
        // What is old measures nothing.
        measures.close("SOL", now.back(16 * Millis::MINUTE), 100.into());
        assert_eq!(doubt("SOL", 1, 1), Some(Doubt::Unjudged));
    }

    #[test]
    fn a_coin_without_bars_is_measured_by_the_other_venues() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::MINUTE);
        let of = |exchange, price: i64| {
            measures.doubt("PEPE", exchange, order(price, 1, now), None, now)
        };
        assert_eq!(of("okx", 100), Some(Doubt::Unjudged));
        // Of two nobody knows which is wrong.
        assert!(suspected(of("gate", 1000), "the other venues'"));
        assert!(suspected(of("htx", 100), "the other venues'"));
        assert_eq!(of("gate", 101), None);
        assert!(impossible(of("htx", 100_000), "the other venues' 101"));
        assert_eq!(of("htx", 99), None);
        // Its own price is no measure, and what was set aside is none.
        assert_eq!(of("okx", 98), None);
    }
    #[test]
    fn a_coin_of_one_venue_is_measured_by_the_price_it_tells_while_that_is_not_old() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::HOUR);
        let of = |price: i64, age: i64| {
            let own = Read {
                at: now.back(age),
                value: 100.into(),
            };
            measures.doubt("NEW", "gate", order(price, 1, now), Some(own), now)
        };
        assert_eq!(of(119, Millis::MINUTE), None);
        assert!(suspected(of(121, Millis::MINUTE), "the exchange's own 100"));
        assert!(impossible(of(501, Millis::MINUTE), "5 times"));
        assert!(impossible(of(19, Millis::MINUTE), "5 times"));
        // Within hours a price goes far, and no unit is wrong.
        assert_eq!(of(499, 2 * Millis::HOUR), None);
        assert!(impossible(of(501, 2 * Millis::HOUR), "5 times"));
        assert_eq!(of(999, 3 * Millis::HOUR), None);
        assert!(impossible(of(1001, 6 * Millis::HOUR), "10 times"));
        assert_eq!(of(1001, 6 * Millis::HOUR + 1), Some(Doubt::Unjudged));
    }

    #[test]
    fn a_price_that_the_venue_itself_bears_out_is_kept_whatever_others_tell() {
        let measures = Yardstick::default();
        let now = Millis(100 * Millis::HOUR);
        let of = |exchange, price: i64, own: Option<(i64, i64)>| {
            let own = own.map(|(value, age)| Read {
                at: now.back(age),
                value: value.into(),
            });
            measures.doubt("PEPE", exchange, order(price, 1, now), own, now)
        };
        let fresh = |value| Some((value, 0));
        // One other venue, in whatever unit it counts, does not set aside what the venue's own price bears out.
        assert_eq!(of("okx", 100_000, None), Some(Doubt::Unjudged));
        assert_eq!(of("gate", 100, fresh(100)), None);
        assert!(impossible(of("bitmex", 1000, fresh(100)), "exchange's own"));
        assert_eq!(of("bitmex", 100, fresh(100)), None);
        // Another token may go by the same name elsewhere: two that agree say that it looks wrong, and no more.
        assert!(suspected(
            of("htx", 1000, fresh(1000)),
            "the other venues' 100, though the exchange's own 1000 bears it out"
        ));
        assert_eq!(of("okx", 100, None), None);
        assert!(impossible(of("dydx", 10, fresh(100)), "the other venues'"));
        assert!(impossible(of("dydx", 10, None), "the other venues'"));
        // An old price of its own bears nothing out, …
        let old = Some((10, RECENT + 1));
        assert!(impossible(of("dydx", 10, old), "the other venues'"));
        // … and where the others do, one that is an hour old says nothing against it.
        assert_eq!(of("dydx", 100, Some((10, Millis::HOUR))), None);
        // A bar is of other venues, too.
        measures.close("PEPE", now, 100.into());
        assert!(suspected(of("htx", 1000, fresh(1000)), "the market's 100"));
        assert!(impossible(of("htx", 1000, fresh(100)), "the market's 100"));
    }

    #[test]
    fn what_is_set_aside_is_so_by_more_venues_than_bear_it_out() {
        let now = Millis(100 * Millis::HOUR);
        let of = |told: &[(&'static str, i64)], exchange, price: i64, own: Option<i64>| {
            let measures = Yardstick::default();
            for (exchange, price) in told {
                let none = measures.doubt("PEPE", exchange, order(*price, 1, now), None, now);
                assert!(!matches!(none, Some(Doubt::Impossible(_))), "{none:?}");
            }
            let own = own.map(|value| Read {
                at: now,
                value: value.into(),
            });
            measures.doubt("PEPE", exchange, order(price, 1, now), own, now)
        };
        let low = [("okx", 100), ("gate", 100)];
        assert!(impossible(of(&low, "htx", 1000, None), "the other venues'"));
        // Two and two.
        let split = [
            ("okx", 100),
            ("gate", 1000),
            ("bitmex", 1000),
            ("dydx", 100),
        ];
        assert!(!matches!(
            of(&split, "htx", 10_000, None),
            Some(Doubt::Impossible(_))
        ));
        assert!(!matches!(
            of(&split, "htx", 100, None),
            Some(Doubt::Impossible(_))
        ));
        // With the order's own venue it is two and two again, …
        let two = [("okx", 100), ("gate", 1000), ("bitmex", 100)];
        assert!(suspected(
            of(&two, "htx", 1000, None),
            "the other venues' 100"
        ));
        assert!(impossible(
            of(&two, "htx", 10_000, None),
            "the other venues'"
        ));
        // … and one that bears an order out stands against the venue's list.
        assert!(suspected(
            of(&two[1..2], "htx", 1000, Some(100)),
            "the exchange's own 100"
        ));
        // An exchange that goes by two names tells its prices once.
        let twice = [("lighter", 100), ("lighter_rh", 100)];
        assert!(suspected(
            of(&twice, "htx", 1000, None),
            "the other venues'"
        ));
        assert_eq!(
            of(&twice[..1], "lighter_rh", 1000, None),
            Some(Doubt::Unjudged)
        );
    }
}
