//! An archive as the source of a market: its readers, its caches and the orders of the last day.

use crate::archive::{Archive, ArchiveError, Filter};
use crate::engine::{Observations, Ring};
use crate::market::names::KnownNames;
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::source::archive::archive_reader::ArchiveReader;
use crate::market::source::archive::cascades::RecentCascadeCache;
use crate::market::source::archive::live_day::LiveDay;
use crate::market::source::live_source::LiveSource;
use crate::market::source::view_source::ViewSource;
use crate::model::{Millis, TimeRange};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

/// Interval at which the archive is polled while readers wait.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// Size of the cache for queries about now, in bytes: room for about two million rows.
const OF_NOW: usize = 240 << 20;
const HISTORIES: usize = 48;
/// Default size of the cache for queries about the past, in bytes.
const OF_THE_PAST: usize = 128 << 20;
const PAST_HISTORIES: usize = 8;

/// An archive as the source of a market.
#[derive(Debug)]
pub(crate) struct ArchiveSource {
    pub(crate) as_of: Option<Millis>,
    /// Checks the archive for new rows. It is a separate reader, so that long reads do not block the checks.
    pub(crate) front: Archive,
    /// Reads old rows for queries about now.
    pub(crate) back: ArchiveReader,
    /// Reads rows for queries about the past.
    pub(crate) past: ArchiveReader,
    pub(crate) live: RwLock<LiveDay>,
    /// The time and the result of the last poll for waiting readers.
    pub(crate) looked: tokio::sync::Mutex<Option<(Instant, Revision)>>,
    /// Cached cascades of recent days.
    pub(crate) tails: RecentCascadeCache,
    /// All stored names, with the time at which they were read.
    pub(crate) names: Mutex<Option<(Instant, KnownNames)>>,
    pub(crate) nothing: Observations,
    /// The number of damage changes at which cached days were last dropped.
    pub(crate) damage_seen: AtomicU64,
}

impl ArchiveSource {
    pub(crate) fn open(path: &Path, as_of: Option<Millis>) -> Result<Self, Refusal> {
        let front = Archive::read(path)?;
        let back = ArchiveReader::new(front.another()?, OF_NOW, HISTORIES);
        let past = ArchiveReader::new(front.another()?, OF_THE_PAST, PAST_HISTORIES);
        let (damage_seen, _) = front.integrity().changes_of_damage();
        let live = if let Some(at) = as_of {
            LiveDay::still(&front, at)?
        } else {
            LiveDay::load(&front)?
        };
        Ok(Self {
            as_of,
            front,
            back,
            past,
            live: RwLock::new(live),
            looked: tokio::sync::Mutex::default(),
            tails: RecentCascadeCache::default(),
            names: Mutex::default(),
            nothing: Observations::new(Vec::new(), Vec::new(), Vec::new(), as_of)?,
            damage_seen: AtomicU64::new(damage_seen),
        })
    }

    /// The live day (the orders of the last day, in memory) after a check for new rows.
    pub(crate) fn live(&self) -> Result<RwLockReadGuard<'_, LiveDay>, Refusal> {
        self.current()?;
        if self.as_of.is_none() {
            let version = self.front.version()?;
            let seen = self.peek().version;
            if seen != version {
                let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
                // Another thread may have read the new rows in the meantime.
                if live.version != version {
                    live.absorb(&self.front, version, &[&self.back.days, &self.past.days])?;
                }
            }
        }
        Ok(self.peek())
    }

    /// If the open journal was replaced on disk, opens the new one and reads the archive again.
    ///
    /// Drops cached rows if the set of damaged files has changed.
    pub(crate) fn current(&self) -> Result<(), Refusal> {
        match self.front.check_journal() {
            Err(replaced @ ArchiveError::Replaced { .. }) => self.follow(replaced)?,
            looked => looked?,
        }
        let (changes, _) = self.front.integrity().changes_of_damage();
        if self.damage_seen.load(Ordering::Acquire) != changes {
            let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
            if self.damage_seen.swap(changes, Ordering::AcqRel) != changes {
                self.back.clear();
                self.past.clear();
                live.estimates_changed();
            }
        }
        Ok(())
    }

    pub(crate) fn follow(&self, replaced: ArchiveError) -> Result<(), Refusal> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have reopened the journal in the meantime.
        if self.front.check_journal().is_ok() {
            return Ok(());
        }
        self.reopen().map_err(|fault| match fault {
            ArchiveError::NotAnArchive { .. } => replaced,
            fault => fault,
        })?;
        self.reload_all(&mut live)?;
        log::warn!(
            target: "liqdata::archive",
            "the journal in {} was replaced; reading the archive again",
            self.front.path().display()
        );
        Ok(())
    }

    pub(crate) fn reopen(&self) -> Result<(), ArchiveError> {
        // `front` is reopened last: if another reader fails, the next call tries again.
        for reader in [&self.past.archive, &self.back.archive, &self.front] {
            let reopened = reader.reopen();
            if let Err(damaged @ ArchiveError::Damaged { .. }) = &reopened {
                reader.integrity().note(damaged);
            }
            reopened?;
        }
        Ok(())
    }

    /// Drops all rows in memory and reads the live day again.
    pub(crate) fn reload_all(&self, live: &mut LiveDay) -> Result<(), Refusal> {
        self.front.integrity().recheck_damage()?;
        match self.as_of {
            None => live.forget(),
            Some(at) => live.replace(LiveDay::still(&self.front, at)?),
        }
        self.back.clear();
        self.past.clear();
        self.tails.clear();
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// The instant that a query is about: `as_of`, or else the instant that the archive was opened as of.
    pub(crate) fn asked(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        match (as_of, self.as_of) {
            (Some(asked), Some(opened)) if asked > opened => Err(Refusal::later(asked, opened)),
            (asked, opened) => Ok(asked.or(opened)),
        }
    }

    /// The live day as of the last check for new rows.
    pub(crate) fn peek(&self) -> RwLockReadGuard<'_, LiveDay> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn filter(
        &self,
        coin: Option<&str>,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Filter, Refusal> {
        Ok(Filter {
            start: range.lower_bound(),
            end: range.upper_bound(),
            as_of: self.instant(as_of)?,
            coin: coin.map(str::to_owned),
            ..Filter::default()
        })
    }

    pub(crate) fn standing_in(&self, live: &LiveDay, dependency: &Dependency) -> SourceState {
        SourceState {
            revision: match dependency {
                Dependency::Observations | Dependency::Recording(_) => live.revision,
                // Sessions, gaps and damaged files change this revision too.
                Dependency::Record => {
                    let (changes, changed_at) = self.back.archive.integrity().changes_of_damage();
                    Revision {
                        number: live.recorded.number + changes,
                        changed_at: live.recorded.changed_at.max(changed_at),
                    }
                }
                Dependency::Coin(coin) => live.of_coin(coin),
            },
            now: live.ring.now(),
        }
    }

    /// The current revision, at most half a poll interval old. One poll serves all waiting readers.
    pub(crate) async fn looked(self: &Arc<Self>) -> Revision {
        let mut looked = self.looked.lock().await;
        if let Some((at, revision)) = *looked
            && at.elapsed() < LOOK / 2
        {
            return revision;
        }
        let archived = Arc::clone(self);
        let state =
            tokio::task::spawn_blocking(move || archived.last_state(&Dependency::Observations))
                .await;
        let state = state.unwrap_or_else(|failure| {
            log::error!("checking the archive for changes failed: {failure}");
            self.standing_in(&self.peek(), &Dependency::Observations)
        });
        let revision = state.revision;
        *looked = Some((Instant::now(), revision));
        revision
    }

    /// The reader for queries about the past if `as_of` is given, or else the reader for queries about now.
    pub(crate) fn reader(&self, as_of: Option<Millis>) -> &ArchiveReader {
        if as_of.is_some() {
            &self.past
        } else {
            &self.back
        }
    }

    /// The orders of the day before `at`, as known at `at`.
    pub(crate) fn ring(&self, reader: &ArchiveReader, at: Millis) -> Result<Arc<Ring>, Refusal> {
        // Rows received by `at` may be committed later, so a recent ring depends on the revision.
        let number = if self.as_of.is_some() {
            0
        } else {
            let live = self.live()?;
            if at > live.ring.now().back(Millis::DAY) {
                live.revision.number
            } else {
                0
            }
        };
        reader.ring(at, number)
    }
}
