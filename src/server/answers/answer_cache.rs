//! Caches encoded answers within a memory limit.
//!
//! An answer is either *estimated* (computed with the liquidation model) or *realised* (computed from observed orders).
//! The first request for a missing answer computes it. Concurrent requests for the same answer wait for that
//! computation.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use futures_util::future::BoxFuture;
use quick_cache::sync::{Cache, DefaultLifecycle, EntryAction, EntryResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::contract::GridHashes;
use crate::market::{EstimateBasis, Revision};
use crate::model::Millis;
use crate::server::reject::Rejection;

/// Overhead of an entry in bytes.
const OVERHEAD: usize = 512;
/// Size of a typical entry: the encoded heatmap of a day.
const USUAL: u64 = 256 << 10;

/// The key of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CacheKey {
    /// An estimate: the question, and the revision of the data that the answer depends on.
    Estimate { question: String, revision: u64 },
    /// A realised answer. A newer answer to the same question replaces this one.
    Realised { question: String },
    /// A compressed answer: number of the uncompressed answer, and content encoding.
    Packed { number: u64, encoding: String },
    /// The hashes of a heatmap: number of its answer.
    Hashes { number: u64 },
}

/// An encoded estimate.
#[derive(Debug)]
pub(crate) struct Estimated {
    /// A number that is unique among all estimates of this process.
    pub(crate) number: u64,
    pub(crate) body: Bytes,
    pub(crate) explain: Option<EstimateBasis>,
    /// Time of the last change of the data that the estimate depends on.
    pub(crate) changed_at: Millis,
    /// The instant at which the last bar becomes too old, so that the answer changes without new data.
    pub(crate) until: Option<Millis>,
}

/// An encoded realised answer.
#[derive(Clone, Debug)]
pub(crate) struct Realised {
    /// A number that is unique among all answers of this process.
    pub(crate) number: u64,
    pub(crate) body: Bytes,
    /// The market revision from which the whole answer is computed. `None` if the market changed during the
    /// computation; the answer is then not cached.
    pub(crate) revision: Option<Revision>,
}

#[derive(Clone, Debug)]
enum Entry {
    Estimate(Arc<Estimated>),
    Realised(Realised),
    Packed(Bytes),
    Hashes(Arc<GridHashes>),
}

impl Entry {
    fn lasts(&self) -> bool {
        match self {
            Self::Realised(realised) => realised.revision.is_some(),
            Self::Estimate(_) | Self::Packed(_) | Self::Hashes(_) => true,
        }
    }
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<CacheKey, Entry> for Weight {
    fn weight(&self, key: &CacheKey, entry: &Entry) -> u64 {
        let name = match key {
            CacheKey::Estimate { question, .. } | CacheKey::Realised { question } => question.len(),
            CacheKey::Packed { encoding, .. } => encoding.len(),
            CacheKey::Hashes { .. } => 0,
        };
        let bytes = match entry {
            Entry::Estimate(estimated) => estimated.body.len(),
            Entry::Realised(realised) => realised.body.len(),
            Entry::Packed(bytes) => bytes.len(),
            Entry::Hashes(hashes) => hashes.size(),
        };
        (name + bytes + OVERHEAD) as u64
    }
}

/// The answer cache; cheap to clone.
#[derive(Clone)]
pub(crate) struct Encoded {
    entries: Arc<Cache<CacheKey, Entry, Weight>>,
    made: Arc<AtomicU64>,
}

impl Encoded {
    /// Creates an empty cache of `room` bytes.
    pub(crate) fn of(room: u64) -> Self {
        // With a single shard, one entry may use the whole memory.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(usize::try_from(room / USUAL).unwrap_or(1).max(16))
            .weight_capacity(room)
            .build();
        let entries = match options {
            Ok(options) => Cache::with_options(
                options,
                Weight,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            // All three options are set, so `build` cannot fail.
            Err(_) => Cache::with(
                16,
                room,
                Weight,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
        };
        Self {
            entries: Arc::new(entries),
            made: Arc::default(),
        }
    }

    /// Creates another cache of `room` bytes that numbers its answers with the same counter.
    pub(crate) fn sibling(&self, room: u64) -> Self {
        Self {
            made: Arc::clone(&self.made),
            ..Self::of(room)
        }
    }

    /// Draws the number of the next answer.
    pub(crate) fn number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// Number of answers computed so far.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Returns the cached estimate for `key` if it is valid at `now`. Otherwise computes it with `make`.
    pub(crate) async fn estimate(
        &self,
        key: &CacheKey,
        now: Millis,
        make: impl Future<Output = Result<Estimated, Rejection>> + Send + 'static,
    ) -> Result<Arc<Estimated>, Rejection> {
        let make = async { Ok(Entry::Estimate(Arc::new(make.await?))) };
        let good = move |entry: &Entry| match entry {
            Entry::Estimate(estimated) => estimated.until.is_none_or(|until| now < until),
            Entry::Realised(_) | Entry::Packed(_) | Entry::Hashes(_) => false,
        };
        match self.entry(key, good, make).await? {
            Entry::Estimate(estimated) => Ok(estimated),
            _ => Err(Rejection::Defect),
        }
    }

    /// Returns the cached answer for `key` if it has `revision` or a later one. Otherwise computes it with `make`.
    pub(crate) async fn realised(
        &self,
        key: &CacheKey,
        revision: Revision,
        make: impl Future<Output = Result<Realised, Rejection>> + Send + 'static,
    ) -> Result<Realised, Rejection> {
        let make = async { Ok(Entry::Realised(make.await?)) };
        let good = move |entry: &Entry| match entry {
            Entry::Realised(realised) => realised
                .revision
                .is_some_and(|of| of.number >= revision.number),
            Entry::Estimate(_) | Entry::Packed(_) | Entry::Hashes(_) => false,
        };
        match self.entry(key, good, make).await? {
            Entry::Realised(realised) => Ok(realised),
            _ => Err(Rejection::Defect),
        }
    }

    /// Returns the cached compressed bytes for `key`. Computes them with `make` if they are missing.
    pub(crate) async fn packed(
        &self,
        key: &CacheKey,
        make: impl Future<Output = Result<Bytes, Rejection>> + Send + 'static,
    ) -> Result<Bytes, Rejection> {
        let make = async { Ok(Entry::Packed(make.await?)) };
        match self.entry(key, |_| true, make).await? {
            Entry::Packed(bytes) => Ok(bytes),
            _ => Err(Rejection::Defect),
        }
    }

    /// Stores the hashes of the heatmap with this number.
    pub(crate) fn keep_hashes(&self, number: u64, hashes: Arc<GridHashes>) {
        self.entries
            .insert(CacheKey::Hashes { number }, Entry::Hashes(hashes));
    }

    /// Returns the hashes of the heatmap with this number, if they are still stored.
    pub(crate) fn hashes(&self, number: u64) -> Option<Arc<GridHashes>> {
        match self.entries.get(&CacheKey::Hashes { number })? {
            Entry::Hashes(hashes) => Some(hashes),
            _ => None,
        }
    }

    /// Returns the entry for `key` if `good` accepts it. Otherwise computes it with `make` and replaces the entry.
    async fn entry(
        &self,
        key: &CacheKey,
        good: impl Fn(&Entry) -> bool + Send + 'static,
        make: impl Future<Output = Result<Entry, Rejection>> + Send + 'static,
    ) -> Result<Entry, Rejection> {
        if let Some(entry) = self.entries.get(key).filter(&good) {
            return Ok(entry);
        }
        self.made_once(key.clone(), Box::new(good), Box::pin(make))
            .await
    }

    /// Completes [`Encoded::entry`] after a first lookup without success: at most one caller computes the entry.
    async fn made_once(
        &self,
        key: CacheKey,
        good: Box<dyn Fn(&Entry) -> bool + Send>,
        make: BoxFuture<'static, Result<Entry, Rejection>>,
    ) -> Result<Entry, Rejection> {
        let entries = Arc::clone(&self.entries);
        // Other requests may wait for this computation. As a separate task, it continues if the request that started it
        // ends.
        let task = tokio::spawn(async move {
            let reuse = move |_: &CacheKey, entry: &mut Entry| {
                if good(entry) {
                    EntryAction::Retain(entry.clone())
                } else {
                    EntryAction::ReplaceWithGuard
                }
            };
            let vacant = match entries.entry_async(&key, reuse).await {
                EntryResult::Retained(entry) => return Ok(entry),
                EntryResult::Vacant(vacant) | EntryResult::Replaced(vacant, _) => vacant,
                // The closure `reuse` never returns an action with these results.
                EntryResult::Removed(..) | EntryResult::Timeout => return Err(Rejection::Defect),
            };
            let entry = make.await?;
            if entry.lasts() {
                // Fails only if another task inserted the entry meanwhile.
                let _ = vacant.insert(entry.clone());
            }
            Ok(entry)
        });
        task.await.unwrap_or_else(|failure| {
            log::error!("an answer failed: {failure}");
            Err(Rejection::Defect)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use futures_util::future::join_all;
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    use crate::server::answers::answer_cache::*;

    type Answer = Result<Arc<Estimated>, Rejection>;

    fn estimated(number: u64, size: usize) -> Estimated {
        Estimated {
            number,
            body: vec![b'x'; size].into(),
            explain: None,
            changed_at: Millis(0),
            until: None,
        }
    }

    fn ask(
        encoded: &Encoded,
        question: &str,
        make: impl Future<Output = Result<Estimated, Rejection>> + Send + 'static,
    ) -> JoinHandle<Answer> {
        let encoded = encoded.clone();
        let key = CacheKey::Estimate {
            question: question.to_string(),
            revision: 0,
        };
        tokio::spawn(async move { encoded.estimate(&key, Millis(0), make).await })
    }

    /// Requests a map; its computation waits for `release`.
    fn ask_long(encoded: &Encoded, release: &Arc<Notify>) -> JoinHandle<Answer> {
        let (release, counter) = (Arc::clone(release), encoded.clone());
        ask(encoded, "map", async move {
            let number = counter.number();
            release.notified().await;
            Ok(estimated(number, 10))
        })
    }

    async fn begun(encoded: &Encoded) {
        while encoded.made() == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_hundred_who_ask_at_once_wait_for_one() {
        let encoded = Encoded::of(1 << 20);
        let release = Arc::new(Notify::new());
        let requests: Vec<_> = (0..100).map(|_| ask_long(&encoded, &release)).collect();
        begun(&encoded).await;
        release.notify_one();
        for answer in join_all(requests).await {
            assert_eq!(answer.unwrap().unwrap().number, 0);
        }
        assert_eq!(encoded.made(), 1);
    }

    #[tokio::test]
    async fn who_asked_first_may_leave_while_others_wait() {
        let encoded = Encoded::of(1 << 20);
        let release = Arc::new(Notify::new());
        let first = ask_long(&encoded, &release);
        begun(&encoded).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let second = ask(&encoded, "map", async { Err(Rejection::Defect) });
        release.notify_one();
        assert_eq!(second.await.unwrap().unwrap().number, 0);
    }

    #[tokio::test]
    async fn a_failure_is_not_cached() {
        let encoded = Encoded::of(1 << 20);
        let failed = ask(&encoded, "map", async { Err(Rejection::Busy) }).await;
        assert!(matches!(failed.unwrap(), Err(Rejection::Busy)));
        let made = ask(&encoded, "map", async { Ok(estimated(7, 1)) }).await;
        assert_eq!(made.unwrap().unwrap().number, 7);
    }

    fn at(number: u64) -> Revision {
        Revision {
            number,
            changed_at: Millis(0),
        }
    }

    /// Requests an answer of revision `wanted`. The computation waits for `release` and returns an answer of revision
    /// `of`.
    fn ask_realised(
        encoded: &Encoded,
        wanted: u64,
        of: Option<u64>,
        release: &Arc<Notify>,
    ) -> JoinHandle<Realised> {
        let (encoded, release) = (encoded.clone(), Arc::clone(release));
        let key = CacheKey::Realised {
            question: "coins".to_owned(),
        };
        tokio::spawn(async move {
            let number = encoded.made.clone();
            let make = async move {
                let number = number.fetch_add(1, Ordering::Relaxed);
                release.notified().await;
                Ok(Realised {
                    number,
                    body: Bytes::new(),
                    revision: of.map(at),
                })
            };
            encoded.realised(&key, at(wanted), make).await.unwrap()
        })
    }

    #[tokio::test]
    async fn who_asks_after_a_change_is_not_given_what_was_begun_before_it() {
        let encoded = Encoded::of(1 << 20);
        let (old, new) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let before: Vec<_> = (0..50)
            .map(|_| ask_realised(&encoded, 1, Some(1), &old))
            .collect();
        begun(&encoded).await;
        let after: Vec<_> = (0..50)
            .map(|_| ask_realised(&encoded, 2, Some(2), &new))
            .collect();
        tokio::task::yield_now().await;
        old.notify_one();
        new.notify_one();
        for answer in join_all(after).await {
            assert_eq!(answer.unwrap().revision, Some(at(2)));
        }
        for answer in join_all(before).await {
            assert!(answer.unwrap().revision.unwrap().number >= 1);
        }
        assert_eq!(encoded.made(), 2);
        // A request for revision 1 gets the cached answer of revision 2. The answer of revision 1 does not replace it.
        let late = ask_realised(&encoded, 1, Some(1), &old).await.unwrap();
        assert_eq!(late.revision, Some(at(2)));
        assert_eq!(encoded.entries.len(), 1);
    }

    #[tokio::test]
    async fn an_answer_of_mixed_revisions_is_not_cached() {
        let encoded = Encoded::of(1 << 20);
        let release = Arc::new(Notify::new());
        for _ in 0..2 {
            release.notify_one();
            let made = ask_realised(&encoded, 1, None, &release).await.unwrap();
            assert_eq!(made.revision, None);
        }
        assert_eq!(encoded.made(), 2);
        assert_eq!(encoded.entries.len(), 0);
    }

    #[tokio::test]
    async fn the_cache_never_exceeds_its_bound() {
        let room = 100_000;
        let encoded = Encoded::of(room);
        for question in 0..300_u64 {
            let size = usize::try_from(question % 7 * 5_000).unwrap();
            let made = ask(&encoded, &question.to_string(), async move {
                Ok(estimated(question, size))
            });
            assert_eq!(made.await.unwrap().unwrap().number, question);
            assert!(encoded.entries.weight() <= room);
        }
        let weight = encoded.entries.weight();
        assert!(weight > room / 2, "{weight}");
        // An answer larger than the cache is returned and not cached.
        let large = ask(&encoded, "large", async { Ok(estimated(1, 200_000)) }).await;
        assert_eq!(large.unwrap().unwrap().body.len(), 200_000);
        assert!(encoded.entries.weight() <= room);
    }
}
