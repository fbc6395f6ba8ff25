//! A map for rows of which many in a row have the same key.

use std::borrow::Borrow;
use std::hash::Hash;

use foldhash::quality::SeedableRandomState;
use indexmap::IndexMap;

use crate::model::text::hashing::seeded;

/// Values by key. The value of the last key is found without hashing.
///
/// # Examples
///
/// ```
/// use liqdata::model::RunMap;
///
/// let mut counts: RunMap<String, usize> = RunMap::default();
/// for coin in ["BTC", "BTC", "ETH", "BTC"] {
///     *counts.at(coin) += 1;
/// }
/// assert_eq!(counts.into_map()["BTC"], 3);
/// ```
#[derive(Clone, Debug)]
pub struct RunMap<K, V> {
    /// Place of the last key.
    last: usize,
    values: IndexMap<K, V, SeedableRandomState>,
}

impl<K, V> Default for RunMap<K, V> {
    fn default() -> Self {
        Self {
            last: 0,
            values: IndexMap::with_hasher(seeded()),
        }
    }
}

impl<K: Eq + Hash, V: Default> RunMap<K, V> {
    /// The value of `key`; a new key has the default value.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "the place is one of the map, which never shrinks"
    )]
    pub fn at<Q>(&mut self, key: &Q) -> &mut V
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let last = self.values.get_index(self.last);
        if !last.is_some_and(|(last, _)| last.borrow() == key) {
            self.last = self.place(key);
        }
        &mut self.values[self.last]
    }

    fn place<Q>(&mut self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let place = self.values.get_index_of(key);
        place.unwrap_or_else(|| self.values.insert_full(key.to_owned(), V::default()).0)
    }

    /// All keys with their values, in the order in which they came.
    pub fn into_map(self) -> IndexMap<K, V, SeedableRandomState> {
        self.values
    }
}
