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
/// Maximum number of orders of one millisecond that are compared one by one.
const MOST_AT_ONCE: usize = 256;

/// Two hashes of an order. Together they are as good as the order.
type OrderHash = (u64, u64);

/// Counts how often each order occurs in a file.
#[derive(Debug)]
pub(super) struct Occurrences {
    orders: CountedOrders,
    hashing: [SeedableRandomState; 2],
}

/// The orders of a file that were counted before.
#[derive(Debug)]
enum CountedOrders {
    /// The orders of a file that is sorted by time so far. Only those of the last time can occur again.
    Sorted {
        all: Vec<OrderHash>,
        /// The last time.
        at: Millis,
        /// Index of the first order of the last time.
        first: usize,
    },
    /// The orders of another file, and how often each one occurred.
    Unsorted(HashTable<(OrderHash, u32)>),
}

impl CountedOrders {
    /// Counts an order; returns its number if an equal order was counted before.
    fn count(&mut self, order: OrderHash, timestamp: Millis) -> Option<u32> {
        let (all, at, first) = match self {
            Self::Sorted { all, at, first } => (all, at, first),
            Self::Unsorted(counts) => return add(counts, order),
        };
        if timestamp > *at {
            (*at, *first) = (timestamp, all.len());
        }
        if timestamp == *at
            && let Some(last) = all.get(*first..)
            && last.len() < MOST_AT_ONCE
        {
            let before: u32 = last.iter().map(|known| u32::from(*known == order)).sum();
            all.push(order);
            return (before > 0).then_some(before + 1);
        }
        let mut counts = HashTable::with_capacity(all.len());
        for known in all {
            add(&mut counts, *known);
        }
        *self = Self::Unsorted(counts);
        self.count(order, timestamp)
    }
}

/// Counts an order; returns its number if an equal order was counted before.
fn add(counts: &mut HashTable<(OrderHash, u32)>, order: OrderHash) -> Option<u32> {
    if let Some((_, times)) = counts.find_mut(order.0, |(known, _)| *known == order) {
        *times += 1;
        return Some(*times);
    }
    counts.insert_unique(order.0, (order, 1), |((hash, _), _)| *hash);
    None
}

impl Occurrences {
    /// Creates the empty state for the start of a file.
    pub(super) fn new() -> Self {
        Self {
            orders: CountedOrders::Sorted {
                all: Vec::new(),
                at: Millis(i64::MIN),
                first: 0,
            },
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
        self.orders.count((one, other), timestamp)
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
    use std::collections::HashMap;

    use proptest::prelude::*;

    use crate::collect::import::occurrence::*;

    proptest! {
        #[test]
        fn equal_orders_are_counted_in_any_sequence(
            mut orders in prop::collection::vec((0_i64..3, 0_i64..4), 0..2_000),
            is_sorted in any::<bool>(),
        ) {
            if is_sorted {
                orders.sort_unstable();
            }
            let mut counted = Occurrences::new();
            let mut expected: HashMap<(i64, i64), u32> = HashMap::new();
            for (at, amount) in orders {
                let order = (Side::Long, Millis(at), Decimal::from(amount), Decimal::ONE);
                let times = expected.entry((at, amount)).or_default();
                *times += 1;
                let number = counted.count("okx", "BTC-USDT", order);
                prop_assert_eq!(number, Some(*times).filter(|times| *times > 1));
            }
        }

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
