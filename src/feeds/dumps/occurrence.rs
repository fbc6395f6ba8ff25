//! What tells an order of a table from all others: what it says, and how often the same stood before it.

use std::hash::BuildHasher as _;

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use rust_decimal::Decimal;

use crate::feeds::dumps::row::RowOrder;
use crate::model::seeded;
use crate::model::{Interner, Millis, Order, Side, Vocabulary as _, count, push_decimal};

/// Bytes that a key has beside its contract, as a rule.
const KEY: usize = 56;

/// What an order says beside its worth, numbers without zeros at their end: of two that say the same the keys are the same.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Said {
    exchange: u32,
    contract: u32,
    side: Side,
    timestamp: Millis,
    qty: [u8; 16],
    price: [u8; 16],
}

/// How often each order stood in the file so far.
#[derive(Debug)]
pub(crate) struct Seen {
    orders: Vec<(Said, u32)>,
    /// The places of orders with the half of their hashes, so that no order is looked at to find another.
    places: HashTable<(u32, u32)>,
    hashing: SeedableRandomState,
    /// Exchanges and contracts by number.
    names: Interner,
}

impl Seen {
    /// Of a file that begins.
    pub(crate) fn new() -> Self {
        Self {
            orders: Vec::new(),
            places: HashTable::new(),
            hashing: seeded(),
            names: Interner::default(),
        }
    }

    /// Gives an order a key of its own. Two equal lines are two orders: nothing says that one of them stands twice.
    pub(crate) fn number(&mut self, order: &mut RowOrder, contract: &str) {
        let Order {
            exchange,
            side,
            price,
            qty,
            timestamp,
            ..
        } = &order.order;
        let said = Said {
            exchange: self.names.code(exchange),
            contract: self.names.code(contract),
            side: *side,
            timestamp: *timestamp,
            qty: qty.serialize(),
            price: price.serialize(),
        };
        let half = half(self.hashing.hash_one(&said));
        let is_it = |(other, place): &(u32, u32)| {
            let known = self.orders.get(*place as usize);
            *other == half && known.is_some_and(|(known, _)| *known == said)
        };
        if let Some((_, place)) = self.places.find(spread(half), is_it) {
            if let Some((_, times)) = self.orders.get_mut(*place as usize) {
                *times += 1;
                order.dedupe_key.push('|');
                let mut text = itoa::Buffer::new();
                order.dedupe_key.push_str(text.format(*times));
            }
            return;
        }
        let place = count(self.orders.len());
        self.orders.push((said, 1));
        let again = |(half, _): &(u32, u32)| spread(*half);
        self.places
            .insert_unique(spread(half), (half, place), again);
    }
}

/// The lower half of a hash.
#[expect(clippy::cast_possible_truncation, reason = "a half is meant")]
fn half(hash: u64) -> u32 {
    hash as u32
}

/// A whole hash of a half.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What tells an order from all others, where it stands once. Numbers have no zeros at their end.
pub(crate) fn key(contract: &str, side: Side, timestamp: Millis, numbers: [Decimal; 2]) -> String {
    let mut key = String::with_capacity(contract.len() + KEY);
    key.push_str("file|");
    key.push_str(contract);
    key.push('|');
    key.push_str(side.name());
    key.push('|');
    key.push_str(itoa::Buffer::new().format(timestamp.0));
    for number in numbers {
        key.push('|');
        push_decimal(&mut key, number);
    }
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::feeds::decoding::event::stripped;
    use crate::feeds::dumps::occurrence::*;

    proptest! {
        /// An archive that was ingested before has these.
        #[test]
        fn a_key_is_what_it_was(digits in 1..i128::from(i64::MAX) * 1_000, scale in 0_u32..=28, at in 0..i64::MAX) {
            let number = stripped(Decimal::from_i128_with_scale(digits, scale));
            prop_assert_eq!(
                key("BTC-USDT", Side::Short, Millis(at), [number, Decimal::ONE]),
                format!("file|BTC-USDT|SHORT|{at}|{number}|1")
            );
        }
    }
}
