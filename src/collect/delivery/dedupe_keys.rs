//! Dedupe keys of stored rows, where they differ from the keys of decoded events.
//!
//! The key of a decoded event contains every field of its message. Over REST and WebSocket, some exchanges send
//! different fields of one order, so the key of a stored row contains only the shared fields. Gate's REST rows have
//! times in whole seconds and its frames in milliseconds, so the stored key contains only the second. Rows that then have
//! the same key get a number appended, and both sources give the same numbers. HTX sends ids only over REST. Bitfinex may repeat a matched amount under a new key; such an event
//! exceeds the amount announced for its position.

use std::collections::{HashMap, HashSet, VecDeque};

use rust_decimal::Decimal;

use crate::feeds::{Event, KeyAmbiguity, PositionAnnouncement, first_fields};
use crate::model::Millis;

/// The origin of an event: live or past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrigin {
    /// The exchange sent the event over a connection when it happened.
    Live,
    /// The event was in the reply to a request, or in the history that follows a subscription.
    Past,
}

/// Maximum time in which the matches of a position count as one liquidation, in milliseconds.
const TOGETHER: i64 = 15 * Millis::MINUTE;

/// A trading position with an announced liquidation. The exchange reports its execution as one or more matches.
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
    /// Live rows by their key without milliseconds. Each row has its event time, and its number among the equal rows of
    /// this time in one frame.
    seconds: HashMap<String, Vec<(Millis, u32)>>,
    positions: HashMap<String, Position>,
    /// The keys of `seconds` and `positions` in order of insertion, to expire them.
    order: VecDeque<(Millis, String)>,
}

/// Appends to `key` the number of its event among equal events. The first event gets no number.
fn with_number(key: &str, number: usize) -> String {
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
        ambiguity: KeyAmbiguity,
        events: &mut [Event],
        origin: EventOrigin,
        now: Millis,
    ) {
        match (ambiguity, origin) {
            (KeyAmbiguity::Whole, _) => {}
            (KeyAmbiguity::BySecond, EventOrigin::Past) | (KeyAmbiguity::ById, _) => {
                let mut equal: HashMap<String, usize> = HashMap::new();
                for event in events {
                    let shared = ambiguity.shared(&event.dedupe_key).to_owned();
                    let number = equal.entry(shared.clone()).or_default();
                    *number += 1;
                    event.dedupe_key = with_number(&shared, *number);
                }
            }
            (KeyAmbiguity::BySecond, EventOrigin::Live) => {
                self.forget(now);
                let mut equal: HashMap<(String, Option<Millis>), u32> = HashMap::new();
                for event in events {
                    let second = ambiguity.shared(&event.dedupe_key).to_owned();
                    let at = event.timestamp;
                    let number = equal.entry((second.clone(), at)).or_default();
                    *number += 1;
                    let row = (at.unwrap_or_default(), *number);
                    if !self.seconds.contains_key(&second) {
                        self.order.push_back((now, second.clone()));
                    }
                    let rows = self.seconds.entry(second.clone()).or_default();
                    let index = rows.iter().position(|known| *known == row);
                    let index = index.unwrap_or_else(|| {
                        rows.push(row);
                        rows.len() - 1
                    });
                    event.dedupe_key = with_number(&second, index + 1);
                }
            }
            // The exchange sends the newest events first, but matches are subtracted from an announced amount in order
            // of time.
            (KeyAmbiguity::ByAmount, _) => events.sort_by_key(|event| event.timestamp),
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
            // A further announcement states the rest of the position, so the total is this amount plus the amount
            // matched so far.
            if position.triggers.insert(at) {
                let so_far: Decimal = position.matched.values().copied().sum();
                position.announced = position.announced.max(so_far + amount);
            }
        }
    }

    /// Returns a reason if an event exceeds the amount announced for its position.
    pub(crate) fn excess(&mut self, ambiguity: KeyAmbiguity, event: &Event) -> Option<String> {
        if ambiguity != KeyAmbiguity::ByAmount {
            return None;
        }
        let qty = event.qty.unwrap_or_default();
        // The first two fields of a key are exchange and position.
        let position = self.positions.get_mut(first_fields(&event.dedupe_key, 2))?;
        if position.matched.contains_key(&event.dedupe_key) {
            return None;
        }
        let so_far: Decimal = position.matched.values().copied().sum();
        if so_far + qty > position.announced {
            return Some(format!(
                "{qty} plus the {so_far} already matched exceeds the announced {} of the position",
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

#[cfg(test)]
mod tests {
    use crate::collect::delivery::dedupe_keys::*;
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
        ambiguity: KeyAmbiguity,
        origin: EventOrigin,
        mut events: Vec<Event>,
    ) -> Vec<String> {
        keys.assign(ambiguity, &mut events, origin, Millis(0));
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
        let (key, second) = ("gate|X|5|-1|9", "gate|X|5|-1|9|2");
        let (early, late) = ("gate|X|5|-1|9|100ms", "gate|X|5|-1|9|900ms");
        assert_eq!(socket(&[(early, 5100)]), [key]);
        // An equal row of the same second in another frame gets the number 2.
        assert_eq!(socket(&[(late, 5900)]), [second]);
        // The same two rows in one frame get the same keys.
        assert_eq!(socket(&[(early, 5100), (late, 5900)]), [key, second]);
        // Two further equal rows, both of the same millisecond, get the numbers 3 and 4.
        let rows = [
            ("gate|X|5|-1|9|950ms", 5950),
            ("gate|X|5|-1|9|950ms|2", 5950),
        ];
        let twice = socket(&rows);
        assert_eq!(twice, ["gate|X|5|-1|9|3", "gate|X|5|-1|9|4"]);
        // The same rows over REST, which adds the rest and the price of each fill, get the same keys.
        let body = vec![
            event("gate|X|5|-1|9|0|8.5", 5000, 1, 1),
            event("gate|X|5|-1|9|0|8.25", 5000, 1, 1),
        ];
        let by_rest = assigned(&mut keys, KeyAmbiguity::BySecond, EventOrigin::Past, body);
        assert_eq!(by_rest, [key, second]);
    }

    #[test]
    fn a_row_has_the_same_key_with_and_without_the_id_of_a_body() {
        let mut keys = DedupeKeys::default();
        let shared = "htx|X|sell|5|1|9";
        let mut of = |rows: [&str; 2], origin| {
            let events = rows.map(|key| event(key, 5, 1, 9)).into();
            assigned(&mut keys, KeyAmbiguity::ById, origin, events)
        };
        let by_socket = of([shared, "htx|X|sell|5|1|9|2"], EventOrigin::Live);
        assert_eq!(by_socket, [shared, "htx|X|sell|5|1|9|2"]);
        let by_rest = of(
            ["htx|X|sell|5|1|9|id 77", "htx|X|sell|5|1|9|id 78"],
            EventOrigin::Past,
        );
        assert_eq!(by_rest, by_socket);
    }

    #[test]
    fn matches_of_a_position_are_taken_in_order_of_time() {
        let mut keys = DedupeKeys::default();
        let (first, second) = ("bitfinex|7|5|1|1|10|3", "bitfinex|7|6|1|1|20|4");
        let rows = vec![event(second, 6, 20, 4), event(first, 5, 10, 3)];
        let assigned = assigned(&mut keys, KeyAmbiguity::ByAmount, EventOrigin::Past, rows);
        assert_eq!(assigned, [first, second]);
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
        assert_eq!(excess(&position, "bitfinex|7|1|1|0|60|1", 1, 60), None);
        assert_eq!(excess(&[], "bitfinex|7|2|1|1|40|1", 2, 40), None);
        assert_eq!(excess(&[], "bitfinex|7|2|1|1|40|1", 2, 40), None);
        assert!(excess(&[], "bitfinex|7|3|1|1|39|1", 3, 39).is_some());
        // A later announcement of 50 allows a further match of 50.
        assert_eq!(
            excess(&[("bitfinex|7", 50)], "bitfinex|7|9|1|1|50|1", 9, 50),
            None
        );
        // The amount of a position without an announcement is not limited.
        assert_eq!(excess(&[], "bitfinex|8|3|1|1|39|1", 3, 39), None);
    }
}
