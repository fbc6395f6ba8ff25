//! Answers as they were encoded, kept for the next asker within a bound of memory.
//!
//! Who asks for what is not there makes it; everybody else who asks meanwhile waits for that one.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use futures_util::future::BoxFuture;
use quick_cache::sync::{Cache, DefaultLifecycle, EntryAction, EntryResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::market::{Explain, Revision};
use crate::model::Millis;
use crate::server::reject::Rejection;

/// What an entry takes beside its bytes.
const ASIDE: usize = 512;
/// The size of a usual entry: the encoded heatmap of a day.
const USUAL: u64 = 256 << 10;

/// What an entry is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A question, and the revision of what its answer depends on.
    Estimate { question: String, revision: u64 },
    /// A question about what was realised: its answer of before a change makes room for the one of after it.
    Realised { question: String },
    /// An answer, by its number, and the name of the encoding it is compressed in.
    Packed { number: u64, encoding: String },
}

/// An estimate as it was encoded.
#[derive(Debug)]
pub(crate) struct Estimated {
    /// Another one for every estimate that was ever made.
    pub(crate) number: u64,
    pub(crate) body: Bytes,
    pub(crate) explain: Option<Explain>,
    /// When it was made of what it was made of.
    pub(crate) changed_at: Millis,
    /// The instant from which the question has another answer although nothing has changed: the last bar is too old.
    pub(crate) until: Option<Millis>,
}

/// A realised answer as it was encoded.
#[derive(Clone, Debug)]
pub(crate) struct Realised {
    /// As of [`Estimated`]: no two answers that were made share one.
    pub(crate) number: u64,
    pub(crate) body: Bytes,
    /// What all of it is of; nothing where the market would not keep still, and then it is not kept.
    pub(crate) revision: Option<Revision>,
}

#[derive(Clone, Debug)]
enum Entry {
    Estimate(Arc<Estimated>),
    Realised(Realised),
    Packed(Bytes),
}

impl Entry {
    fn lasts(&self) -> bool {
        match self {
            Self::Realised(realised) => realised.revision.is_some(),
            Self::Estimate(_) | Self::Packed(_) => true,
        }
    }
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Entry> for Weight {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        let name = match key {
            Key::Estimate { question, .. } | Key::Realised { question } => question.len(),
            Key::Packed { encoding, .. } => encoding.len(),
        };
        let bytes = match entry {
            Entry::Estimate(estimated) => estimated.body.len(),
            Entry::Realised(realised) => realised.body.len(),
            Entry::Packed(bytes) => bytes.len(),
        };
        (name + bytes + ASIDE) as u64
    }
}

/// The answers that are kept; cheap to clone.
#[derive(Clone)]
pub(crate) struct Encoded {
    entries: Arc<Cache<Key, Entry, Weight>>,
    made: Arc<AtomicU64>,
}

impl Encoded {
    /// Nothing yet, in so much room, in bytes.
    pub(crate) fn of(room: u64) -> Self {
        // One part, so that an entry may be as large as all of the room.
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

    /// Room for other answers, which share no number with those in here.
    pub(crate) fn beside(&self, room: u64) -> Self {
        Self {
            made: Arc::clone(&self.made),
            ..Self::of(room)
        }
    }

    /// A number for the next answer.
    pub(crate) fn number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// How many answers have been made.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// The estimate of `key` that is good at `now`, by `make` where there is none.
    pub(crate) async fn estimate(
        &self,
        key: &Key,
        now: Millis,
        make: impl Future<Output = Result<Estimated, Rejection>> + Send + 'static,
    ) -> Result<Arc<Estimated>, Rejection> {
        let make = async { Ok(Entry::Estimate(Arc::new(make.await?))) };
        let good = move |entry: &Entry| match entry {
            Entry::Estimate(estimated) => estimated.until.is_none_or(|until| now < until),
            Entry::Realised(_) | Entry::Packed(_) => false,
        };
        match self.entry(key, good, make).await? {
            Entry::Estimate(estimated) => Ok(estimated),
            Entry::Realised(_) | Entry::Packed(_) => Err(Rejection::Defect),
        }
    }

    /// The answer of `key` that is of `revision` or a later one, by `make` where there is none.
    pub(crate) async fn realised(
        &self,
        key: &Key,
        revision: Revision,
        make: impl Future<Output = Result<Realised, Rejection>> + Send + 'static,
    ) -> Result<Realised, Rejection> {
        let make = async { Ok(Entry::Realised(make.await?)) };
        let good = move |entry: &Entry| match entry {
            Entry::Realised(realised) => realised
                .revision
                .is_some_and(|of| of.number >= revision.number),
            Entry::Estimate(_) | Entry::Packed(_) => false,
        };
        match self.entry(key, good, make).await? {
            Entry::Realised(realised) => Ok(realised),
            Entry::Estimate(_) | Entry::Packed(_) => Err(Rejection::Defect),
        }
    }

    /// The compressed bytes of `key`, by `make` where they are not there.
    pub(crate) async fn packed(
        &self,
        key: &Key,
        make: impl Future<Output = Result<Bytes, Rejection>> + Send + 'static,
    ) -> Result<Bytes, Rejection> {
        let make = async { Ok(Entry::Packed(make.await?)) };
        match self.entry(key, |_| true, make).await? {
            Entry::Packed(bytes) => Ok(bytes),
            Entry::Estimate(_) | Entry::Realised(_) => Err(Rejection::Defect),
        }
    }

    /// The entry of `key` that is `good`; what `make` makes takes the place of one that is not.
    async fn entry(
        &self,
        key: &Key,
        good: impl Fn(&Entry) -> bool + Send + 'static,
        make: impl Future<Output = Result<Entry, Rejection>> + Send + 'static,
    ) -> Result<Entry, Rejection> {
        if let Some(entry) = self.entries.get(key).filter(&good) {
            return Ok(entry);
        }
        self.made_once(key.clone(), Box::new(good), Box::pin(make))
            .await
    }

    /// What is looked for as of [`Encoded::entry`], where it was not there a moment ago.
    async fn made_once(
        &self,
        key: Key,
        good: Box<dyn Fn(&Entry) -> bool + Send>,
        make: BoxFuture<'static, Result<Entry, Rejection>>,
    ) -> Result<Entry, Rejection> {
        let entries = Arc::clone(&self.entries);
        // On a task of its own: others wait for it, so it must not end with the one who happened to ask first.
        let task = tokio::spawn(async move {
            let look = move |_: &Key, entry: &mut Entry| {
                if good(entry) {
                    EntryAction::Retain(entry.clone())
                } else {
                    EntryAction::ReplaceWithGuard
                }
            };
            let place = match entries.entry_async(&key, look).await {
                EntryResult::Retained(entry) => return Ok(entry),
                EntryResult::Vacant(place) | EntryResult::Replaced(place, _) => place,
                // Neither is asked for.
                EntryResult::Removed(..) | EntryResult::Timeout => return Err(Rejection::Defect),
            };
            let entry = make.await?;
            if entry.lasts() {
                // Refused only where somebody else put something there meanwhile.
                let _ = place.insert(entry.clone());
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
        let key = Key::Estimate {
            question: question.to_string(),
            revision: 0,
        };
        tokio::spawn(async move { encoded.estimate(&key, Millis(0), make).await })
    }

    /// Asks for a map that waits for `release`.
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
        let asking: Vec<_> = (0..100).map(|_| ask_long(&encoded, &release)).collect();
        begun(&encoded).await;
        release.notify_one();
        for answer in join_all(asking).await {
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
    async fn a_failure_is_not_kept() {
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

    /// Asks for what is of `wanted`; what is made is of `of`, once that is released.
    fn ask_realised(
        encoded: &Encoded,
        wanted: u64,
        of: Option<u64>,
        release: &Arc<Notify>,
    ) -> JoinHandle<Realised> {
        let (encoded, release) = (encoded.clone(), Arc::clone(release));
        let key = Key::Realised {
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
        // What is newer than what was looked for is as good, and the old answer is not kept beside it.
        let late = ask_realised(&encoded, 1, Some(1), &old).await.unwrap();
        assert_eq!(late.revision, Some(at(2)));
        assert_eq!(encoded.entries.len(), 1);
    }

    #[tokio::test]
    async fn what_is_of_no_one_revision_is_not_kept() {
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
    async fn never_more_is_kept_than_there_is_room_for() {
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
        let held = encoded.entries.weight();
        assert!(held > room / 2, "{held}");
        // What is larger than the room is answered, and not kept.
        let large = ask(&encoded, "large", async { Ok(estimated(1, 200_000)) }).await;
        assert_eq!(large.unwrap().unwrap().body.len(), 200_000);
        assert!(encoded.entries.weight() <= room);
    }
}
