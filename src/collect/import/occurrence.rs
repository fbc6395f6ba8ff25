//! Unique keys for the orders of a table.
//!
//! A key has the values of the order, and a count for repeated rows.

use std::hash::BuildHasher as _;

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use rust_decimal::Decimal;

use crate::model::seeded;
use crate::model::{Millis, Side, Vocabulary as _, push_decimal};

/// Capacity in bytes reserved for a key, in addition to the contract name.
const KEY: usize = 56;

/// Counts how often each order occurs in a file.
#[derive(Debug)]
pub(super) struct Occurrences {
    /// Two hashes of each order, and how often it occurred. Together the hashes are as good as the order.
    orders: HashTable<(u64, u64, u32)>,
    hashing: [SeedableRandomState; 2],
}

impl Occurrences {
    /// Creates the empty state for the start of a file.
    pub(super) fn new() -> Self {
        Self {
            orders: HashTable::new(),
            hashing: [seeded(), seeded()],
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
        (side, timestamp, qty, price): OrderValues,
    ) -> Option<u32> {
        let said = (
            exchange,
            contract,
            side,
            timestamp,
            qty.serialize(),
            price.serialize(),
        );
        let [one, other] = self.hashing.each_ref().map(|state| state.hash_one(said));
        let is_it = |known: &(u64, u64, u32)| (known.0, known.1) == (one, other);
        if let Some((_, _, times)) = self.orders.find_mut(one, is_it) {
            *times += 1;
            return Some(*times);
        }
        self.orders
            .insert_unique(one, (one, other, 1), |known| known.0);
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
