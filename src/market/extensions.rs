//! What a market tells beside the contract's questions: series over stretches of time, coverage and gaps, positions, maps.

use std::sync::Arc;

use crate::api::{self, BadQuery};
use crate::engine::{self, CascadeQuestion, CompleteTapes, ObservedTables, TimelineQuestion};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::market::Market;
use crate::market::query::cascades::price;
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::wanted;
use crate::market::query::order_pages;
use crate::market::refusal::Refusal;
use crate::market::source::view_source::view_of;
use crate::model::{
    Bar, CascadeRow, Coin, Completeness, GroupedOrder, MapRow, Millis, MissedStretch,
    ObservedLiquidations, ObservedOpenInterest, PeriodRow, PositionRow, TimeRange, UndercountRow,
    VenueCoverage, Vocabulary, Window,
};

impl Market {
    /// What each venue's totals in a window cover: a simulation shows all that happens in it, tables do not tell.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.check_instant(as_of)?;
        let mut venues = self.source.coverage(as_of, window)?;
        if self.simulated {
            for venue in &mut venues {
                venue.connected_share = Some(1.0);
                venue.completeness = Completeness::Complete;
            }
        }
        Ok(venues)
    }

    /// When orders of an exchange are known to have been missed, by the start of each stretch: those that reach into the
    /// time from the first instant until before the second, as far as that was known by `as_of`. Only archives know of any.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn gaps(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<MissedStretch>, Refusal> {
        self.check_instant(as_of)?;
        self.source.gaps(as_of, range)
    }

    /// The bars of `coin` that had closed by `as_of` or else by now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn bars(&self, coin: &str, as_of: Option<Millis>) -> Result<Vec<Bar>, Refusal> {
        self.bars_between(coin, as_of, TimeRange::ALL, None)
    }

    /// The bars of `coin` that opened at the first instant or later and closed by the second, and by `as_of` or else by
    /// now; made into bars of `size` milliseconds where one is given.
    ///
    /// A market in an archive gives one series of all its exchanges.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`], of a size that is no whole number of minutes, and in tables of one that
    /// the coin's bars cannot be made into.
    pub fn bars_between(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal> {
        if let Some(size) = size
            && (size <= 0 || size % Millis::MINUTE != 0)
        {
            return Err(BadQuery::new(
                "interval",
                format!("{size} ms is not a whole number of minutes"),
                "whole minutes above 0",
            )
            .into());
        }
        self.series(Some(coin), as_of, || {
            self.source.bars(coin, as_of, range, size)
        })
    }

    /// Of the bars of `coin` the one that opened first, at the first instant or later and before the second, and had closed
    /// by `as_of` or else by now: when it opened, and its length in milliseconds.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn first_bar(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Option<(Millis, i64)>, Refusal> {
        self.check_instant(as_of)?;
        self.source.first_bar(coin, as_of, range)
    }

    /// Series of a coin, or of all, as of an instant that can be asked about; none only of a coin that is known.
    fn series<T>(
        &self,
        coin: Option<&str>,
        as_of: Option<Millis>,
        read: impl FnOnce() -> Result<Vec<T>, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        self.check_instant(as_of)?;
        let rows = read()?;
        if let Some(coin) = coin.filter(|_| rows.is_empty()) {
            self.check_coin(coin)?;
        }
        Ok(rows)
    }

    /// The readings of a coin's open interest from the first instant until before the second that were known at `as_of`
    /// or else are known now, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        self.series(Some(coin), as_of, || {
            self.source.open_interest(coin, as_of, range)
        })
    }

    /// The positions of a coin in the last snapshot of single accounts that was complete at `as_of`, or else now; of one
    /// exchange where it is named. Only archives have any.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        self.series(Some(coin), as_of, || {
            self.source.positions(coin, exchange, as_of)
        })
    }

    /// The estimated maps that were served and kept, as they were: of `kind`, `coin` and the model's `version` where they
    /// are named ([`Filter::UNKNOWN`](crate::archive::Filter::UNKNOWN) where it is not known), made of bars up to the first
    /// instant or later and before the second, computed by `as_of`; at most so many bytes of them. Only archives have any.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn maps(
        &self,
        kind: Option<&str>,
        coin: Option<&str>,
        version: Option<&str>,
        as_of: Option<Millis>,
        range: TimeRange,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        self.series(coin, as_of, || {
            self.source.maps(kind, coin, version, as_of, range, most)
        })
    }

    /// The instant that `as_of` asks about, or else the one the market was opened as of.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where the market was opened as of an earlier instant.
    pub fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.check_instant(as_of)?;
        self.source.instant(as_of)
    }

    /// ObservedTables that make the same observations again.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn rows(&self) -> Result<ObservedTables, Refusal> {
        self.source.rows()
    }

    /// What was liquidated period by period, where tables told it.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn liquidations(&self) -> Result<Vec<ObservedLiquidations>, Refusal> {
        view_of(&*self.source, None, None, |view| {
            view.observations().liquidations().collect()
        })
    }

    /// Up to `limit` orders that arrived behind `after`, or else from the first that is known.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        self.source.arrivals(after, limit)
    }

    /// The place behind the last order that has arrived.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] as of [`Market::answer`].
    pub fn newest(&self) -> Result<ArrivalId, Refusal> {
        self.source.newest()
    }
}

impl MarketHistory for Market {
    fn newest(&self) -> Millis {
        self.now()
    }

    fn orders(
        &self,
        asked: &api::Orders,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<GroupedOrder>, Refusal> {
        self.check_instant(as_of)?;
        order_pages::check(asked)?;
        match self.source.history_archive() {
            Some(archive) => {
                let known_by = self.source.instant(as_of)?;
                let last = known_by.unwrap_or_else(|| self.now());
                order_pages::page(
                    archive,
                    &order_pages::of_last_day(asked, last),
                    known_by,
                    most,
                )
            }
            None => view_of(&*self.source, as_of, None, |view| {
                let range = TimeRange::bounded(asked.start, asked.end);
                engine::orders_between(view, wanted(asked), range, asked.limit.into(), asked.offset)
            }),
        }
    }

    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PeriodRow>, Refusal> {
        self.check_instant(as_of)?;
        let rows = self.source.timeline(asked, as_of)?;
        let mut rows = rows.ok_or_else(|| {
            let message = format!("there are more than {} rows", asked.most);
            let allowed = "a longer interval, a shorter range, or fewer columns in by";
            BadQuery::new("interval", message, allowed)
        })?;
        if self.simulated {
            for row in &mut rows {
                row.covered = Some(1.0);
            }
        }
        Ok(rows)
    }

    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<CascadeRow>, Refusal> {
        self.check_instant(as_of)?;
        let mut rows = self.source.cascades(asked, as_of)?.ok_or_else(|| {
            let message = format!("there are more than {} events", asked.most);
            let allowed = "more USD, a longer gap, a shorter range, or fewer coins";
            BadQuery::new("min_usd", message, allowed)
        })?;
        price(&mut rows, |coin, from, to| {
            self.source
                .bars(coin, as_of, TimeRange::new(from, to), None)
        })?;
        Ok(rows)
    }

    fn undercount(
        &self,
        window: Window,
        as_of: Option<Millis>,
    ) -> Result<Vec<UndercountRow>, Refusal> {
        self.check_instant(as_of)?;
        let whole = if self.simulated {
            CompleteTapes::All
        } else {
            CompleteTapes::At(self.source.complete_ranges(as_of, window)?)
        };
        view_of(&*self.source, as_of, None, |view| {
            engine::undercount(view, window, &whole)
        })
    }

    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.coverage(as_of, window)
    }

    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<MissedStretch>, Refusal> {
        self.gaps(as_of, range)
    }

    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal> {
        self.bars_between(coin, as_of, range, size)
    }

    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        self.open_interest(coin, as_of, range)
    }

    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        self.positions(coin, exchange, as_of)
    }

    fn maps(
        &self,
        wanted: &api::Maps,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        self.maps(
            wanted.kind.map(Vocabulary::name),
            wanted.symbol.as_ref().map(Coin::as_str),
            wanted.version.as_deref(),
            as_of,
            TimeRange::bounded(wanted.start, wanted.end),
            most,
        )
    }
}
