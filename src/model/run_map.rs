//! A map for rows of which many in a row have the same key.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

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
    last: Option<K>,
    value: V,
    others: HashMap<K, V>,
}

impl<K, V: Default> Default for RunMap<K, V> {
    fn default() -> Self {
        Self {
            last: None,
            value: V::default(),
            others: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash, V: Default> RunMap<K, V> {
    /// The value of `key`; a new key has the default value.
    #[inline]
    pub fn at<Q>(&mut self, key: &Q) -> &mut V
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        if !matches!(&self.last, Some(last) if last.borrow() == key) {
            self.change(key);
        }
        &mut self.value
    }

    fn change<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let (key, value) = self
            .others
            .remove_entry(key)
            .unwrap_or_else(|| (key.to_owned(), V::default()));
        let value = std::mem::replace(&mut self.value, value);
        if let Some(last) = self.last.replace(key) {
            self.others.insert(last, value);
        }
    }

    /// All keys with their values.
    pub fn into_map(self) -> HashMap<K, V> {
        let mut map = self.others;
        map.extend(self.last.map(|last| (last, self.value)));
        map
    }
}
