//! A market that lies in an archive: the last day's orders in memory, everything else read when it is asked for.
//!
//! Another process may be writing. Whether anything is new is one cheap question, asked before every answer; what is new
//! is read, and never the rest again.

pub(super) mod archive_reader;
pub(super) mod bar_series;
mod cascades;
pub(super) mod day_cache;
pub(super) mod fit_cache;
pub(super) mod live_day;

use std::collections::BTreeMap;
use std::future::pending;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use crate::archive::{Archive, ArchiveError, Filter, OrderFold};
use crate::engine::{
    self, CascadeQuestion, Covered, Observations, Ring, Rows, Spans, Timeline, TimelineQuestion,
    View,
};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::names::KnownNames;
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::source::archive::archive_reader::ArchiveReader;
use crate::market::source::archive::cascades::{RecentCascadeCache, of_stretch};
use crate::market::source::archive::live_day::LiveDay;
use crate::market::source::traits::{RequiredHistory, Source, shown};
use crate::model::{
    Bar, CascadeRow, Damage, FiledColumns, FiledOrders, MapRow, Millis, MissedStretch,
    ObservedOpenInterest, Order, OrderBrief, PeriodRow, PositionRow, TimeRange, VenueCoverage,
    Window,
};

/// How often a waiting reader looks whether something is new.
const LOOK: Duration = Duration::from_millis(100);
/// What is kept for questions about now, in bytes: about as many rows as two million.
const OF_NOW: usize = 240 << 20;
const HISTORIES: usize = 48;
/// What is kept for questions about the past, unless it is told otherwise.
const OF_THE_PAST: usize = 128 << 20;
const PAST_HISTORIES: usize = 8;

/// For how long the names of an archive are taken for those it has; what arrives meanwhile is known at once.
const NAMES_LAST: Duration = Duration::from_mins(10);

/// Liquidations over time, of a share of the orders.
struct TimelineShare(Timeline);

impl OrderFold for TimelineShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.take(&order);
    }

    fn columns(&self) -> Option<FiledColumns> {
        Some(self.0.columns())
    }

    fn take_columns(&mut self, orders: &FiledOrders<'_>) {
        self.0.take_columns(orders);
    }
}

/// The names of a share of the orders.
#[derive(Default)]
struct NameCollector(KnownNames);

impl OrderFold for NameCollector {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.note(order.exchange, order.symbol, order.coin);
    }
}

/// An archive that questions are asked of.
#[derive(Debug)]
pub(crate) struct ArchiveSource {
    as_of: Option<Millis>,
    /// QueryNames for what is new; a reader of its own, so that a long read beside it keeps nobody waiting.
    front: Archive,
    /// QueryNames for what is old.
    back: ArchiveReader,
    /// QueryNames as of another instant than the one it was opened for.
    past: ArchiveReader,
    live: RwLock<LiveDay>,
    /// The last look of those who wait for a change.
    looked: tokio::sync::Mutex<Option<(Instant, Revision)>>,
    /// The cascades of late.
    tails: RecentCascadeCache,
    /// The names of all that was ever kept, and when they were read.
    names: Mutex<Option<(Instant, KnownNames)>>,
    nothing: Observations,
    /// How often what is known of damage had changed when what was read of days was last let go of.
    damage_seen: AtomicU64,
    /// How often the journal had been mended when it was last read anew.
    mended_seen: AtomicU64,
}

impl ArchiveSource {
    pub(crate) fn open(path: &Path, as_of: Option<Millis>) -> Result<Self, Refusal> {
        let front = Archive::read(path)?;
        let back = ArchiveReader::new(front.another()?, OF_NOW, HISTORIES);
        let past = ArchiveReader::new(front.another()?, OF_THE_PAST, PAST_HISTORIES);
        let (damage_seen, _) = front.changes_of_damage();
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
            mended_seen: AtomicU64::new(0),
        })
    }

    /// The last day with everything that is new.
    fn live(&self) -> Result<RwLockReadGuard<'_, LiveDay>, Refusal> {
        self.current()?;
        if self.as_of.is_none() {
            let version = self.front.version()?;
            let seen = self.peek().version;
            if seen != version {
                let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
                // Another thread may have been quicker.
                if live.version != version {
                    live.absorb(&self.front, version, &[&self.back.days, &self.past.days])?;
                }
            }
        }
        Ok(self.peek())
    }

    /// Goes over to the journal that has taken the place of the one that was opened, if one has: from then on it is as if
    /// the archive had been opened just now. And forgets what was read where other files are found damaged than before.
    fn current(&self) -> Result<(), Refusal> {
        match self.front.check_journal() {
            Err(replaced @ ArchiveError::Replaced { .. }) => self.follow(replaced)?,
            looked => looked?,
        }
        self.front.look_at_damaged_journal();
        let (changes, _) = self.front.changes_of_damage();
        if self.damage_seen.load(Ordering::Acquire) != changes {
            let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
            let mended = self.front.times_mended();
            if self.mended_seen.load(Ordering::Acquire) != mended {
                self.read_mended(&mut live)?;
                self.mended_seen.store(mended, Ordering::Release);
            }
            if self.damage_seen.swap(changes, Ordering::AcqRel) != changes {
                self.back.clear();
                self.past.clear();
                live.estimates_changed();
            }
        }
        Ok(())
    }

    fn follow(&self, replaced: ArchiveError) -> Result<(), Refusal> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been quicker.
        if self.front.check_journal().is_ok() {
            return Ok(());
        }
        self.reopen().map_err(|fault| match fault {
            ArchiveError::NotAnArchive { .. } => replaced,
            fault => fault,
        })?;
        self.read_anew(&mut live)?;
        let mended = self.front.times_mended();
        self.mended_seen.store(mended, Ordering::Release);
        log::warn!(
            target: "liqdata::archive",
            "another journal lies in {}: the archive is read anew",
            self.front.path().display()
        );
        Ok(())
    }

    /// Reads on in a journal that was damaged and is sound again: what a handle has in memory of it may still be the damage.
    fn read_mended(&self, live: &mut LiveDay) -> Result<(), Refusal> {
        self.reopen()?;
        self.read_anew(live)?;
        log::warn!(
            target: "liqdata::archive",
            "the journal in {} is sound again: the archive is read anew",
            self.front.path().display()
        );
        Ok(())
    }

    fn reopen(&self) -> Result<(), ArchiveError> {
        // The one that is asked first goes over last: until then all of it is tried again.
        for reader in [&self.past.archive, &self.back.archive, &self.front] {
            let reopened = reader.reopen();
            if let Err(damaged @ ArchiveError::Damaged { .. }) = &reopened {
                reader.note(damaged);
            }
            reopened?;
        }
        Ok(())
    }

    /// Forgets all that was read.
    fn read_anew(&self, live: &mut LiveDay) -> Result<(), Refusal> {
        self.front.look_anew()?;
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

    /// The instant that `as_of` asks about, of the archive as it is.
    fn asked(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        match (as_of, self.as_of) {
            (Some(asked), Some(opened)) if asked > opened => Err(Refusal::later(asked, opened)),
            (asked, opened) => Ok(asked.or(opened)),
        }
    }

    /// The last day as it was when it was last looked at.
    fn peek(&self) -> RwLockReadGuard<'_, LiveDay> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn filter(
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

    fn standing_in(&self, live: &LiveDay, basis: &Dependency) -> SourceState {
        SourceState {
            revision: match basis {
                Dependency::Observations => live.revision,
                // Runs and gaps too, those of files that are found damaged among them.
                Dependency::Record => {
                    let (changes, changed_at) = self.back.archive.changes_of_damage();
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
            tokio::task::spawn_blocking(move || archived.last_standing(&Dependency::Observations))
                .await;
        let standing = standing.unwrap_or_else(|failure| {
            log::error!("a look at the archive failed: {failure}");
            self.standing_in(&self.peek(), &Dependency::Observations)
        });
        let revision = standing.revision;
        *looked = Some((Instant::now(), revision));
        revision
    }

    /// Where questions about `as_of`, or about now, are read.
    fn desk(&self, as_of: Option<Millis>) -> &ArchiveReader {
        if as_of.is_some() {
            &self.past
        } else {
            &self.back
        }
    }

    /// The last day as it was known at `at`.
    fn ring(&self, desk: &ArchiveReader, at: Millis) -> Result<Arc<Ring>, Refusal> {
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
        desk.ring(at, number)
    }
}

impl Source for ArchiveSource {
    fn view(
        &self,
        as_of: Option<Millis>,
        needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal> {
        let desk = self.desk(as_of);
        self.current()?;
        let at = self.asked(as_of)?;
        if let Some(needed) = needed {
            let (now, number) = if let Some(at) = at {
                (at, None)
            } else {
                let live = self.live()?;
                let number = live.of_coin(&needed.coin).number;
                (live.ring.now(), Some(number))
            };
            let found = desk
                .days
                .observations(&desk.archive, needed, now, at, number)?;
            work(&found.seen_from(now).fitted_by(desk));
        } else if let Some(at) = at {
            work(&self.ring(desk, at)?.view(&self.nothing));
        } else {
            work(&self.live()?.ring.view(&self.nothing));
        }
        Ok(())
    }

    fn damage_behind(
        &self,
        needed: &RequiredHistory,
        closed: Millis,
    ) -> Result<Vec<Damage>, Refusal> {
        let kinds: &[&str] = if needed.orders {
            &["bars", "open_interest", "orders"]
        } else {
            &["bars", "open_interest"]
        };
        let from = day_cache::rests_from(needed, closed);
        let found = self.back.archive.damage_within(kinds, from, closed.on(1))?;
        Ok(found.into_iter().map(Into::into).collect())
    }

    /// Bars and open interest are received at some time, too: each instant has a history of its own.
    fn shows_the_past(&self) -> bool {
        false
    }

    fn is_growing(&self) -> bool {
        self.as_of.is_none()
    }

    /// As of an instant nothing is new.
    fn is_on_disk(&self) -> bool {
        self.is_growing()
    }

    fn last_standing(&self, basis: &Dependency) -> SourceState {
        self.standing(basis).unwrap_or_else(|fault| {
            // QueryNames for again and again while somebody waits.
            if !fault.is_of_damage() {
                log::warn!("{fault}");
            }
            self.standing_in(&self.peek(), basis)
        })
    }

    fn standing(&self, basis: &Dependency) -> Result<SourceState, Refusal> {
        Ok(self.standing_in(&*self.live()?, basis))
    }

    fn seen(&self, basis: &Dependency) -> Option<SourceState> {
        match self.live.try_read() {
            Ok(live) => Some(self.standing_in(&live, basis)),
            Err(TryLockError::Poisoned(live)) => Some(self.standing_in(&live.into_inner(), basis)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn changed(self: Arc<Self>, seen: Revision) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if !self.is_growing() {
                return pending().await;
            }
            // What others saw before `seen` is no change.
            while self.looked().await.number <= seen.number {
                tokio::time::sleep(LOOK).await;
            }
        })
    }

    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        // As of an instant nothing is behind the newest place, and no other is known.
        if self.as_of.is_some() && after != Some(self.newest()?) {
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
        let known = self.back.archive.arrivals(number, limit, &mut |brief| {
            let number = u64::try_from(brief.number).unwrap_or_default();
            orders.push((ArrivalId { series, number }, brief.order()));
        })?;
        Ok(if number < known.rolled.orders {
            Arrivals::Gone
        } else {
            Arrivals::Known(orders)
        })
    }

    fn newest(&self) -> Result<ArrivalId, Refusal> {
        let live = self.live()?;
        Ok(ArrivalId {
            series: live.known.series,
            number: u64::try_from(live.known.end.orders).unwrap_or_default(),
        })
    }

    fn archive(&self) -> Option<&Archive> {
        Some(&self.back.archive)
    }

    fn archive_of_the_past(&self) -> Option<&Archive> {
        Some(&self.past.archive)
    }

    fn keep_of_the_past(&self, bytes: usize) {
        self.past.keep(bytes);
    }

    fn opened_as_of(&self) -> Option<Millis> {
        self.as_of
    }

    fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.current()?;
        self.asked(as_of)
    }

    /// Those of all that was ever kept, read anew after a while.
    fn names(&self) -> Result<KnownNames, Refusal> {
        self.current()?;
        let mut known = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = match &*known {
            Some((read, names)) if read.elapsed() < NAMES_LAST => names.clone(),
            _ => {
                let filter = Filter {
                    as_of: self.as_of,
                    ..Filter::default()
                };
                let gathered = self
                    .past
                    .archive
                    .fold_orders(&filter, NameCollector::default)?;
                let mut names = KnownNames::default();
                gathered
                    .0
                    .into_iter()
                    .for_each(|NameCollector(met)| names.join(met));
                let coins = self.past.archive.coins(self.as_of)?;
                names
                    .coins
                    .extend(coins.into_iter().map(|coin| coin.symbol));
                *known = Some((Instant::now(), names.clone()));
                names
            }
        };
        drop(known);
        // What has arrived since.
        shown(self, None, None, |view| {
            for [exchange, symbol, coin] in engine::listings(view) {
                names.note(exchange, symbol, coin);
            }
        })?;
        Ok(names)
    }

    fn coins(&self) -> Result<Vec<String>, Refusal> {
        self.current()?;
        let coins = self.back.archive.coins(self.as_of)?;
        Ok(coins.into_iter().map(|coin| coin.symbol).collect())
    }

    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        let (now, venues) = shown(self, as_of, None, |view| {
            (view.now(), engine::coverage(view, window))
        })?;
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
        let known_by = self.instant(as_of)?;
        let archive = &self.desk(as_of).archive;
        // Where nothing was observed, what is to be told is since when that is so.
        let now = if now > Millis::default() {
            now
        } else {
            let unheard = archive.pending_gaps()?;
            let until = unheard.iter().map(|gap| gap.end).max();
            until.unwrap_or(now)
        };
        let start = now.back(window.millis());
        let covered = archive.coverage_of(start.on(1), now.on(1), &counts, known_by)?;
        Ok(covered
            .into_iter()
            .map(|venue| VenueCoverage {
                last_event: venue
                    .last_event
                    .or_else(|| quiet.get(&venue.exchange).copied()),
                ..venue
            })
            .collect())
    }

    fn whole_tapes(&self, as_of: Option<Millis>, window: Window) -> Result<Spans, Refusal> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method is of one lifetime"
        )]
        let now = shown(self, as_of, None, |view| view.now())?;
        let known_by = self.instant(as_of)?;
        let start = now.back(window.millis());
        let archive = &self.desk(as_of).archive;
        Ok(archive.fully_covered(start.on(1), now.on(1), known_by)?)
    }

    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<MissedStretch>, Refusal> {
        let known_by = self.instant(as_of)?;
        Ok(self
            .desk(as_of)
            .archive
            .gap_statuses(range.start, range.end, known_by)?)
    }

    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<PeriodRow>>, Refusal> {
        // A long read keeps nobody waiting who asks about now.
        let desk = &self.past;
        let as_of = self.instant(as_of)?;
        // What an archive keeps has the coin of its pair.
        let coin = match asked.symbols.as_slice() {
            [one] => Some(one.coin().to_owned()),
            _ => None,
        };
        let filter = Filter {
            start: Some(asked.start),
            end: Some(asked.end),
            as_of,
            exchange: asked.exchange.clone(),
            coin,
            ..Filter::default()
        };
        let (shares, _) = desk
            .archive
            .fold_orders(&filter, || TimelineShare(Timeline::new(asked)))?;
        let mut all = Timeline::new(asked);
        for share in &shares {
            all.join(&share.0);
        }
        let covered = desk.archive.covered(asked.start, asked.end, as_of)?;
        Ok(all.rows(&Covered::At(covered)))
    }

    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        // A long read keeps nobody waiting who asks about now.
        let archive = &self.past.archive;
        let at = self.instant(as_of)?;
        if at.is_none() {
            let now = self.live()?.ring.now();
            if RecentCascadeCache::are_asked(asked, now) {
                return self.tails.rows(archive, asked, now);
            }
        }
        of_stretch(archive, asked, at)
    }

    /// Of all exchanges together, as estimates are made of them.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal> {
        let at = self.instant(as_of)?;
        let now = match at {
            Some(at) => at,
            None => self.live()?.ring.now(),
        };
        // Nothing is known of what is still to come; a range that is none is refused all the same.
        let known = now.on(1);
        let end = if known < range.start && range.start <= range.end {
            range.start
        } else {
            range.end.min(known)
        };
        let filter = self.filter(Some(coin), at, TimeRange { end, ..range })?;
        let archive = &self.desk(as_of).archive;
        let bars = bar_series::all(archive, &filter, size, now)?;
        if let Some(size) = size
            && bars.is_empty()
        {
            let whenever = self.filter(Some(coin), at, TimeRange::ALL)?;
            let lengths = bar_series::lengths(archive, &whenever)?;
            engine::can_be_made(coin, size, &lengths)?;
        }
        Ok(bars)
    }

    fn first_bar(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Option<(Millis, i64)>, Refusal> {
        let filter = self.filter(Some(coin), as_of, range)?;
        let first = self.desk(as_of).archive.first_bar(&filter)?;
        Ok(first.map(|bar| (bar.timestamp, bar.interval)))
    }

    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        let filter = self.filter(Some(coin), as_of, range)?;
        let rows = self.desk(as_of).archive.open_interest(&filter)?.rows;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        let at = self.instant(as_of)?;
        let archive = &self.desk(as_of).archive;
        Ok(archive.last_positions(coin, exchange, at)?.rows)
    }

    fn maps(
        &self,
        kind: Option<&str>,
        coin: Option<&str>,
        version: Option<&str>,
        as_of: Option<Millis>,
        range: TimeRange,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        let filter = Filter {
            version: version.map(str::to_owned),
            ..self.filter(coin, as_of, range)?
        };
        Ok(self
            .desk(as_of)
            .archive
            .maps_within(&filter, kind, most)?
            .rows)
    }

    fn rows(&self) -> Result<Rows, Refusal> {
        Err(Refusal::not_tables())
    }
}
