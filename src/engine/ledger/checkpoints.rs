//! Checkpoints of ledgers: states from which a replay goes on.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::ledger::parameters::version;
use crate::engine::ledger::replay::LedgerState;
use crate::model::{Millis, Model, Specification};

/// Number of checkpoints of a ledger that are no starts of months.
const RECENT: usize = 8;

/// Default bound of the memory of a [`LedgerCache`], in bytes.
const BYTES: usize = 256 << 20;

/// The ledger of a coin, a model and an exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerKey {
    /// Coin symbol.
    pub coin: String,
    /// The version of the model.
    pub version: String,
    /// The exchange, if the ledger is of one.
    pub exchange: Option<String>,
    /// Whether the model has the default parameters.
    pub is_default: bool,
}

/// The state of a ledger after a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerCheckpoint {
    /// Close of the bar.
    pub closed: Millis,
    /// Whether it is the last bar that closed by the start of a UTC month.
    pub is_month: bool,
    /// The instant by which all rows behind the state were received, if that is known.
    pub known_by: Option<Millis>,
    pub(crate) state: LedgerState,
}

impl LedgerKey {
    /// The key of the ledger of a model of the caller, or of a model with default parameters.
    #[must_use]
    pub fn new(
        coin: &str,
        model: Model,
        own: Option<&Specification>,
        exchange: Option<&str>,
    ) -> Self {
        Self {
            coin: coin.to_owned(),
            version: version(own, model),
            exchange: exchange.map(str::to_owned),
            is_default: own.is_none(),
        }
    }
}

impl LedgerCheckpoint {
    /// Approximate memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.state.ledger.bytes()
    }
}

/// A store of checkpoints.
pub trait LedgerStore: Debug + Sync {
    /// The last checkpoint of a ledger at or before `by`.
    fn last(&self, key: &LedgerKey, by: Millis) -> Option<Arc<LedgerCheckpoint>>;

    /// Adds a checkpoint.
    fn put(&self, key: &LedgerKey, checkpoint: LedgerCheckpoint);
}

/// Checkpoints in memory; the least recently used are evicted first.
#[derive(Debug)]
pub struct LedgerCache(Mutex<CacheState>);

#[derive(Debug)]
struct CacheState {
    ledgers: BTreeMap<LedgerKey, BTreeMap<Millis, CachedCheckpoint>>,
    bytes: usize,
    most: usize,
    /// Number of uses so far.
    uses: u64,
    /// Changes when checkpoints are dropped, so that replays in progress leave none.
    generation: u64,
}

#[derive(Debug)]
struct CachedCheckpoint {
    checkpoint: Arc<LedgerCheckpoint>,
    last_use: u64,
}

impl Default for LedgerCache {
    fn default() -> Self {
        Self::bounded(BYTES)
    }
}

impl LedgerCache {
    /// An empty cache of at most about `bytes`.
    #[must_use]
    pub fn bounded(bytes: usize) -> Self {
        Self(Mutex::new(CacheState {
            ledgers: BTreeMap::new(),
            bytes: 0,
            most: bytes,
            uses: 0,
            generation: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the checkpoints of a coin after `from`.
    pub fn forget(&self, coin: &str, from: Millis) {
        let mut cache = self.lock();
        cache.generation += 1;
        let mut freed = 0;
        for (key, checkpoints) in &mut cache.ledgers {
            if key.coin == coin {
                checkpoints.retain(|closed, cached| {
                    let stays = *closed <= from;
                    freed += if stays { 0 } else { cached.checkpoint.bytes() };
                    stays
                });
            }
        }
        cache.bytes -= freed;
    }

    /// Drops everything.
    pub fn clear(&self) {
        let mut cache = self.lock();
        cache.ledgers.clear();
        cache.bytes = 0;
        cache.generation += 1;
    }

    /// A number that changes when checkpoints are dropped.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// The last checkpoint of a ledger at or before `by` that was known by `as_of`.
    #[must_use]
    pub fn last_known(
        &self,
        key: &LedgerKey,
        by: Millis,
        as_of: Option<Millis>,
    ) -> Option<Arc<LedgerCheckpoint>> {
        let mut cache = self.lock();
        cache.uses += 1;
        let uses = cache.uses;
        let is_known = |cached: &CachedCheckpoint| {
            let known_by = cached.checkpoint.known_by;
            as_of.is_none_or(|at| known_by.is_some_and(|known_by| known_by <= at))
        };
        let mut checkpoints = cache.ledgers.get_mut(key)?.range_mut(..=by).rev();
        let (_, found) = checkpoints.find(|(_, cached)| is_known(cached))?;
        found.last_use = uses;
        Some(Arc::clone(&found.checkpoint))
    }

    /// Adds a checkpoint, unless checkpoints were dropped since `generation`.
    pub fn put_at(&self, generation: u64, key: &LedgerKey, checkpoint: LedgerCheckpoint) {
        let mut cache = self.lock();
        if cache.generation == generation {
            cache.put(key, checkpoint);
        }
    }
}

impl LedgerStore for LedgerCache {
    fn last(&self, key: &LedgerKey, by: Millis) -> Option<Arc<LedgerCheckpoint>> {
        self.last_known(key, by, None)
    }

    fn put(&self, key: &LedgerKey, checkpoint: LedgerCheckpoint) {
        self.lock().put(key, checkpoint);
    }
}

impl CacheState {
    fn put(&mut self, key: &LedgerKey, checkpoint: LedgerCheckpoint) {
        self.uses += 1;
        let cached = CachedCheckpoint {
            last_use: self.uses,
            checkpoint: Arc::new(checkpoint),
        };
        self.bytes += cached.checkpoint.bytes();
        let checkpoints = self.ledgers.entry(key.clone()).or_default();
        let closed = cached.checkpoint.closed;
        if let Some(before) = checkpoints.insert(closed, cached) {
            self.bytes -= before.checkpoint.bytes();
        }
        let recent = || {
            checkpoints
                .iter()
                .filter(|(_, one)| !one.checkpoint.is_month)
        };
        if recent().count() > RECENT {
            let oldest = recent().min_by_key(|(_, one)| one.last_use);
            if let Some(closed) = oldest.map(|(closed, _)| *closed)
                && let Some(one) = checkpoints.remove(&closed)
            {
                self.bytes -= one.checkpoint.bytes();
            }
        }
        self.evict();
    }

    /// Evicts the least recently used checkpoints while the cache is too large.
    fn evict(&mut self) {
        while self.bytes > self.most {
            let all = self.ledgers.iter().flat_map(|(key, checkpoints)| {
                checkpoints
                    .iter()
                    .map(move |(closed, one)| (one.last_use, key, closed))
            });
            let Some((_, key, closed)) = all.min() else {
                return;
            };
            let (key, closed) = (key.clone(), *closed);
            let Some(checkpoints) = self.ledgers.get_mut(&key) else {
                return;
            };
            if let Some(one) = checkpoints.remove(&closed) {
                self.bytes -= one.checkpoint.bytes();
            }
            if checkpoints.is_empty() {
                self.ledgers.remove(&key);
            }
        }
    }
}
