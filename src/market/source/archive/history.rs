//! Reads of an archive for any time range: rows and aggregates.

use crate::archive::{Archive, Filter, OrderFold};
use crate::engine::{
    self, ArrivedOrder, CascadeQuestion, KnownPositions, LargestOrders, LargestQuestion,
    ObservedTables, OrderMinutes, Timeline, TimelineQuestion, TotalCandidates,
};
use crate::market::names::KnownNames;
use crate::market::refusal::Refusal;
use crate::market::source::archive::archive_reader::ArchiveReader;
use crate::market::source::archive::archive_source::ArchiveSource;
use crate::market::source::archive::bar_series;
use crate::market::source::archive::cascades::{RecentCascadeCache, of_range};
use crate::market::source::history_source::HistorySource;
use crate::market::source::market_source::MarketSource;
use crate::market::source::view_source::ViewSource;
use crate::market::source::view_source::view_of;
use crate::model::{
    ALL_EXCHANGES, Bar, CascadeRow, FiledColumns, FiledOrders, MapRow, Millis,
    ObservedOpenInterest, Order, OrderBrief, PeriodLength, PositionRow, TimeRange, TotalRow,
};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Stored names are read again after this time. Names that arrive in the meantime are added from memory.
const NAMES_LAST: Duration = Duration::from_mins(10);

/// The timeline of one share of the orders. Shares are read in parallel and joined afterwards.
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

/// The orders in one share. Shares are read in parallel and joined afterwards.
#[derive(Default)]
struct ArrivedShare(Vec<ArrivedOrder>);

impl OrderFold for ArrivedShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.push(ArrivedOrder {
            timestamp: order.timestamp,
            received_at: order.received_at,
            side: order.side,
            usd: order.value_usd.into(),
        });
    }
}

/// The minutes with orders in one share. Shares are read in parallel and joined afterwards.
#[derive(Default)]
struct MinuteShare(OrderMinutes);

impl OrderFold for MinuteShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        let minute = order.timestamp.0.div_euclid(Millis::MINUTE);
        let series = (order.exchange.to_owned(), order.coin.to_owned());
        self.0.entry(series).or_default().insert(minute);
    }
}

/// The largest orders of one share of the orders. Shares are read in parallel and joined afterwards.
struct LargestShare(LargestOrders);

impl OrderFold for LargestShare {
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

/// The names in one share of the orders. Shares are read in parallel and joined afterwards.
#[derive(Default)]
struct NameCollector(KnownNames);

impl OrderFold for NameCollector {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.note(order.exchange, order.symbol, order.coin);
    }
}

impl HistorySource for ArchiveSource {
    /// The names of all stored rows; they are read again after [`NAMES_LAST`].
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
                let coins = self.past.archive.catalog().coins(self.as_of)?;
                names
                    .coins
                    .extend(coins.into_iter().map(|coin| coin.symbol));
                if self.has_totals()? {
                    names.exchanges.insert(ALL_EXCHANGES.to_owned());
                }
                *known = Some((Instant::now(), names.clone()));
                names
            }
        };
        drop(known);
        // Add the names that have arrived since the last read.
        view_of(self, None, None, |view| {
            for [exchange, symbol, coin] in engine::listings(view) {
                names.note(exchange, symbol, coin);
            }
        })?;
        Ok(names)
    }

    fn coins(&self) -> Result<Vec<String>, Refusal> {
        self.current()?;
        let coins = self.back.archive.catalog().coins(self.as_of)?;
        Ok(coins.into_iter().map(|coin| coin.symbol).collect())
    }

    fn arrived_orders(
        &self,
        coin: &str,
        exchange: Option<&str>,
        range: TimeRange,
        as_of: Option<Millis>,
    ) -> Result<Vec<ArrivedOrder>, Refusal> {
        let filter = Filter {
            exchange: exchange.map(str::to_owned),
            ..self.filter(Some(coin), self.instant(as_of)?, range)?
        };
        let (shares, _) = self
            .past
            .archive
            .fold_orders(&filter, ArrivedShare::default)?;
        let orders = shares.into_iter().flat_map(|share| share.0);
        let mut orders: Vec<ArrivedOrder> = orders.collect();
        orders.sort_by_key(|order| (order.timestamp, order.received_at));
        Ok(orders)
    }

    fn withdrawals(&self) -> Result<Vec<Millis>, Refusal> {
        let ingests = self.past.archive.catalog().ingests()?.into_iter();
        let mut undone: Vec<Millis> = ingests.filter_map(|ingest| ingest.undone).collect();
        undone.sort_unstable();
        Ok(undone)
    }

    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Timeline, Refusal> {
        // A long read must not block queries about now.
        let reader = &self.past;
        let as_of = self.instant(as_of)?;
        // An archive stores the coin of each pair, so a filter by coin finds all pairs of the coin.
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
        let (shares, _) = reader
            .archive
            .fold_orders(&filter, || TimelineShare(Timeline::new(asked)))?;
        let mut all = Timeline::new(asked);
        for share in &shares {
            all.join(&share.0);
        }
        Ok(all)
    }

    fn has_totals(&self) -> Result<bool, Refusal> {
        self.current()?;
        Ok(self.past.archive.catalog().has_totals()?)
    }

    fn totals(
        &self,
        asked: &TimelineQuestion,
        as_of: Option<Millis>,
    ) -> Result<Vec<TotalRow>, Refusal> {
        if !asked.takes_totals() || !self.has_totals()? {
            return Ok(Vec::new());
        }
        // A long read must not block queries about now.
        let archive = &self.past.archive;
        let as_of = self.instant(as_of)?;
        let coin = match asked.symbols.as_slice() {
            [one] => Some(one.coin().to_owned()),
            _ => None,
        };
        let filter = Filter {
            // A total is at most a day long; one that begins earlier excludes shorter ones of all exchanges.
            start: Some(asked.start.back(Millis::DAY)),
            end: Some(asked.end),
            as_of,
            coin,
            ..Filter::default()
        };
        let totals = archive.totals(&Filter {
            exchange: asked.exchange_of_totals().map(str::to_owned),
            ..filter.clone()
        })?;
        let candidates = TotalCandidates::of(asked, totals.rows);
        let mut orders = OrderMinutes::new();
        for range in candidates.ranges() {
            let within = Filter {
                start: Some(range.start),
                end: Some(range.end),
                ..filter.clone()
            };
            let (shares, _) = archive.fold_orders(&within, MinuteShare::default)?;
            for ((exchange, coin), minutes) in shares.into_iter().flat_map(|share| share.0) {
                orders.entry((exchange, coin)).or_default().extend(minutes);
            }
        }
        let mut totals = candidates.without(&orders);
        if let Some(exchange) = &asked.exchange {
            totals.retain(|total| total.exchange == *exchange);
        }
        Ok(totals)
    }

    fn largest(
        &self,
        asked: &Arc<LargestQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Refusal> {
        let filter = Filter {
            start: Some(asked.range.start),
            end: Some(asked.range.end),
            as_of: self.instant(as_of)?,
            exchange: asked.exchange.clone(),
            coin: asked.symbol.as_ref().map(|symbol| symbol.coin().to_owned()),
            ..Filter::default()
        };
        // A long read must not block queries about now.
        let archive = &self.past.archive;
        let (shares, _) =
            archive.fold_orders(&filter, || LargestShare(LargestOrders::new(asked)))?;
        let mut all = LargestOrders::new(asked);
        for LargestShare(share) in shares {
            all.join(share);
        }
        Ok(all.orders())
    }

    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        // A long read must not block queries about now.
        let archive = &self.past.archive;
        let at = self.instant(as_of)?;
        if at.is_none() {
            let now = self.live()?.ring.now();
            if RecentCascadeCache::are_asked(asked, now) {
                return self.tails.rows(archive, asked, now);
            }
        }
        of_range(archive, asked, at)
    }

    /// The merged bars of all exchanges, the same series that estimates use.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<PeriodLength>,
    ) -> Result<Vec<Bar>, Refusal> {
        let at = self.instant(as_of)?;
        let now = match at {
            Some(at) => at,
            None => self.live()?.ring.now(),
        };
        // Bars after `now` are unknown, so the range ends at `now`. A range that ends before its start is still
        // refused.
        let known = now.on(1);
        let end = if known < range.start && range.start <= range.end {
            range.start
        } else {
            range.end.min(known)
        };
        let filter = self.filter(Some(coin), at, TimeRange { end, ..range })?;
        let archive = &self.reader(as_of).archive;
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
        let first = self.reader(as_of).archive.first_bar(&filter)?;
        Ok(first.map(|bar| (bar.timestamp, bar.interval)))
    }

    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        let filter = self.filter(Some(coin), as_of, range)?;
        let rows = self.reader(as_of).archive.open_interest(&filter)?.rows;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        let at = self.instant(as_of)?;
        let archive = &self.reader(as_of).archive;
        Ok(archive.last_positions(coin, exchange, at)?.rows)
    }

    fn position_history(
        &self,
        coin: &str,
        exchange: Option<&str>,
        range: TimeRange,
        step: i64,
        as_of: Option<Millis>,
    ) -> Result<KnownPositions, Refusal> {
        let ArchiveReader {
            archive, positions, ..
        } = self.reader(as_of);
        let filter = Filter {
            exchange: exchange.map(str::to_owned),
            ..self.filter(Some(coin), as_of, range)?
        };
        let before = archive.last_positions(coin, exchange, Some(range.start.back(1)))?;
        let mut known = KnownPositions::new(&before.rows);
        // One day at a time, so that few rows are in memory at once.
        let mut start = range.start;
        while start < range.end {
            let day = Millis(start.0.div_euclid(Millis::DAY) * Millis::DAY);
            known.extend(&*positions.of_day(archive, &filter, day, step)?);
            start = day.on(Millis::DAY);
        }
        Ok(known)
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
            .reader(as_of)
            .archive
            .maps_within(&filter, kind, most)?
            .rows)
    }

    fn rows(&self) -> Result<ObservedTables, Refusal> {
        Err(Refusal::not_tables())
    }
}

impl MarketSource for ArchiveSource {
    fn archive(&self) -> Option<&Archive> {
        Some(&self.back.archive)
    }

    fn history_archive(&self) -> Option<&Archive> {
        Some(&self.past.archive)
    }

    fn warming_up(&self) -> Vec<String> {
        let readers = [&self.back, &self.past].map(ArchiveReader::warming_up);
        let coins: BTreeSet<String> = readers.into_iter().flatten().collect();
        coins.into_iter().collect()
    }

    fn set_history_cache(&self, bytes: usize) {
        self.past.resize_cache(bytes);
    }
}
