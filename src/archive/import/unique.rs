//! Decimals by number: which are distinct, and which of them each is.

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

use crate::model::count;

/// Values after which it is seen whether enough of them are the same.
const LOOK: usize = 1024;

/// The distinct ones of some values; what it takes is used again for the next.
pub(crate) struct Unique {
    places: HashTable<u32>,
    values: Vec<i128>,
    numbers: Vec<u32>,
    /// Nobody foresees which values come to stand together.
    seed: u64,
}

impl Default for Unique {
    fn default() -> Self {
        Self {
            places: HashTable::new(),
            values: Vec::new(),
            numbers: Vec::new(),
            seed: RandomState::new().hash_one(0) | 1,
        }
    }
}

impl Unique {
    /// Numbers these values; gives whether so many are the same that it is worth it.
    pub(crate) fn number(&mut self, values: &[i128]) -> bool {
        self.places.clear();
        self.values.clear();
        self.numbers.clear();
        self.numbers.reserve(values.len());
        for piece in values.chunks(LOOK) {
            for value in piece {
                let number = self.number_of(*value);
                self.numbers.push(number);
            }
            if 4 * self.values.len() > 3 * self.numbers.len() {
                return false;
            }
        }
        true
    }

    fn number_of(&mut self, value: i128) -> u32 {
        let (seed, values) = (self.seed, &mut self.values);
        let hash = hash(seed, value);
        let is_it = |number: &u32| values.get(*number as usize) == Some(&value);
        if let Some(number) = self.places.find(hash, is_it) {
            return *number;
        }
        let number = count(values.len());
        values.push(value);
        let again = |number: &u32| {
            let value = values.get(*number as usize).copied();
            crate::archive::import::unique::hash(seed, value.unwrap_or_default())
        };
        self.places.insert_unique(hash, number, again);
        number
    }

    /// The distinct ones.
    pub(crate) fn values(&self) -> &[i128] {
        &self.values
    }

    /// Which of them each is.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }
}

/// Digits of the value that are far apart come together.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "halves of a number, and no order of them"
)]
fn hash(seed: u64, value: i128) -> u64 {
    let (low, high) = (value as u64, (value >> 64) as u64);
    let mixed =
        u128::from(low ^ seed) * u128::from(high.rotate_left(32) ^ seed.rotate_left(17) | 1);
    let folded = (mixed as u64) ^ ((mixed >> 64) as u64);
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::archive::import::unique::*;

    proptest! {
        #[test]
        fn each_value_is_what_its_number_says(few in prop::collection::vec(0_i128..50, 0..400), unit in 1_i128..1 << 60) {
            let values: Vec<i128> = few.iter().map(|value| value * unit).collect();
            let mut unique = Unique::default();
            // Those of before are forgotten.
            unique.number(&[-1, -2, -3, -3]);
            if unique.number(&values) {
                let told = unique.numbers().iter();
                let told = told.filter_map(|number| unique.values().get(*number as usize).copied());
                prop_assert_eq!(told.collect::<Vec<_>>(), values);
                let mut distinct = unique.values().to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), unique.values().len());
            }
        }
    }

    #[test]
    fn values_of_which_most_are_distinct_are_not_numbered() {
        let values: Vec<i128> = (0..5000).collect();
        assert!(!Unique::default().number(&values));
        assert!(!Unique::default().number(&[1, 2, 3]));
        assert!(Unique::default().number(&vec![7; 5000]));
        assert!(Unique::default().number(&[]));
    }
}
