//! Under which keys events are kept, where what an event tells of itself is not enough to tell it from others.
//!
//! Gate's REST rows have whole seconds, its socket milliseconds: the second, third of equal rows within a second is the
//! second, third by either way. Two of Bitfinex' matches of one position may fall in one millisecond: there amount and price
//! belong to the key, and rows that were kept before they did are known by what they tell.

use std::collections::{HashMap, HashSet, VecDeque};

use rust_decimal::Decimal;

use crate::archive::OrderRow;
use crate::feeds::{Announced, Event, Keyed};
use crate::model::Millis;

/// How a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over a socket, as it happens.
    Socket,
    /// As an answer about the past: the reply to a request, or what comes with a subscription.
    Request,
}

/// How long the matches of a position belong together.
const TOGETHER: i64 = 15 * Millis::MINUTE;

/// What of a position was announced, and what has been matched of it.
#[derive(Debug, Default)]
struct Position {
    announced: Decimal,
    /// When that was.
    triggers: HashSet<Millis>,
    matched: HashMap<String, Decimal>,
}

/// The keys of one venue.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// By the key of a second: the rows of the socket in it, each with its instant and its number among those of equal
    /// instants in a frame.
    seconds: HashMap<String, Vec<(Millis, u32)>>,
    positions: HashMap<String, Position>,
    order: VecDeque<(Millis, String)>,
    /// What is kept under keys without amount and price.
    former: HashMap<String, Vec<(Decimal, Decimal)>>,
}

/// The first fields of a key.
fn head(key: &str, fields: usize) -> &str {
    let end = key.match_indices('|').nth(fields.saturating_sub(1));
    end.map_or(key, |(end, _)| key.get(..end).unwrap_or(key))
}

/// `key`, and behind it the number of its event among equal ones.
fn numbered(key: &str, number: usize) -> String {
    if number > 1 {
        format!("{key}|{number}")
    } else {
        key.to_owned()
    }
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is kept under its key.
    Here,
    /// It is kept under a key of an earlier version.
    Before,
    /// It tells what is told already.
    Twice(String),
}

impl Keys {
    /// Gives the events of a frame or body the keys under which they are kept; those of a body in the order of time.
    pub(crate) fn assign(&mut self, keyed: Keyed, events: &mut [Event], way: Way, now: Millis) {
        match (keyed, way) {
            (Keyed::Whole, _) | (Keyed::BySecond, Way::Request) => {}
            (Keyed::BySecond, Way::Socket) => {
                self.forget(now);
                let mut equal: HashMap<(String, Option<Millis>), u32> = HashMap::new();
                for event in events {
                    // Venue, contract, second, size, price.
                    let second = head(&event.dedupe_key, 5).to_owned();
                    let at = event.timestamp;
                    let number = equal.entry((second.clone(), at)).or_default();
                    *number += 1;
                    let row = (at.unwrap_or_default(), *number);
                    if !self.seconds.contains_key(&second) {
                        self.order.push_back((now, second.clone()));
                    }
                    let rows = self.seconds.entry(second.clone()).or_default();
                    let place = rows.iter().position(|known| *known == row);
                    let place = place.unwrap_or_else(|| {
                        rows.push(row);
                        rows.len() - 1
                    });
                    event.dedupe_key = numbered(&second, place + 1);
                }
            }
            (Keyed::ByAmount, _) => {
                // Newest first is how it answers.
                events.sort_by_key(|event| event.timestamp);
                let mut equal: HashMap<String, usize> = HashMap::new();
                for event in events {
                    let (base, qty, price) = of_amount(event);
                    let key = format!("{base}|{qty}|{price}");
                    let number = equal.entry(key.clone()).or_default();
                    *number += 1;
                    event.dedupe_key = numbered(&key, *number);
                }
            }
        }
    }

    /// Takes note of positions whose liquidation is announced, with their amounts.
    pub(crate) fn announce(&mut self, announced: Vec<Announced>, now: Millis) {
        self.forget(now);
        for Announced { key, at, amount } in announced {
            let name = key;
            if !self.positions.contains_key(&name) {
                self.order.push_back((now, name.clone()));
            }
            let position = self.positions.entry(name).or_default();
            // What is liquidated anew is what is left of it, or more.
            if position.triggers.insert(at) {
                let so_far: Decimal = position.matched.values().copied().sum();
                position.announced = position.announced.max(so_far + amount);
            }
        }
    }

    /// What becomes of an event that has its key.
    pub(crate) fn look(&mut self, keyed: Keyed, event: &Event) -> Kept {
        if keyed != Keyed::ByAmount {
            return Kept::Here;
        }
        let (base, qty, price) = of_amount(event);
        if let Some(known) = self.former.get(base)
            && known.contains(&(qty, price))
        {
            return Kept::Before;
        }
        // Venue and position.
        let Some(position) = self.positions.get_mut(head(&event.dedupe_key, 2)) else {
            return Kept::Here;
        };
        if position.matched.contains_key(&event.dedupe_key) {
            return Kept::Here;
        }
        let so_far: Decimal = position.matched.values().copied().sum();
        if so_far + qty > position.announced {
            return Kept::Twice(format!(
                "{qty} and the {so_far} matched before are more than the {} of the position",
                position.announced
            ));
        }
        position.matched.insert(event.dedupe_key.clone(), qty);
        Kept::Here
    }

    /// Takes note of rows that may be kept under keys of an earlier version.
    pub(crate) fn remember(&mut self, rows: &[OrderRow]) {
        for row in rows {
            let key = row.dedupe_key.as_str();
            // With a number, at most; those of this version have amount and price.
            if key.split('|').count() <= 6 {
                let base = head(key, 5).to_owned();
                let told = (row.order.qty.normalize(), row.order.price.normalize());
                self.former.entry(base).or_default().push(told);
            }
        }
    }

    fn forget(&mut self, now: Millis) {
        while let Some((heard, _)) = self.order.front()
            && *heard < now.back(TOGETHER)
        {
            if let Some((_, name)) = self.order.pop_front() {
                self.seconds.remove(&name);
                self.positions.remove(&name);
            }
        }
    }
}

/// Position, instant, kind of match; amount and price.
fn of_amount(event: &Event) -> (&str, Decimal, Decimal) {
    let qty = event.qty.unwrap_or_default().normalize();
    (head(&event.dedupe_key, 5), qty, event.price.normalize())
}

#[cfg(test)]
mod tests {
    use crate::collect::intake::dedupe_keys::*;
    use crate::feeds::PriceKind;
    use crate::model::Side;

    fn event(key: &str, at: i64, qty: i64, price: i64) -> Event {
        Event {
            exchange: "gate",
            native_id: "X".to_owned(),
            symbol: "X".to_owned(),
            coin: "X".to_owned(),
            side: Side::Long,
            price: price.into(),
            price_kind: PriceKind::Fill,
            qty: Some(qty.into()),
            value_usd: None,
            timestamp: Some(Millis(at)),
            received_at: None,
            sampled: false,
            dedupe_key: key.to_owned(),
            group_id: None,
        }
    }

    fn assigned(keys: &mut Keys, keyed: Keyed, way: Way, mut events: Vec<Event>) -> Vec<String> {
        keys.assign(keyed, &mut events, way, Millis(0));
        events.into_iter().map(|event| event.dedupe_key).collect()
    }

    #[test]
    fn equal_rows_of_a_second_are_counted_by_their_milliseconds() {
        let mut keys = Keys::default();
        let mut socket = |rows: &[(&str, i64)]| {
            let events = rows.iter().map(|(key, at)| event(key, *at, 1, 1));
            assigned(&mut keys, Keyed::BySecond, Way::Socket, events.collect())
        };
        let key = "gate|X|5|-1|9";
        assert_eq!(socket(&[(key, 5100)]), [key]);
        // In another frame of the same second.
        assert_eq!(socket(&[(key, 5900)]), ["gate|X|5|-1|9|2"]);
        // The same again, in frames cut another way.
        let numbered = "gate|X|5|-1|9|2";
        assert_eq!(socket(&[(key, 5100), (numbered, 5900)]), [key, numbered]);
        // Two of one millisecond.
        let twice = socket(&[(key, 5950), (numbered, 5950)]);
        assert_eq!(twice, ["gate|X|5|-1|9|3", "gate|X|5|-1|9|4"]);
        let body = vec![event(key, 5000, 1, 1), event(numbered, 5000, 1, 1)];
        let by_rest = assigned(&mut keys, Keyed::BySecond, Way::Request, body);
        assert_eq!(by_rest, [key, numbered]);
    }

    #[test]
    fn matches_of_one_position_and_instant_are_told_apart_in_any_order() {
        let mut keys = Keys::default();
        let (first, second) = ("bitfinex|7|5|1|1", "bitfinex|7|5|1|1|2");
        let mut of = |rows: Vec<Event>| assigned(&mut keys, Keyed::ByAmount, Way::Socket, rows);
        let there = of(vec![event(first, 5, 10, 3), event(second, 5, 20, 4)]);
        assert_eq!(there, ["bitfinex|7|5|1|1|10|3", "bitfinex|7|5|1|1|20|4"]);
        let mut back = of(vec![event(first, 5, 20, 4), event(second, 5, 10, 3)]);
        back.sort();
        assert_eq!(back, there);
        let twice = of(vec![event(first, 5, 10, 3), event(second, 5, 10, 3)]);
        assert_eq!(twice, ["bitfinex|7|5|1|1|10|3", "bitfinex|7|5|1|1|10|3|2"]);
    }

    #[test]
    fn matches_that_come_to_more_than_their_position_are_one_told_twice() {
        let mut keys = Keys::default();
        let mut look = |announced: &[(&str, i64)], key: &str, at: i64, qty: i64| {
            let announced = announced.iter().map(|(name, amount)| Announced {
                key: (*name).to_owned(),
                at: Millis(at),
                amount: Decimal::from(*amount),
            });
            keys.announce(announced.collect(), Millis(at));
            let mut events = [event(key, at, qty, 1)];
            keys.assign(Keyed::ByAmount, &mut events, Way::Socket, Millis(at));
            let [event] = events;
            keys.look(Keyed::ByAmount, &event)
        };
        let position = [("bitfinex|7", 100)];
        assert_eq!(look(&position, "bitfinex|7|1|1|0", 1, 60), Kept::Here);
        assert_eq!(look(&[], "bitfinex|7|2|1|1", 2, 40), Kept::Here);
        assert_eq!(look(&[], "bitfinex|7|2|1|1", 2, 40), Kept::Here);
        assert!(matches!(
            look(&[], "bitfinex|7|3|1|1", 3, 39),
            Kept::Twice(_)
        ));
        // What is left is liquidated later, or more than that.
        assert_eq!(
            look(&[("bitfinex|7", 50)], "bitfinex|7|9|1|1", 9, 50),
            Kept::Here
        );
        // Of what was not announced nothing is known.
        assert_eq!(look(&[], "bitfinex|8|3|1|1", 3, 39), Kept::Here);
    }
}
