//! Checkpoints of ledgers: states from which a replay goes on.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::engine::ledger::ledger::Ledger;
use crate::engine::ledger::ledger_state::{LedgerCounts, LedgerState, next_month};
use crate::engine::ledger::parameters::{Parameters, version};
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
    pub state: LedgerState,
}

impl LedgerKey {
    /// A name for files of this ledger.
    #[must_use]
    pub fn file_name(&self) -> String {
        let mut digest = Sha256::new();
        let exchange = self.exchange.as_deref().unwrap_or_default();
        for part in [&self.coin, &self.version, exchange] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        let short = digest
            .first_chunk()
            .map_or(0, |bytes| u64::from_be_bytes(*bytes));
        format!("{short:016x}")
    }

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
    /// The first start of a UTC month at or after an instant.
    #[must_use]
    pub fn month_after(instant: Millis) -> Millis {
        next_month(instant.back(1))
    }

    /// Approximate memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.state.ledger.bytes()
    }
}

/// Number at the start of an encoded checkpoint; changes with the encoding.
const ENCODING: u64 = 1;

impl LedgerCheckpoint {
    /// Encodes the checkpoint, with a checksum.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let state = &self.state;
        let counts = state.counts;
        let size = |count: usize| count as u64;
        let mut words = vec![
            ENCODING,
            self.closed.0.cast_unsigned(),
            u64::from(self.is_month),
            u64::from(self.known_by.is_some()),
            self.known_by.unwrap_or_default().0.cast_unsigned(),
            u64::from(state.is_relative),
            u64::from(state.has_open_interest),
            state.since.0.cast_unsigned(),
            state.last_interval.cast_unsigned(),
            size(counts.bars),
            counts.interval.cast_unsigned(),
            size(counts.partial),
            size(counts.gaps),
        ];
        state.ledger.write(&mut words);
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        let digest = Sha256::digest(&bytes);
        bytes.extend(digest);
        bytes
    }

    /// Decodes a checkpoint of a model with default parameters; `None` for damaged bytes and those of another encoding.
    #[must_use]
    pub fn decode(coin: &str, bytes: &[u8]) -> Option<Self> {
        let (bytes, digest) = bytes.split_last_chunk::<32>()?;
        if Sha256::digest(bytes)[..] != digest[..] {
            return None;
        }
        let (words, []) = bytes.as_chunks::<8>() else {
            return None;
        };
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next();
        if next()? != ENCODING {
            return None;
        }
        let closed = Millis(next()?.cast_signed());
        let is_month = next()? == 1;
        let known = next()? == 1;
        let known_by = Some(Millis(next()?.cast_signed())).filter(|_| known);
        let (is_relative, has_open_interest) = (next()? == 1, next()? == 1);
        let since = Millis(next()?.cast_signed());
        let last_interval = next()?.cast_signed();
        let mut size = || usize::try_from(next()?).ok();
        let bars = size()?;
        let interval = i64::try_from(size()?).ok()?;
        let counts = LedgerCounts {
            bars,
            interval,
            partial: size()?,
            gaps: size()?,
        };
        let ledger = Ledger::read(Parameters::of(None, coin), &mut words)?;
        Some(Self {
            closed,
            is_month,
            known_by,
            state: LedgerState {
                ledger,
                is_relative,
                has_open_interest,
                since,
                last_close: Some(closed),
                last_interval,
                counts,
            },
        })
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

    /// Whether there is a checkpoint of a ledger at a close.
    #[must_use]
    pub fn has(&self, key: &LedgerKey, closed: Millis) -> bool {
        let cache = self.lock();
        let checkpoints = cache.ledgers.get(key);
        checkpoints.is_some_and(|checkpoints| checkpoints.contains_key(&closed))
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::engine::Step;
    use crate::engine::ledger::checkpoints::*;

    /// A checkpoint with positions of some bars.
    fn checkpoint(closed: i64, is_month: bool) -> LedgerCheckpoint {
        let mut ledger = Ledger::new(Parameters::of(None, "BTC"), 1000.0);
        for step in 0..20 {
            let price = 100.0 + f64::from(step % 7);
            ledger.step(&Step {
                low: price - 1.0,
                high: price + 1.0,
                close: price,
                volume_ratio: 1.0,
                days: 0.01,
                open_interest: 1000.0 + f64::from(step),
                realised: [None, Some(0.5)],
            });
        }
        ledger.compact();
        LedgerCheckpoint {
            closed: Millis(closed),
            is_month,
            known_by: Some(Millis(closed + 5)),
            state: LedgerState {
                ledger,
                is_relative: false,
                has_open_interest: true,
                since: Millis(-7),
                last_close: Some(Millis(closed)),
                last_interval: 60_000,
                counts: LedgerCounts {
                    bars: 20,
                    interval: 60_000,
                    partial: 3,
                    gaps: 1,
                },
            },
        }
    }

    fn key(coin: &str) -> LedgerKey {
        LedgerKey::new(coin, Model::Exposure, None, None)
    }

    #[test]
    fn a_checkpoint_is_decoded_as_it_was_and_damaged_bytes_are_not() {
        let wanted = checkpoint(1_234_567, true);
        let bytes = wanted.encode();
        let found = LedgerCheckpoint::decode("BTC", &bytes).unwrap();
        assert_eq!(found, wanted);
        assert_eq!(found.encode(), bytes);
        for place in (0..bytes.len()).step_by(997) {
            let mut damaged = bytes.clone();
            if let Some(byte) = damaged.get_mut(place) {
                *byte ^= 4;
            }
            assert_eq!(LedgerCheckpoint::decode("BTC", &damaged), None);
        }
        assert_eq!(
            LedgerCheckpoint::decode("BTC", bytes.get(..40).unwrap()),
            None
        );
    }

    #[test]
    fn the_least_recently_used_checkpoints_are_evicted_first() {
        let each = checkpoint(0, true).bytes();
        let cache = LedgerCache::bounded(3 * each);
        for closed in 1..=3 {
            cache.put(&key("BTC"), checkpoint(closed, true));
        }
        let last = |coin: &str, by: i64| Some(cache.last(&key(coin), Millis(by))?.closed.0);
        assert_eq!(last("BTC", 1), Some(1));
        cache.put(&key("ETH"), checkpoint(9, true));
        assert_eq!(
            [1, 2, 3].map(|by| last("BTC", by)),
            [Some(1), Some(1), Some(3)]
        );
        assert_eq!(last("ETH", 9), Some(9));
        // Of a ledger, only so many checkpoints are no starts of months.
        let cache = LedgerCache::default();
        cache.put(&key("BTC"), checkpoint(0, true));
        for closed in 1..30 {
            cache.put(&key("BTC"), checkpoint(closed, false));
        }
        let known = (0..30).filter(|closed| cache.has(&key("BTC"), Millis(*closed)));
        assert_eq!(known.count(), RECENT + 1);
    }

    #[test]
    fn rows_that_arrive_late_drop_the_checkpoints_after_them() {
        let cache = LedgerCache::default();
        for (coin, closed) in [("BTC", 10), ("BTC", 20), ("ETH", 20)] {
            cache.put(&key(coin), checkpoint(closed, true));
        }
        let generation = cache.generation();
        cache.forget("BTC", Millis(15));
        let last = |coin: &str| Some(cache.last(&key(coin), Millis(99))?.closed.0);
        assert_eq!((last("BTC"), last("ETH")), (Some(10), Some(20)));
        // A replay that began before does not bring them back.
        cache.put_at(generation, &key("BTC"), checkpoint(20, true));
        assert_eq!(last("BTC"), Some(10));
        // As of an instant, only what was received by then counts.
        let known = |at| cache.last_known(&key("ETH"), Millis(99), Some(Millis(at)));
        assert!(known(24).is_none() && known(25).is_some());
    }
}
