//! Estimates as they were encoded, kept for the next asker within a bound of memory.
//!
//! Who asks for what is not there makes it; everybody else who asks meanwhile waits for that one.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use super::Rejection;
use crate::engine::Explain;
use crate::model::Millis;

/// What the shelf holds at most, in bytes.
const ROOM: u64 = 128 << 20;
/// What an entry takes beside its bytes.
const ASIDE: usize = 512;
/// The size of a usual entry: the encoded heatmap of a day.
const USUAL: u64 = 256 << 10;

/// What an entry is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A question, and the revision of what its answer depends on.
    Estimate { question: String, revision: u64 },
    /// An estimate, by its number, and the name of the encoding it is compressed in.
    Packed { number: u64, encoding: String },
}

/// An estimate as it was encoded.
#[derive(Debug)]
pub(super) struct Estimated {
    /// Another one for every estimate that was ever made.
    pub(super) number: u64,
    pub(super) body: Bytes,
    pub(super) explain: Option<Explain>,
    /// When it was made of what it was made of.
    pub(super) changed_at: Millis,
    /// The instant from which the question has another answer although nothing has changed: the last bar is too old.
    pub(super) until: Option<Millis>,
}

#[derive(Clone, Debug)]
enum Entry {
    Estimate(Arc<Estimated>),
    Packed(Bytes),
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Entry> for Weight {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        let name = match key {
            Key::Estimate { question, .. } => question.len(),
            Key::Packed { encoding, .. } => encoding.len(),
        };
        let bytes = match entry {
            Entry::Estimate(estimated) => estimated.body.len(),
            Entry::Packed(bytes) => bytes.len(),
        };
        (name + bytes + ASIDE) as u64
    }
}

/// The shelf; cheap to clone.
#[derive(Clone)]
pub(super) struct Shelf {
    entries: Arc<Cache<Key, Entry, Weight>>,
    made: Arc<AtomicU64>,
}

impl Shelf {
    /// A shelf of the usual room.
    pub(super) fn new() -> Self {
        Self::of(ROOM)
    }

    fn of(room: u64) -> Self {
        // One part, so that an entry may be as large as the whole shelf.
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
            // All three options are given, so they are never found wanting.
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

    /// A number for the next estimate.
    pub(super) fn number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// How many estimates have been made.
    #[cfg(test)]
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// The estimate of `key`, by `make` where it is not there.
    pub(super) async fn estimate(
        &self,
        key: &Key,
        make: impl Future<Output = Result<Estimated, Rejection>> + Send + 'static,
    ) -> Result<Arc<Estimated>, Rejection> {
        let make = async { Ok(Entry::Estimate(Arc::new(make.await?))) };
        match self.entry(key, make).await? {
            Entry::Estimate(estimated) => Ok(estimated),
            Entry::Packed(_) => Err(Rejection::Defect),
        }
    }

    /// The compressed bytes of `key`, by `make` where they are not there.
    pub(super) async fn packed(
        &self,
        key: &Key,
        make: impl Future<Output = Result<Bytes, Rejection>> + Send + 'static,
    ) -> Result<Bytes, Rejection> {
        let make = async { Ok(Entry::Packed(make.await?)) };
        match self.entry(key, make).await? {
            Entry::Packed(bytes) => Ok(bytes),
            Entry::Estimate(_) => Err(Rejection::Defect),
        }
    }

    /// Forgets the entry of `key`.
    pub(super) fn forget(&self, key: &Key) {
        self.entries.remove(key);
    }

    async fn entry(
        &self,
        key: &Key,
        make: impl Future<Output = Result<Entry, Rejection>> + Send + 'static,
    ) -> Result<Entry, Rejection> {
        if let Some(entry) = self.entries.get(key) {
            return Ok(entry);
        }
        let (entries, key) = (Arc::clone(&self.entries), key.clone());
        // On a task of its own: others wait for it, so it must not end with the one who happened to ask first.
        let task = tokio::spawn(async move { entries.get_or_insert_async(&key, make).await });
        task.await.unwrap_or_else(|failure| {
            log::error!("an answer failed: {failure}");
            Err(Rejection::Defect)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use futures_util::future::join_all;
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    use super::*;

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
        shelf: &Shelf,
        question: &str,
        make: impl Future<Output = Result<Estimated, Rejection>> + Send + 'static,
    ) -> JoinHandle<Answer> {
        let shelf = shelf.clone();
        let key = Key::Estimate {
            question: question.to_string(),
            revision: 0,
        };
        tokio::spawn(async move { shelf.estimate(&key, make).await })
    }

    /// Asks for a map that waits for `release`.
    fn ask_long(shelf: &Shelf, release: &Arc<Notify>) -> JoinHandle<Answer> {
        let (release, counter) = (Arc::clone(release), shelf.clone());
        ask(shelf, "map", async move {
            let number = counter.number();
            release.notified().await;
            Ok(estimated(number, 10))
        })
    }

    async fn begun(shelf: &Shelf) {
        while shelf.made() == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_hundred_who_ask_at_once_wait_for_one() {
        let shelf = Shelf::new();
        let release = Arc::new(Notify::new());
        let asking: Vec<_> = (0..100).map(|_| ask_long(&shelf, &release)).collect();
        begun(&shelf).await;
        release.notify_one();
        for answer in join_all(asking).await {
            assert_eq!(answer.unwrap().unwrap().number, 0);
        }
        assert_eq!(shelf.made(), 1);
    }

    #[tokio::test]
    async fn who_asked_first_may_leave_while_others_wait() {
        let shelf = Shelf::new();
        let release = Arc::new(Notify::new());
        let first = ask_long(&shelf, &release);
        begun(&shelf).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let second = ask(&shelf, "map", async { Err(Rejection::Defect) });
        release.notify_one();
        assert_eq!(second.await.unwrap().unwrap().number, 0);
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let shelf = Shelf::new();
        let failed = ask(&shelf, "map", async { Err(Rejection::Busy) }).await;
        assert!(matches!(failed.unwrap(), Err(Rejection::Busy)));
        let made = ask(&shelf, "map", async { Ok(estimated(7, 1)) }).await;
        assert_eq!(made.unwrap().unwrap().number, 7);
    }

    #[tokio::test]
    async fn the_shelf_never_holds_more_than_it_has_room_for() {
        let room = 100_000;
        let shelf = Shelf::of(room);
        for question in 0..300_u64 {
            let size = usize::try_from(question % 7 * 5_000).unwrap();
            let made = ask(&shelf, &question.to_string(), async move {
                Ok(estimated(question, size))
            });
            assert_eq!(made.await.unwrap().unwrap().number, question);
            assert!(shelf.entries.weight() <= room);
        }
        let held = shelf.entries.weight();
        assert!(held > room / 2, "{held}");
        // What is larger than the shelf is answered, and not kept.
        let large = ask(&shelf, "large", async { Ok(estimated(1, 200_000)) }).await;
        assert_eq!(large.unwrap().unwrap().body.len(), 200_000);
        assert!(shelf.entries.weight() <= room);
    }
}
