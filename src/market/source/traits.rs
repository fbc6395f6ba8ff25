//! Where a market's observations lie, and what every such place gives.
//!
//! A place is implemented by what it shows of itself: the engine answers from that, so no place knows the questions.
//! Places that show all they have at once answer the rest from it as well; an archive reads what is asked for.

use std::fmt::Debug;
use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::archive::Archive;
use crate::engine::{self, CascadeQuestion, Covered, Rows, Spans, TimelineQuestion, View};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::names::KnownNames;
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::model::{
    Bar, CascadeRow, Damage, MapRow, Millis, MissedStretch, ObservedOpenInterest, PeriodRow,
    PositionRow, TimeRange, VenueCoverage, Window,
};

/// Which coin's history an answer needs, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequiredHistory {
    /// Coin symbol.
    pub coin: String,
    /// Length of the window in milliseconds.
    pub range: i64,
    /// The window's name.
    pub range_name: &'static str,
    /// Whether realised orders are part of the estimate.
    pub orders: bool,
    /// The exchange whose orders they are; all where absent.
    pub exchange: Option<String>,
    /// For how long, in milliseconds, the bars it ends with give it: then they are too old.
    pub lasts: i64,
}

/// A place that observations lie in. Where `as_of` is none, what is known now is meant.
pub(crate) trait Source: Debug + Send + Sync {
    /// Shows `work` the orders known at `as_of`, and of a coin what `needed` says.
    fn view(
        &self,
        as_of: Option<Millis>,
        needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal>;

    /// The damaged files of the time that an estimate rests on of what `needed` says, whose last bar closed at `closed`.
    fn damage_behind(
        &self,
        _needed: &RequiredHistory,
        _closed: Millis,
    ) -> Result<Vec<Damage>, Refusal> {
        Ok(Vec::new())
    }

    /// Whether what is shown of now can be looked at as of earlier instants, and is all that was known of them.
    fn shows_the_past(&self) -> bool {
        true
    }

    /// Whether orders may still arrive.
    fn is_growing(&self) -> bool;

    /// Whether a look at what is new may have to wait for a disk.
    fn is_on_disk(&self) -> bool {
        false
    }

    /// Where `basis` stands; the last that is known where what is new cannot be read.
    fn last_standing(&self, basis: &Dependency) -> SourceState;

    /// Where `basis` stands, of one look at what is new.
    fn standing(&self, basis: &Dependency) -> Result<SourceState, Refusal> {
        Ok(self.last_standing(basis))
    }

    /// Where `basis` stood at the last look; none where one is taking in what is new.
    fn seen(&self, basis: &Dependency) -> Option<SourceState> {
        Some(self.last_standing(basis))
    }

    /// Waits until the revision is another than `seen`.
    fn changed(self: Arc<Self>, _seen: Revision) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }

    /// Up to `limit` orders that arrived behind `after`, or else from the first that is known.
    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal>;

    /// The place behind the last order that has arrived.
    fn newest(&self) -> Result<ArrivalId, Refusal>;

    /// The archive, where it is one.
    fn archive(&self) -> Option<&Archive> {
        None
    }

    /// The same for long reads, which keep nobody waiting who asks about now.
    fn archive_of_the_past(&self) -> Option<&Archive> {
        self.archive()
    }

    /// Keeps up to `bytes`, about, of what was read of the past for the next question about it.
    fn keep_of_the_past(&self, _bytes: usize) {}

    /// The instant it was opened as of, if it was.
    fn opened_as_of(&self) -> Option<Millis> {
        None
    }

    /// The instant that `as_of` asks about.
    fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        Ok(as_of)
    }

    /// The coins that an estimate can be given for, by name.
    fn coins(&self) -> Result<Vec<String>, Refusal> {
        shown(self, None, None, |view| view.observations().coins())
    }

    /// The names that were ever observed.
    fn names(&self) -> Result<KnownNames, Refusal> {
        shown(self, None, None, |view| {
            let mut names = KnownNames::default();
            for [exchange, symbol, coin] in engine::listings(view) {
                names.note(exchange, symbol, coin);
            }
            names.coins.extend(view.observations().coins());
            names
        })
    }

    /// What each venue's totals in a window cover.
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        shown(self, as_of, None, |view| engine::coverage(view, window))
    }

    /// When every order of an exchange was told in a window, by exchange; tables do not say how they were gathered.
    fn whole_tapes(&self, _as_of: Option<Millis>, _window: Window) -> Result<Spans, Refusal> {
        Ok(Spans::new())
    }

    /// When orders are known to have been missed, of what reaches into a stretch of time.
    fn gaps(
        &self,
        _as_of: Option<Millis>,
        _range: TimeRange,
    ) -> Result<Vec<MissedStretch>, Refusal> {
        Ok(Vec::new())
    }

    /// The closed bars of a coin in a stretch of time, made into bars of `size` milliseconds where one is given.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal> {
        let made = shown(self, as_of, None, |view| {
            engine::bars(view, coin, range, size)
        })?;
        Ok(made?)
    }

    /// When the first bar of a coin opened of those that opened in a stretch of time, and its length.
    fn first_bar(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Option<(Millis, i64)>, Refusal> {
        let from = TimeRange::new(range.start, TimeRange::ALL.end);
        let bars = self.bars(coin, as_of, from, None)?;
        let first = bars.first().map(|bar| (bar.open_time, bar.interval));
        Ok(first.filter(|(open, _)| range.contains(*open)))
    }

    /// The readings of a coin's open interest in a stretch of time, in order of time.
    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        shown(self, as_of, None, |view| {
            engine::open_interest(view, coin, range)
        })
    }

    /// What was liquidated period by period; `None` where there are more rows than may be.
    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<PeriodRow>>, Refusal> {
        shown(self, as_of, None, |view| {
            engine::timeline(view, asked).rows(&Covered::Unknown)
        })
    }

    /// The events of closely following orders, without prices; `None` where there are more than may be.
    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        shown(self, as_of, None, |view| {
            engine::cascades(view, asked).rows(asked)
        })
    }

    /// The positions of a coin in the last snapshot of single accounts, of one exchange where it is named.
    fn positions(
        &self,
        _coin: &str,
        _exchange: Option<&str>,
        _as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        Ok(Vec::new())
    }

    /// The estimated maps that were served and kept, of a kind, a coin and a version where they are named.
    fn maps(
        &self,
        _kind: Option<&str>,
        _coin: Option<&str>,
        _version: Option<&str>,
        _as_of: Option<Millis>,
        _range: TimeRange,
        _most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        Ok(Vec::new())
    }

    /// Rows that make the same observations again.
    fn rows(&self) -> Result<Rows, Refusal> {
        shown(self, None, None, |view| view.observations().rows())
    }
}

/// What `work` makes of what `source` shows.
pub(crate) fn shown<T>(
    source: &(impl Source + ?Sized),
    as_of: Option<Millis>,
    needed: Option<&RequiredHistory>,
    work: impl FnOnce(&View<'_>) -> T,
) -> Result<T, Refusal> {
    let (mut work, mut made) = (Some(work), None);
    source.view(as_of, needed, &mut |view| {
        made = work.take().map(|work| work(view));
    })?;
    made.ok_or_else(|| Refusal::defect("a source of observations showed none"))
}
