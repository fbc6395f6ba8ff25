//! A replay: shows another source as of a clock that moves through its past.
//!
//! Each query is passed to the other source, as of the last arrival before the clock (`schedule`, `clock`). So no row
//! is visible too early, and the answers do not depend on the speed of the clock.

mod clock;
mod schedule;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::archive::Archive;
use crate::engine::{
    ArrivedOrder, CompleteTapes, KnownPositions, LargestQuestion, Observations, ObservedTables,
    RecordedRanges, Timeline, TimelineQuestion, View,
};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::names::KnownNames;
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::source::coverage_source::CoverageSource;
use crate::market::source::history_source::HistorySource;
use crate::market::source::live_source::LiveSource;
use crate::market::source::market_source::MarketSource;
pub use crate::market::source::replay::clock::{ManualClock, ReplayClock, ScaledClock};
use crate::market::source::replay::schedule::{ReplayPosition, ReplaySchedule};
use crate::market::source::view_source::RequiredHistory;
use crate::market::source::view_source::ViewSource;
use crate::model::{
    Bar, CoverageGap, Damage, MapRow, Millis, ObservedOpenInterest, Order, PeriodLength,
    PositionRow, TimeRange, TotalRow, VenueCoverage, Window,
};

/// Pause after a failed poll.
const AGAIN: Duration = Duration::from_secs(1);

/// A source that replays another source.
#[derive(Debug)]
pub(crate) struct ReplaySource {
    place: Arc<dyn MarketSource>,
    timetable: ReplaySchedule,
    clock: Arc<dyn ReplayClock>,
    /// The instant at which the replay was ended early, if it was.
    ended: watch::Sender<Option<Millis>>,
    /// Identifies the replay's order of arrival; a position with another value is invalid.
    series: u64,
}

impl ReplaySource {
    /// Creates a replay of the rows of `place` after `start`; `observations` contains all rows of `place`.
    pub(crate) fn of_observations(
        place: Arc<dyn MarketSource>,
        observations: &Observations,
        start: Millis,
        clock: impl FnOnce(Millis) -> Arc<dyn ReplayClock>,
    ) -> Self {
        let timetable = ReplaySchedule::of_observations(observations, start);
        Self::by(place, timetable, clock)
    }

    /// Creates a replay of the rows of `place` that were received in `range`; `archive` reads them.
    pub(crate) fn of_archive(
        place: Arc<dyn MarketSource>,
        archive: Archive,
        range: TimeRange,
        clock: impl FnOnce(Millis) -> Arc<dyn ReplayClock>,
        read: &dyn Fn(usize, usize),
    ) -> Result<Self, Refusal> {
        let timetable =
            ReplaySchedule::of_archive(archive, range.lower_bound(), range.upper_bound(), read)?;
        Ok(Self::by(place, timetable, clock))
    }

    fn by(
        place: Arc<dyn MarketSource>,
        timetable: ReplaySchedule,
        clock: impl FnOnce(Millis) -> Arc<dyn ReplayClock>,
    ) -> Self {
        Self {
            place,
            clock: clock(timetable.start),
            timetable,
            ended: watch::Sender::new(None),
            series: fastrand::u64(..),
        }
    }

    /// The current instant of the replay.
    pub(crate) fn clock(&self) -> Millis {
        let at = self.clock.now().min(self.timetable.end);
        let at = self.ended.borrow().map_or(at, |ended| ended.min(at));
        at.max(self.timetable.start)
    }

    /// The end of the replay.
    pub(crate) fn until(&self) -> Millis {
        self.timetable.end
    }

    /// Ends the replay at its current instant.
    pub(crate) fn end(&self) {
        let at = self.clock();
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert(at);
            first
        });
    }

    fn is_over(&self) -> bool {
        self.ended.borrow().is_some() || self.clock() >= self.timetable.end
    }

    /// The position of the replay, and whether it is over.
    fn look(&self) -> Result<(ReplayPosition, bool), Refusal> {
        // `is_over` comes first: an order that arrives between the two calls belongs to the next poll.
        let over = self.is_over();
        Ok((self.timetable.stand(self.clock())?, over))
    }

    fn now(&self) -> Result<Millis, Refusal> {
        Ok(self.timetable.stand(self.clock())?.now)
    }

    fn revision(&self, at: Millis, over: bool) -> Revision {
        let number = u64::try_from(at.0.saturating_sub(self.timetable.start.0)).unwrap_or_default();
        Revision {
            number: number.saturating_add(over.into()),
            changed_at: self.clock.here(at),
        }
    }

    /// The instant that a query is about: `as_of`, or else now. An instant in the future of the replay is refused.
    fn at(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        let now = self.now()?;
        match as_of {
            Some(asked) if asked > now => Err(Refusal::unknown_yet(asked, now)),
            asked => Ok(Some(asked.unwrap_or(now))),
        }
    }

    async fn looked(self: Arc<Self>) -> Result<(ReplayPosition, bool), Refusal> {
        if !self.is_on_disk() {
            return self.look();
        }
        let looked = tokio::task::spawn_blocking(move || self.look()).await;
        looked.unwrap_or_else(|failure| Err(Refusal::defect(failure)))
    }
}

impl ViewSource for ReplaySource {
    fn view(
        &self,
        as_of: Option<Millis>,
        needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal> {
        self.place.view(self.at(as_of)?, needed, work)
    }

    /// Each instant is checked separately, so that the future of the replay stays hidden.
    fn shows_the_past(&self) -> bool {
        false
    }

    fn damage_behind(
        &self,
        needed: &RequiredHistory,
        closed: Millis,
    ) -> Result<Vec<Damage>, Refusal> {
        self.place.damage_behind(needed, closed)
    }

    fn opened_as_of(&self) -> Option<Millis> {
        self.now().ok()
    }

    fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.at(as_of)
    }
}

impl LiveSource for ReplaySource {
    fn is_growing(&self) -> bool {
        !self.is_over()
    }

    fn is_on_disk(&self) -> bool {
        self.timetable.is_on_disk()
    }

    fn last_state(&self, dependency: &Dependency) -> SourceState {
        self.state(dependency).unwrap_or_else(|fault| {
            log::warn!("{fault}");
            let start = self.timetable.start;
            SourceState {
                revision: self.revision(start, false),
                now: start,
            }
        })
    }

    fn state(&self, dependency: &Dependency) -> Result<SourceState, Refusal> {
        let (stand, over) = self.look()?;
        Ok(SourceState {
            revision: match dependency {
                Dependency::Observations | Dependency::Record | Dependency::Recording(_) => {
                    self.revision(stand.now, over)
                }
                Dependency::Coin(_) => self.revision(stand.settled, false),
            },
            now: stand.now,
        })
    }

    fn changed(self: Arc<Self>, seen: Revision) -> BoxFuture<'static, ()> {
        let mut ended = self.ended.subscribe();
        Box::pin(async move {
            loop {
                let next = match Arc::clone(&self).looked().await {
                    Ok((stand, over)) => {
                        if self.revision(stand.now, over).number > seen.number {
                            return;
                        }
                        if over {
                            return pending().await;
                        }
                        stand.next.unwrap_or(self.timetable.end)
                    }
                    Err(fault) => {
                        log::warn!("{fault}");
                        tokio::time::sleep(AGAIN).await;
                        continue;
                    }
                };
                tokio::select! {
                    () = self.clock.reached(next) => (),
                    // This cannot fail, because the sender is alive.
                    _ = ended.changed() => (),
                }
            }
        })
    }

    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        let at = self.clock();
        let known = match after {
            Some(after) if after.series != self.series => return Ok(Arrivals::Gone),
            after => after.map_or(0, |after| after.number),
        };
        if known > self.timetable.arrived(at)? {
            return Ok(Arrivals::Gone);
        }
        let orders = self.timetable.orders_behind(known, limit, at)?;
        let series = self.series;
        let named = orders.into_iter().zip(known + 1..);
        Ok(Arrivals::Known(
            named
                .map(|(order, number)| (ArrivalId { series, number }, order))
                .collect(),
        ))
    }

    fn newest(&self) -> Result<ArrivalId, Refusal> {
        Ok(ArrivalId {
            series: self.series,
            number: self.timetable.arrived(self.clock())?,
        })
    }
}

impl CoverageSource for ReplaySource {
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.place.coverage(self.at(as_of)?, window)
    }

    fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.place.coverage_between(self.at(as_of)?, range)
    }

    fn count_outliers(
        &self,
        as_of: Option<Millis>,
        window: Window,
        venues: &mut Vec<VenueCoverage>,
    ) -> Result<(), Refusal> {
        self.place.count_outliers(self.at(as_of)?, window, venues)
    }

    fn complete_tapes(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<CompleteTapes, Refusal> {
        self.place.complete_tapes(self.at(as_of)?, window)
    }

    fn recorded(&self, as_of: Option<Millis>, range: TimeRange) -> Result<RecordedRanges, Refusal> {
        self.place.recorded(self.at(as_of)?, range)
    }

    fn first_observed(&self) -> Result<Option<Millis>, Refusal> {
        self.place.first_observed()
    }

    fn orders_from(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.place.orders_from(self.at(as_of)?)
    }

    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<CoverageGap>, Refusal> {
        self.place.gaps(self.at(as_of)?, range)
    }
}

impl HistorySource for ReplaySource {
    fn coins(&self) -> Result<Vec<String>, Refusal> {
        match self.place.archive() {
            Some(archive) => {
                let coins = archive.catalog().coins(self.at(None)?)?;
                Ok(coins.into_iter().map(|coin| coin.symbol).collect())
            }
            None => self.place.coins(),
        }
    }

    /// All names of the source, including those of rows that have not arrived yet.
    fn names(&self) -> Result<KnownNames, Refusal> {
        self.place.names()
    }

    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<PeriodLength>,
    ) -> Result<Vec<Bar>, Refusal> {
        self.place.bars(coin, self.at(as_of)?, range, size)
    }

    fn first_bar(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Option<(Millis, i64)>, Refusal> {
        self.place.first_bar(coin, self.at(as_of)?, range)
    }

    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        self.place.open_interest(coin, self.at(as_of)?, range)
    }

    fn arrived_orders(
        &self,
        coin: &str,
        exchange: Option<&str>,
        range: TimeRange,
        as_of: Option<Millis>,
    ) -> Result<Vec<ArrivedOrder>, Refusal> {
        self.place
            .arrived_orders(coin, exchange, range, self.at(as_of)?)
    }

    fn withdrawals(&self) -> Result<Vec<Millis>, Refusal> {
        self.place.withdrawals()
    }

    fn has_totals(&self) -> Result<bool, Refusal> {
        self.place.has_totals()
    }

    fn totals(
        &self,
        asked: &TimelineQuestion,
        as_of: Option<Millis>,
    ) -> Result<Vec<TotalRow>, Refusal> {
        self.place.totals(asked, self.at(as_of)?)
    }

    fn largest(
        &self,
        asked: &Arc<LargestQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Refusal> {
        self.place.largest(asked, self.at(as_of)?)
    }

    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Timeline, Refusal> {
        self.place.timeline(asked, self.at(as_of)?)
    }

    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        self.place.positions(coin, exchange, self.at(as_of)?)
    }

    fn position_history(
        &self,
        coin: &str,
        exchange: Option<&str>,
        range: TimeRange,
        step: i64,
        as_of: Option<Millis>,
    ) -> Result<KnownPositions, Refusal> {
        let at = self.at(as_of)?;
        self.place.position_history(coin, exchange, range, step, at)
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
        self.place
            .maps(kind, coin, version, self.at(as_of)?, range, most)
    }

    /// The rows that have arrived by now.
    fn rows(&self) -> Result<ObservedTables, Refusal> {
        let now = self.now()?;
        let (mut orders, mut bars, mut readings) = self.place.rows()?;
        orders.retain(|row| row.order.timestamp.max(row.received_at.unwrap_or_default()) <= now);
        bars.retain(|bar| bar.timestamp.on(bar.interval.unwrap_or_default()) <= now);
        readings.retain(|reading| reading.timestamp <= now);
        Ok((orders, bars, readings))
    }
}

impl MarketSource for ReplaySource {
    fn archive(&self) -> Option<&Archive> {
        self.place.archive()
    }

    fn history_archive(&self) -> Option<&Archive> {
        self.place.history_archive()
    }

    fn warming_up(&self) -> Vec<String> {
        self.place.warming_up()
    }

    fn set_history_cache(&self, bytes: usize) {
        self.place.set_history_cache(bytes);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests;
