//! Dedupe keys of exchanges where the content of an event does not identify it.
//!
//! Gate's REST rows have times in seconds, its frames in milliseconds. Equal rows of one second are therefore
//! numbered, which gives the same keys in both. Bitfinex may match one position twice in one millisecond, so amount
//! and price are part of its key.

use std::collections::{HashMap, HashSet, VecDeque};

use rust_decimal::Decimal;

use crate::feeds::{Event, KeyAmbiguity, PositionAnnouncement};
use crate::model::Millis;

/// The origin of an event: live or past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrigin {
    /// A connection sent it when it happened.
    Live,
    /// It was in the reply to a request, or in the history that follows a subscription.
    Past,
}

/// Time within which the matches of a position count as one liquidation, in milliseconds.
const TOGETHER: i64 = 15 * Millis::MINUTE;

/// A position with an announced liquidation.
#[derive(Debug, Default)]
struct Position {
    announced: Decimal,
    /// The times of the announcements.
    triggers: HashSet<Millis>,
    /// Matched quantities, by dedupe key.
    matched: HashMap<String, Decimal>,
}

/// Assigns the dedupe keys of one exchange.
#[derive(Debug, Default)]
pub(crate) struct DedupeKeys {
    /// Live rows by the key without milliseconds. Each has its time, and its number among the equal rows of that time
    /// in one frame.
    seconds: HashMap<String, Vec<(Millis, u32)>>,
    positions: HashMap<String, Position>,
    /// The keys of `seconds` and `positions` in order of insertion, to expire them.
    order: VecDeque<(Millis, String)>,
}

/// The first `fields` fields of a key, which are separated by `|`.
fn head(key: &str, fields: usize) -> &str {
    let end = key.match_indices('|').nth(fields.saturating_sub(1));
    end.map_or(key, |(end, _)| key.get(..end).unwrap_or(key))
}

/// Appends to `key` the number of its event among equal ones; the first has none.
fn numbered(key: &str, number: usize) -> String {
    if number > 1 {
        format!("{key}|{number}")
    } else {
        key.to_owned()
    }
}

impl DedupeKeys {
    /// Assigns final keys to the events of one frame or body.
    pub(crate) fn assign(
        &mut self,
        keyed: KeyAmbiguity,
        events: &mut [Event],
        origin: EventOrigin,
        now: Millis,
    ) {
        match (keyed, origin) {
            (KeyAmbiguity::Whole, _) | (KeyAmbiguity::BySecond, EventOrigin::Past) => {}
            (KeyAmbiguity::BySecond, EventOrigin::Live) => {
                self.forget(now);
                let mut equal: HashMap<(String, Option<Millis>), u32> = HashMap::new();
                for event in events {
                    // The five fields are venue, contract, second, size and price.
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
            (KeyAmbiguity::ByAmount, _) => {
                // The exchange sends the newest events first; keys are numbered from the oldest.
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

    /// Records announced liquidations of positions, with their amounts.
    pub(crate) fn announce(&mut self, announced: Vec<PositionAnnouncement>, now: Millis) {
        self.forget(now);
        for PositionAnnouncement { key, at, amount } in announced {
            let name = key;
            if !self.positions.contains_key(&name) {
                self.order.push_back((now, name.clone()));
            }
            let position = self.positions.entry(name).or_default();
            // A further announcement is about the rest of the position, so its amount is added to the amount matched
            // so far.
            if position.triggers.insert(at) {
                let so_far: Decimal = position.matched.values().copied().sum();
                position.announced = position.announced.max(so_far + amount);
            }
        }
    }

    /// Returns a reason if an event exceeds the amount announced for its position.
    pub(crate) fn excess(&mut self, keyed: KeyAmbiguity, event: &Event) -> Option<String> {
        if keyed != KeyAmbiguity::ByAmount {
            return None;
        }
        let (_, qty, _) = of_amount(event);
        // These fields are venue and position.
        let position = self.positions.get_mut(head(&event.dedupe_key, 2))?;
        if position.matched.contains_key(&event.dedupe_key) {
            return None;
        }
        let so_far: Decimal = position.matched.values().copied().sum();
        if so_far + qty > position.announced {
            return Some(format!(
                "{qty} and the {so_far} matched before are more than the {} of the position",
                position.announced
            ));
        }
        position.matched.insert(event.dedupe_key.clone(), qty);
        None
    }

    fn forget(&mut self, now: Millis) {
        while let Some((added, _)) = self.order.front()
            && *added < now.back(TOGETHER)
        {
            if let Some((_, name)) = self.order.pop_front() {
                self.seconds.remove(&name);
                self.positions.remove(&name);
            }
        }
    }
}

/// The first part of the key (up to the kind of match), the quantity, and the price.
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

    fn assigned(
        keys: &mut DedupeKeys,
        keyed: KeyAmbiguity,
        origin: EventOrigin,
        mut events: Vec<Event>,
    ) -> Vec<String> {
        keys.assign(keyed, &mut events, origin, Millis(0));
        events.into_iter().map(|event| event.dedupe_key).collect()
    }

    #[test]
    fn equal_rows_of_a_second_are_numbered_by_their_milliseconds() {
        let mut keys = DedupeKeys::default();
        let mut socket = |rows: &[(&str, i64)]| {
            let events = rows.iter().map(|(key, at)| event(key, *at, 1, 1));
            assigned(
                &mut keys,
                KeyAmbiguity::BySecond,
                EventOrigin::Live,
                events.collect(),
            )
        };
        let key = "gate|X|5|-1|9";
        assert_eq!(socket(&[(key, 5100)]), [key]);
        // An equal row of the same second, in another frame.
        assert_eq!(socket(&[(key, 5900)]), ["gate|X|5|-1|9|2"]);
        // The same rows again, divided into frames in another way.
        let numbered = "gate|X|5|-1|9|2";
        assert_eq!(socket(&[(key, 5100), (numbered, 5900)]), [key, numbered]);
        // Two equal rows of the same millisecond.
        let twice = socket(&[(key, 5950), (numbered, 5950)]);
        assert_eq!(twice, ["gate|X|5|-1|9|3", "gate|X|5|-1|9|4"]);
        let body = vec![event(key, 5000, 1, 1), event(numbered, 5000, 1, 1)];
        let by_rest = assigned(&mut keys, KeyAmbiguity::BySecond, EventOrigin::Past, body);
        assert_eq!(by_rest, [key, numbered]);
    }

    #[test]
    fn matches_of_one_position_and_instant_have_their_own_keys_in_any_order() {
        let mut keys = DedupeKeys::default();
        let (first, second) = ("bitfinex|7|5|1|1", "bitfinex|7|5|1|1|2");
        let mut of =
            |rows: Vec<Event>| assigned(&mut keys, KeyAmbiguity::ByAmount, EventOrigin::Live, rows);
        let there = of(vec![event(first, 5, 10, 3), event(second, 5, 20, 4)]);
        assert_eq!(there, ["bitfinex|7|5|1|1|10|3", "bitfinex|7|5|1|1|20|4"]);
        let mut back = of(vec![event(first, 5, 20, 4), event(second, 5, 10, 3)]);
        back.sort();
        assert_eq!(back, there);
        let twice = of(vec![event(first, 5, 10, 3), event(second, 5, 10, 3)]);
        assert_eq!(twice, ["bitfinex|7|5|1|1|10|3", "bitfinex|7|5|1|1|10|3|2"]);
    }

    #[test]
    fn a_match_that_exceeds_its_position_is_an_excess() {
        let mut keys = DedupeKeys::default();
        let mut excess = |announced: &[(&str, i64)], key: &str, at: i64, qty: i64| {
            let announced = announced.iter().map(|(name, amount)| PositionAnnouncement {
                key: (*name).to_owned(),
                at: Millis(at),
                amount: Decimal::from(*amount),
            });
            keys.announce(announced.collect(), Millis(at));
            let mut events = [event(key, at, qty, 1)];
            keys.assign(
                KeyAmbiguity::ByAmount,
                &mut events,
                EventOrigin::Live,
                Millis(at),
            );
            let [event] = events;
            keys.excess(KeyAmbiguity::ByAmount, &event)
        };
        let position = [("bitfinex|7", 100)];
        assert_eq!(excess(&position, "bitfinex|7|1|1|0", 1, 60), None);
        assert_eq!(excess(&[], "bitfinex|7|2|1|1", 2, 40), None);
        assert_eq!(excess(&[], "bitfinex|7|2|1|1", 2, 40), None);
        assert!(excess(&[], "bitfinex|7|3|1|1", 3, 39).is_some());
        // Later the rest of the position is liquidated, or a larger amount.
        assert_eq!(
            excess(&[("bitfinex|7", 50)], "bitfinex|7|9|1|1", 9, 50),
            None
        );
        // Without an announcement there is no limit.
        assert_eq!(excess(&[], "bitfinex|8|3|1|1", 3, 39), None);
    }
}
