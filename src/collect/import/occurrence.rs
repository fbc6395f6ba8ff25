//! Unique keys for the orders of a table.
//!
//! A key has the values of the order, and a count for repeated rows.

use std::hash::BuildHasher as _;

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use rust_decimal::Decimal;

use crate::model::seeded;
use crate::model::{Interner, Millis, Side, Vocabulary as _, count, push_decimal};

/// Capacity in bytes reserved for a key, in addition to the contract name.
const KEY: usize = 56;

/// The values of an order that form its key; numbers have no trailing zeros.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Said {
    exchange: u32,
    contract: u32,
    side: Side,
    timestamp: Millis,
    qty: [u8; 16],
    price: [u8; 16],
}

/// Counts how often each order occurs in a file.
#[derive(Debug)]
pub(super) struct Occurrences {
    orders: Vec<(Said, u32)>,
    /// Indices into `orders`, each with half of the order's hash.
    ///
    /// Most lookups compare only these hashes.
    places: HashTable<(u32, u32)>,
    hashing: SeedableRandomState,
    /// Names of exchanges and contracts, each replaced by a number.
    names: Interner,
}

impl Occurrences {
    /// Creates the empty state for the start of a file.
    pub(super) fn new() -> Self {
        Self {
            orders: Vec::new(),
            places: HashTable::new(),
            hashing: seeded(),
            names: Interner::default(),
        }
    }

    /// Counts an order; returns its key if an equal order was counted before.
    ///
    /// Equal lines are distinct orders, because nothing marks one of them as a duplicate. From the second equal line
    /// on, the key ends in the number of the occurrence. The first one has the key of its values.
    pub(super) fn repeated(
        &mut self,
        exchange: &str,
        contract: &str,
        order: OrderValues,
    ) -> Option<String> {
        let times = self.count(exchange, contract, order)?;
        let (side, timestamp, qty, price) = order;
        Some(numbered(
            key(contract, side, timestamp, [qty, price]),
            times,
        ))
    }

    /// Counts an order; returns its number if an equal order was counted before.
    pub(super) fn count(
        &mut self,
        exchange: &str,
        contract: &str,
        order: OrderValues,
    ) -> Option<u32> {
        let (side, timestamp, qty, price) = order;
        let said = Said {
            exchange: self.names.code(exchange),
            contract: self.names.code(contract),
            side,
            timestamp,
            qty: qty.serialize(),
            price: price.serialize(),
        };
        let half = half(self.hashing.hash_one(&said));
        let is_it = |(other, place): &(u32, u32)| {
            let known = self.orders.get(*place as usize);
            *other == half && known.is_some_and(|(known, _)| *known == said)
        };
        if let Some((_, place)) = self.places.find(spread(half), is_it) {
            let (_, times) = self.orders.get_mut(*place as usize)?;
            *times += 1;
            return Some(*times);
        }
        let place = count(self.orders.len());
        self.orders.push((said, 1));
        let again = |(half, _): &(u32, u32)| spread(*half);
        self.places
            .insert_unique(spread(half), (half, place), again);
        None
    }
}

/// The key of the occurrence `times` of an order.
pub(super) fn numbered(mut key: String, times: u32) -> String {
    key.push('|');
    key.push_str(itoa::Buffer::new().format(times));
    key
}

/// Side, time, quantity and price of an order; numbers have no trailing zeros.
pub(super) type OrderValues = (Side, Millis, Decimal, Decimal);

/// Returns the lower half of a hash.
#[expect(
    clippy::cast_possible_truncation,
    reason = "half of the hash is enough"
)]
fn half(hash: u64) -> u32 {
    hash as u32
}

/// Expands half of a hash to a full hash.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the key of the first occurrence of an order; `numbers` have no trailing zeros.
fn key(contract: &str, side: Side, timestamp: Millis, numbers: [Decimal; 2]) -> String {
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

    use crate::collect::import::occurrence::*;

    proptest! {
        /// The format of keys must not change, because existing archives contain them.
        #[test]
        fn a_key_is_what_it_was(digits in 1..i128::from(i64::MAX) * 1_000, scale in 0_u32..=28, at in 0..i64::MAX) {
            let number = Decimal::from_i128_with_scale(digits, scale).normalize();
            prop_assert_eq!(
                key("BTC-USDT", Side::Short, Millis(at), [number, Decimal::ONE]),
                format!("file|BTC-USDT|SHORT|{at}|{number}|1")
            );
        }
    }
}
