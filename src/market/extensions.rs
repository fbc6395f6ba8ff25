//! Queries beyond the API: bars, open interest, account positions, maps, coverage, gaps and arrivals of any time
//! range.

use std::sync::Arc;

use crate::contract::{self, BadQuery};
use crate::engine::{
    self, CascadeQuestion, Grouping, LargestQuestion, Observations, ObservedTables, RecordedRanges,
    TimelineQuestion,
};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::market::Market;
use crate::market::query::cascades::price;
use crate::market::query::history;
use crate::market::query::market_history::MarketHistory;
use crate::market::query::market_query::{MarketQuery, QueryInputs, last, wanted};
use crate::market::query::order_pages;
use crate::market::refusal::Refusal;
use crate::market::revision::wall_clock;
use crate::market::source::recordings::RecordedQuestion;
use crate::market::source::view_source::view_of;
use crate::model::{
    Bar, CascadeRow, Coin, Completeness, CoverageGap, GroupedOrder, MapRow, Millis,
    ObservedLiquidations, ObservedOpenInterest, Order, PeriodCoverage, PeriodLength, PeriodRow,
    PositionRow, TimeRange, TotalRow, TotalsByWindow, UndercountRow, VenueCoverage, Vocabulary,
    Window,
};

impl Market {
    /// How completely each exchange's orders in `window` were recorded.
    ///
    /// The coverage is complete for a simulation and unknown for tables. Outliers among bars and open-interest
    /// readings are not counted, because that would require reading bars.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.check_instant(as_of)?;
        let mut venues = self.source.coverage(as_of, window)?;
        self.cover_by_totals(&mut venues, last(window, self.now_at(as_of)), as_of)?;
        Ok(venues)
    }

    /// How completely each exchange's orders in `range` were recorded; outliers are not counted.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.check_instant(as_of)?;
        let mut venues = self.source.coverage_between(as_of, range)?;
        self.cover_by_totals(&mut venues, range, as_of)?;
        Ok(venues)
    }

    /// Adds the time that is known by totals of periods alone to the coverage of exchanges without orders.
    fn cover_by_totals(
        &self,
        venues: &mut Vec<VenueCoverage>,
        range: TimeRange,
        as_of: Option<Millis>,
    ) -> Result<(), Refusal> {
        let asked = TimelineQuestion::of_range(
            range,
            Grouping {
                exchange: true,
                ..Grouping::default()
            },
        );
        let totals = self.source.totals(&asked, as_of)?;
        let known = engine::known_ranges(&RecordedRanges::new(), &totals, None, true);
        for (exchange, ranges) in known {
            let share = engine::covered_share(
                &RecordedRanges::from([(exchange.clone(), ranges)]),
                range,
                None,
            );
            let covered = VenueCoverage {
                exchange: exchange.clone(),
                completeness: Completeness::Totals,
                connected_share: Some(share),
                ..VenueCoverage::default()
            };
            match venues.iter_mut().find(|venue| venue.exchange == exchange) {
                Some(venue)
                    if venue.cnt == 0 && venue.connected_share.is_none_or(|share| share <= 0.0) =>
                {
                    venue.completeness = covered.completeness;
                    venue.known_by = covered.known_by;
                    venue.connected_share = covered.connected_share;
                }
                Some(_) => {}
                None => venues.push(covered),
            }
        }
        venues.sort_unstable_by(|a, b| a.exchange.cmp(&b.exchange));
        Ok(())
    }

    /// The coverage of the time that the reply to `question` is about; `None` if the reply needs no coverage.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn coverage_of<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<VenueCoverage>>, Refusal> {
        if let Some(window) = question.covered() {
            return self.coverage(as_of, window).map(Some);
        }
        let now = self.now_at(as_of);
        let Some(range) = question.covered_range(now) else {
            return Ok(None);
        };
        let known = TimeRange::new(range.start, range.end.min(now.on(1)));
        self.coverage_between(as_of, known).map(Some)
    }

    /// How much of the period of a question about realised orders is covered; `None` for other questions.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn covered<E: MarketQuery>(
        &self,
        question: &E,
        as_of: Option<Millis>,
    ) -> Result<Option<PeriodCoverage>, Refusal> {
        let is_recorded = matches!(question.material(), QueryInputs::Served(_));
        if is_recorded {
            return Ok(None);
        }
        let now = self.instant(as_of)?.unwrap_or_else(|| self.now());
        let Some(period) = question.period(now) else {
            return Ok(None);
        };
        match self.covered_of(question, period, (as_of, now)) {
            // The damage itself is said with the answer.
            Err(refusal) if refusal.is_of_damage() => Ok(None),
            covered => covered.map(Some),
        }
    }

    /// How much of `period` is covered, as of an instant or now.
    fn covered_of<E: MarketQuery>(
        &self,
        question: &E,
        period: TimeRange,
        (as_of, now): (Option<Millis>, Millis),
    ) -> Result<PeriodCoverage, Refusal> {
        let data_from = self.source.orders_from(as_of)?.filter(|from| *from <= now);
        // A range without a start begins with the data, and nothing is known after now.
        let period = TimeRange::new(
            period.lower_bound().or(data_from).unwrap_or(now),
            period.end.min(now.on(1)),
        );
        let windows = question.windows(now);
        let all = windows.iter().fold(period, |all, (_, range)| TimeRange {
            start: all.start.min(range.start),
            end: all.end.max(range.end),
        });
        let recorded = self.source.recorded(as_of, all)?;
        let asked = question.asks_totals(now);
        let share = |range: TimeRange| -> Result<f64, Refusal> {
            let exchange = question.exchange();
            let Some(asked) = &asked else {
                return Ok(engine::covered_share(&recorded, range, exchange));
            };
            let totals = self.source.totals(&asked.within(range), as_of)?;
            let known = engine::known_ranges(&recorded, &totals, None, exchange.is_some());
            Ok(engine::covered_share(&known, range, exchange))
        };
        let of_window = |(key, range): (&str, _)| Ok((key.to_owned(), share(range)?));
        Ok(PeriodCoverage {
            covered: share(period)?,
            covered_windows: windows
                .into_iter()
                .map(of_window)
                .collect::<Result<_, Refusal>>()?,
            data_from,
        })
    }

    /// The instant that `as_of` asks about, or now.
    pub(crate) fn now_at(&self, as_of: Option<Millis>) -> Millis {
        let known_by = self.source.instant(as_of).ok().flatten();
        known_by.unwrap_or_else(|| self.now())
    }

    /// The recorded gaps that overlap `range`, sorted by start, as known at `as_of`.
    ///
    /// Only archives and simulations record gaps.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn gaps(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<CoverageGap>, Refusal> {
        self.check_instant(as_of)?;
        self.source.gaps(as_of, range)
    }

    /// The closed bars of `coin`, in time order.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn bars(&self, coin: &str, as_of: Option<Millis>) -> Result<Vec<Bar>, Refusal> {
        self.bars_between(coin, as_of, TimeRange::ALL, None)
    }

    /// The bars of `coin` that open and close in `range`, resampled to periods of `size` if `size` is given.
    ///
    /// A market in an archive merges the bars of all its exchanges.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`], and if `size` is not a whole number of minutes or the bars cannot be resampled to it.
    pub fn bars_between(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<PeriodLength>,
    ) -> Result<Vec<Bar>, Refusal> {
        if let Some(PeriodLength::Fixed(size)) = size
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

    /// The open time and length in milliseconds of the first bar of `coin` that opens in `range`.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn first_bar(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Option<(Millis, i64)>, Refusal> {
        self.check_instant(as_of)?;
        self.source.first_bar(coin, as_of, range)
    }

    /// Checks `as_of` and calls `read` for the rows of a coin or of all coins. Refuses an empty result for an unknown
    /// coin.
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

    /// The open-interest readings of a coin in `range`, in time order, as known at `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
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

    /// The account positions in a coin, from the last complete snapshot; of one exchange if `exchange` is given.
    ///
    /// Only archives have account positions.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
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

    /// The recorded maps with a last bar that closed in `range`.
    ///
    /// `kind`, `coin` and the model `version` are filters. [`Filter::UNKNOWN`](crate::archive::Filter::UNKNOWN)
    /// selects maps without a version. Only archives record maps.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`], and if the maps exceed `most` bytes.
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

    /// The instant that a query is about: `as_of`, or else the instant that the market was opened as of.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market was opened as of an earlier instant.
    pub fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.check_instant(as_of)?;
        self.source.instant(as_of)
    }

    /// Returns all observations of this market as tables.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn rows(&self) -> Result<ObservedTables, Refusal> {
        self.source.rows()
    }

    /// The first instant at which anything was observed; `None` if nothing was.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn first_observed(&self) -> Result<Option<Millis>, Refusal> {
        self.source.first_observed()
    }

    /// A market of only the rows that were known by `at`, which becomes its *now*.
    ///
    /// An order is known once it was received, a bar and a period of totals once they closed. A simulation also knows its
    /// gaps, but no positions.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`], and if the market is an archive.
    pub fn known_by(&self, at: Millis) -> Result<Self, Refusal> {
        let (mut orders, mut bars, mut readings) = self.rows()?;
        orders.retain(|row| row.order.timestamp.max(row.received_at.unwrap_or_default()) <= at);
        bars.retain(|bar| bar.timestamp.on(bar.interval.unwrap_or_default()) <= at);
        readings.retain(|reading| reading.timestamp <= at);
        let mut totals = self.liquidations()?;
        totals.retain(|row| row.timestamp.on(row.interval.unwrap_or_default()) <= at);
        let observations = Observations::new(orders, bars, readings, Some(at))?;
        let observations = observations.with_liquidations(totals)?;
        let market = match self.source.simulated_feeds() {
            Some(feeds) => Self::simulated(observations, feeds.clone(), Vec::new(), self.source()),
            None => Self::fixed(observations, self.source()),
        };
        Ok(if self.has_only_totals {
            market.of_totals()
        } else {
            market
        })
    }

    /// The liquidated totals by period of a market that was made from such totals; empty for other markets.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn liquidations(&self) -> Result<Vec<ObservedLiquidations>, Refusal> {
        view_of(&*self.source, None, None, |view| {
            view.observations().liquidations().collect()
        })
    }

    /// Whether the market is an archive with totals of periods.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn has_totals(&self) -> Result<bool, Refusal> {
        self.source.has_totals()
    }

    /// Up to `limit` orders that arrived after the position `after`; without `after`, from the first stored order on.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
    pub fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        self.source.arrivals(after, limit)
    }

    /// The position after the newest order.
    ///
    /// # Errors
    ///
    /// As [`Market::answer`].
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
        asked: &contract::Orders,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<GroupedOrder>, Refusal> {
        self.check_instant(as_of)?;
        let known_by = self.source.instant(as_of)?;
        let now = known_by.unwrap_or_else(|| self.now());
        let range = order_pages::range(asked, now)?;
        match self.source.history_archive() {
            Some(archive) => order_pages::page(archive, asked, range, known_by, most),
            None => view_of(&*self.source, as_of, None, |view| {
                let range = TimeRange::bounded_at(asked.start, asked.end, view.now());
                engine::orders_between(view, wanted(asked), range, asked.limit.into(), asked.offset)
            }),
        }
    }

    fn overview(&self, as_of: Option<Millis>) -> Result<TotalsByWindow, Refusal> {
        self.check_instant(as_of)?;
        view_of(&*self.source, as_of, None, engine::overview)
    }

    fn largest(
        &self,
        asked: &Arc<LargestQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Refusal> {
        self.check_instant(as_of)?;
        self.source.largest(asked, as_of)
    }

    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PeriodRow>, Refusal> {
        self.check_instant(as_of)?;
        let mut timeline = self.source.timeline(asked, as_of)?;
        let recorded = self
            .source
            .recorded(as_of, TimeRange::new(asked.start, asked.end))?;
        let totals = self.source.totals(asked, as_of)?;
        timeline.take_totals(&totals);
        let rows = timeline.rows_with(&recorded, &totals);
        Ok(rows.map_err(history::too_many)?)
    }

    fn totals(
        &self,
        asked: &TimelineQuestion,
        as_of: Option<Millis>,
    ) -> Result<Vec<TotalRow>, Refusal> {
        self.check_instant(as_of)?;
        self.source.totals(asked, as_of)
    }

    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<CascadeRow>, Refusal> {
        self.check_instant(as_of)?;
        let mut rows = self.source.cascades(asked, as_of)?.ok_or_else(|| {
            let message = format!("there are more than {} events", asked.most);
            let allowed = "a larger min_usd, a longer gap, a shorter range, or fewer coins";
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
        let whole = self.source.complete_tapes(as_of, window)?;
        view_of(&*self.source, as_of, None, |view| {
            engine::undercount(view, window, &whole)
        })
    }

    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        let mut venues = self.coverage(as_of, window)?;
        self.source.count_outliers(as_of, window, &mut venues)?;
        Ok(venues)
    }

    fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        self.coverage_between(as_of, range)
    }

    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<CoverageGap>, Refusal> {
        self.gaps(as_of, range)
    }

    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<PeriodLength>,
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

    fn recorded_map(
        &self,
        asked: RecordedQuestion<'_>,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<MapRow, Refusal> {
        // Not checked against the market's own observations: a recording may be older or newer.
        if let Some(at) = as_of.filter(|at| *at > self.now().max(wall_clock())) {
            return Err(Refusal::unknown_yet(at, self.now()));
        }
        let known_by = self.source.instant(as_of)?;
        if let Some(hourly) = self.hourly_maps() {
            return self.hourly_map(&hourly, asked, known_by, most);
        }
        self.recordings
            .newest_map(self.recorded_in(), asked, known_by, most)
    }

    fn maps(
        &self,
        wanted: &contract::Maps,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        self.maps(
            wanted.kind.map(Vocabulary::name),
            wanted.symbol.as_ref().map(Coin::as_str),
            wanted.version.as_deref(),
            as_of,
            TimeRange::bounded_at(wanted.start, wanted.end, self.now_at(as_of)),
            most,
        )
    }
}
