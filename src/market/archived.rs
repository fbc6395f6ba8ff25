//! A market that lies in an archive: the last day's orders in memory, everything else read when it is asked for.
//!
//! Another process may be writing. Whether anything is new is one cheap question, asked before every answer; what is new
//! is read, and never the rest again.

mod days;
mod live;
mod series;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

use super::arrivals::{ArrivalId, Arrivals};
use super::revision::{Basis, Revision, Standing, wall_clock};
use crate::archive::{Archive, ArchiveError, Filter, MapRow};
use crate::engine::{
    self, EngineError, Observations, Ring, RingFault, TableFault, VenueCoverage, View,
};
use crate::model::{Bar, Millis, ObservedOpenInterest, Order, Vocabulary, Window};
use days::Days;
use live::Live;

/// How often a waiting reader looks whether something is new.
const LOOK: Duration = Duration::from_millis(100);
/// Rings of past instants that are kept.
const RINGS: usize = 4;
/// Orders in them together, at most.
const RING_ORDERS: usize = 4_000_000;

/// Why a market in an archive cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum ArchivedError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What it holds cannot be counted exactly.
    #[error(transparent)]
    Ring(#[from] RingFault),
    /// What it holds cannot be reckoned with.
    #[error(transparent)]
    Table(#[from] TableFault),
    /// It has been opened as of an instant, and a later one is asked about.
    #[error("{asked} is after {opened}, the instant the archive was opened as of")]
    Later {
        /// The instant asked about.
        asked: Millis,
        /// The instant it was opened as of.
        opened: Millis,
    },
    /// All of it at once is asked for.
    #[error("an archive is not handed over as tables; open it again by its path")]
    NotTables,
}

/// Which coin's history an answer needs, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Needed {
    /// Coin symbol.
    pub coin: String,
    /// Length of the window in milliseconds.
    pub range: i64,
    /// The window's name.
    pub range_name: &'static str,
    /// Whether realised orders are part of the estimate.
    pub orders: bool,
}

/// An archive that questions are asked of.
#[derive(Debug)]
pub(crate) struct Archived {
    as_of: Option<Millis>,
    /// Asked for what is new; a reader of its own, so that a long read beside it keeps nobody waiting.
    front: Archive,
    /// Asked for what is old.
    back: Archive,
    live: RwLock<Live>,
    days: Days,
    rings: Mutex<Vec<Past>>,
    /// The last look of those who wait for a change.
    looked: tokio::sync::Mutex<Option<(Instant, Revision)>>,
    nothing: Observations,
    opened_at: Millis,
}

/// The last day as it was known at an instant.
#[derive(Debug)]
struct Past {
    at: Millis,
    /// The revision it was read at, where it may have grown since.
    number: u64,
    ring: Arc<Ring>,
}

impl Archived {
    pub(crate) fn open(path: &Path, as_of: Option<Millis>) -> Result<Self, ArchivedError> {
        let front = Archive::read(path)?;
        let back = front.another()?;
        let live = if let Some(at) = as_of {
            Live::still(&front, at)?
        } else {
            Live::load(&front)?
        };
        Ok(Self {
            as_of,
            front,
            back,
            live: RwLock::new(live),
            days: Days::default(),
            rings: Mutex::default(),
            looked: tokio::sync::Mutex::default(),
            nothing: Observations::new(Vec::new(), Vec::new(), Vec::new(), as_of)?,
            opened_at: wall_clock(),
        })
    }

    pub(crate) fn archive(&self) -> &Archive {
        &self.back
    }

    /// The instant it was opened as of, if there is one.
    pub(crate) fn as_of(&self) -> Option<Millis> {
        self.as_of
    }

    /// The last day with everything that is new.
    fn live(&self) -> Result<RwLockReadGuard<'_, Live>, ArchivedError> {
        if self.as_of.is_none() {
            let version = self.front.version()?;
            let seen = self.peek().version;
            if seen != version {
                let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
                // Another thread may have been quicker.
                if live.version != version {
                    live.absorb(&self.front, version, &self.days)?;
                }
            }
        }
        Ok(self.peek())
    }

    /// The last day as it was when it was last looked at.
    fn peek(&self) -> RwLockReadGuard<'_, Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instant that `as_of` asks about, or else the one it was opened as of.
    pub(crate) fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, ArchivedError> {
        match (as_of, self.as_of) {
            (Some(asked), Some(opened)) if asked > opened => {
                Err(ArchivedError::Later { asked, opened })
            }
            (asked, opened) => Ok(asked.or(opened)),
        }
    }

    pub(crate) fn coins(&self) -> Result<Vec<String>, ArchivedError> {
        let coins = self.back.coins(self.as_of)?;
        Ok(coins.into_iter().map(|coin| coin.symbol).collect())
    }

    /// Where `basis` stands.
    pub(crate) fn standing(&self, basis: &Basis) -> Result<Standing, ArchivedError> {
        Ok(self.standing_in(&*self.live()?, basis))
    }

    /// Where `basis` stands; the last that is known where the archive cannot be read.
    pub(crate) fn last_standing(&self, basis: &Basis) -> Standing {
        self.standing(basis).unwrap_or_else(|fault| {
            log::warn!("{fault}");
            self.standing_in(&self.peek(), basis)
        })
    }

    /// Where `basis` stood at the last look; none where one is taking in what is new.
    pub(crate) fn seen(&self, basis: &Basis) -> Option<Standing> {
        match self.live.try_read() {
            Ok(live) => Some(self.standing_in(&live, basis)),
            Err(TryLockError::Poisoned(live)) => Some(self.standing_in(&live.into_inner(), basis)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn standing_in(&self, live: &Live, basis: &Basis) -> Standing {
        Standing {
            revision: match basis {
                Basis::Observations => live.revision,
                // Runs and gaps too.
                Basis::Record => live.recorded,
                Basis::Coin(coin) => live.coins.get(coin).copied().unwrap_or(Revision {
                    number: 0,
                    changed_at: self.opened_at,
                }),
            },
            now: live.ring.now(),
        }
    }

    /// Waits until the revision is another than `seen`.
    pub(crate) async fn changed(self: Arc<Self>, seen: Revision) {
        if self.as_of.is_some() {
            return std::future::pending().await;
        }
        // What others saw before `seen` is no change.
        while self.looked().await.number <= seen.number {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The revision as it is, or was a moment ago: however many wait, one looks for all of them.
    async fn looked(self: &Arc<Self>) -> Revision {
        let mut looked = self.looked.lock().await;
        if let Some((at, revision)) = *looked
            && at.elapsed() < LOOK / 2
        {
            return revision;
        }
        let archived = Arc::clone(self);
        let standing =
            tokio::task::spawn_blocking(move || archived.last_standing(&Basis::Observations)).await;
        let standing = standing.unwrap_or_else(|failure| {
            log::error!("a look at the archive failed: {failure}");
            self.standing_in(&self.peek(), &Basis::Observations)
        });
        let revision = standing.revision;
        *looked = Some((Instant::now(), revision));
        revision
    }

    /// Shows `work` what was known at `as_of`, or what is known; of a coin what `needed` says.
    pub(crate) fn view<T>(
        &self,
        as_of: Option<Millis>,
        needed: Option<&Needed>,
        work: impl FnOnce(&View<'_>) -> T,
    ) -> Result<Result<T, EngineError>, ArchivedError> {
        let at = self.instant(as_of)?;
        if let Some(needed) = needed {
            let (now, number) = if let Some(at) = at {
                (at, None)
            } else {
                let live = self.live()?;
                let number = live.coins.get(&needed.coin).map_or(0, |seen| seen.number);
                (live.ring.now(), Some(number))
            };
            let found = self
                .days
                .observations(&self.back, needed, now, at, number)?;
            return Ok(found.map(|observations| work(&observations.seen_from(now))));
        }
        match at {
            None => Ok(Ok(work(&self.live()?.ring.view(&self.nothing)))),
            Some(at) => Ok(Ok(work(&self.ring(at)?.view(&self.nothing)))),
        }
    }

    /// The last day as it was known at `at`.
    fn ring(&self, at: Millis) -> Result<Arc<Ring>, ArchivedError> {
        // What was received by then may still be on its way into the archive.
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
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = rings
            .iter()
            .position(|past| past.at == at && past.number == number)
        {
            let past = rings.remove(place);
            let ring = Arc::clone(&past.ring);
            rings.push(past);
            return Ok(ring);
        }
        drop(rings);
        let ring = Arc::new(live::past(&self.back, at)?);
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.retain(|past| past.at != at);
        rings.push(Past {
            at,
            number,
            ring: Arc::clone(&ring),
        });
        while rings.len() > RINGS
            || rings.len() > 1
                && rings.iter().map(|past| past.ring.len()).sum::<usize>() > RING_ORDERS
        {
            rings.remove(0);
        }
        Ok(ring)
    }

    pub(crate) fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, ArchivedError> {
        let seen = self.view(as_of, None, |view| {
            (view.now(), engine::coverage(view, window))
        })?;
        // Realised orders need no estimate, which is all that can be refused.
        let Ok((now, venues)) = seen else {
            return Ok(Vec::new());
        };
        let mut counts = BTreeMap::new();
        let mut quiet = BTreeMap::new();
        for venue in venues {
            if let Some(last) = venue.last_event {
                if venue.cnt > 0 {
                    counts.insert(venue.exchange, (venue.cnt, last));
                } else {
                    quiet.insert(venue.exchange, last);
                }
            }
        }
        let start = now.back(window.millis());
        let known_by = self.instant(as_of)?;
        let covered = self
            .back
            .coverage_of(start.on(1), now.on(1), &counts, known_by)?;
        Ok(covered
            .into_iter()
            .map(|venue| VenueCoverage {
                last_event: venue
                    .last_event
                    .or_else(|| quiet.get(&venue.exchange).copied()),
                exchange: venue.exchange,
                connected_share: venue.connected_share,
                completeness: venue.completeness.name(),
                gaps: venue.gaps,
                cnt: venue.cnt,
            })
            .collect())
    }

    /// The bars of a coin, of all exchanges together, as estimates are made of them.
    pub(crate) fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        start: Option<Millis>,
        end: Option<Millis>,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, ArchivedError> {
        let at = self.instant(as_of)?;
        let now = match at {
            Some(at) => at,
            None => self.live()?.ring.now(),
        };
        // Nothing is known of what is still to come; a range that is none is refused all the same.
        let (known, end) = (now.on(1), end.unwrap_or(Millis(i64::MAX)));
        let end = match start {
            Some(start) if known < start && start <= end => start,
            _ => end.min(known),
        };
        let filter = Filter {
            start,
            end: Some(end),
            as_of: at,
            coin: Some(coin.to_owned()),
            ..Filter::default()
        };
        Ok(series::all(&self.back, &filter, size, now)?)
    }

    /// The readings of a coin's open interest, in order of time.
    pub(crate) fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        start: Option<Millis>,
        end: Option<Millis>,
    ) -> Result<Vec<ObservedOpenInterest>, ArchivedError> {
        let filter = Filter {
            start,
            end,
            as_of: self.instant(as_of)?,
            coin: Some(coin.to_owned()),
            ..Filter::default()
        };
        let rows = self.back.open_interest(&filter)?.rows;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The maps that were served, as they were.
    pub(crate) fn maps(
        &self,
        kind: Option<&str>,
        coin: Option<&str>,
        as_of: Option<Millis>,
        start: Option<Millis>,
        end: Option<Millis>,
    ) -> Result<Vec<MapRow>, ArchivedError> {
        let filter = Filter {
            start,
            end,
            as_of: self.instant(as_of)?,
            coin: coin.map(str::to_owned),
            ..Filter::default()
        };
        Ok(self.back.maps(&filter, kind)?.rows)
    }

    pub(crate) fn arrivals(
        &self,
        after: Option<ArrivalId>,
        limit: usize,
    ) -> Result<Arrivals, ArchivedError> {
        if self.as_of.is_some() {
            return Ok(Arrivals::Gone);
        }
        let live = self.live()?;
        let series = live.known.series;
        let number = match after {
            Some(after) if after.series != series => return Ok(Arrivals::Gone),
            Some(after) => match i64::try_from(after.number) {
                Ok(number) if number <= live.known.end.orders => number,
                _ => return Ok(Arrivals::Gone),
            },
            None => live.known.rolled.orders,
        };
        if let Some(orders) = live.arrived_behind(number, limit) {
            return Ok(Arrivals::Known(orders));
        }
        drop(live);
        let mut orders: Vec<(ArrivalId, Order)> = Vec::new();
        let known = self.back.arrivals(number, limit, &mut |brief| {
            let number = u64::try_from(brief.number).unwrap_or_default();
            orders.push((ArrivalId { series, number }, brief.order()));
        })?;
        Ok(if number < known.rolled.orders {
            Arrivals::Gone
        } else {
            Arrivals::Known(orders)
        })
    }

    pub(crate) fn newest(&self) -> Result<ArrivalId, ArchivedError> {
        let live = self.live()?;
        Ok(ArrivalId {
            series: live.known.series,
            number: u64::try_from(live.known.end.orders).unwrap_or_default(),
        })
    }
}
