//! Coverage and gaps of an archive.

use crate::archive::{Filter, OrderFold};
use crate::engine::{self, CompleteTapes, RecordedRanges};
use crate::market::refusal::Refusal;
use crate::market::source::archive::archive_source::ArchiveSource;
use crate::market::source::coverage_source::CoverageSource;
use crate::market::source::view_source::ViewSource;
use crate::market::source::view_source::view_of;
use crate::model::{
    CoverageGap, FiledColumns, FiledOrders, Millis, OrderBrief, TimeRange, VenueCoverage, Window,
};
use std::collections::BTreeMap;

/// The number of orders of each exchange and the time of the last one, in one share of the orders.
#[derive(Default)]
struct OrderCounts(BTreeMap<String, (u64, Millis)>);

impl OrderCounts {
    fn add(&mut self, exchange: &str, at: Millis) {
        if let Some(count) = self.0.get_mut(exchange) {
            *count = (count.0 + 1, count.1.max(at));
        } else {
            self.0.insert(exchange.to_owned(), (1, at));
        }
    }
}

impl OrderFold for OrderCounts {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.add(order.exchange, order.timestamp);
    }

    fn columns(&self) -> Option<FiledColumns> {
        Some(FiledColumns {
            exchange: true,
            ..FiledColumns::default()
        })
    }

    fn take_columns(&mut self, orders: &FiledOrders<'_>) {
        let Some(exchanges) = &orders.exchange else {
            return;
        };
        for (row, at) in orders.timestamp.iter().enumerate() {
            if let Some(exchange) = exchanges.at(row) {
                self.add(exchange, Millis(*at));
            }
        }
    }
}

impl CoverageSource for ArchiveSource {
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        let (now, venues) = view_of(self, as_of, None, |view| {
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
        let archive = &self.reader(as_of).archive;
        // Without observations, the coverage ends with the last gap.
        let now = if now > Millis::default() {
            now
        } else {
            let silent_exchanges = archive.coverage().pending_gaps()?;
            let until = silent_exchanges.iter().map(|gap| gap.end).max();
            until.unwrap_or(now)
        };
        let start = now.back(window.millis());
        let covered =
            archive
                .coverage()
                .by_exchange_counted(start.on(1), now.on(1), &counts, known_by)?;
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

    fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        // A long read must not block queries about now.
        let archive = &self.past.archive;
        let known_by = self.instant(as_of)?;
        let Some(known_by) = known_by else {
            // The catalog counts the orders of whole days.
            return Ok(archive.coverage().by_exchange(range.start, range.end)?);
        };
        let filter = Filter {
            start: Some(range.start),
            end: Some(range.end),
            as_of: Some(known_by),
            ..Filter::default()
        };
        let (shares, _) = archive.fold_orders(&filter, OrderCounts::default)?;
        let mut counts = BTreeMap::new();
        for (exchange, count) in shares.into_iter().flat_map(|share| share.0) {
            let all = counts.entry(exchange).or_insert((0, Millis(i64::MIN)));
            *all = (all.0 + count.0, all.1.max(count.1));
        }
        Ok(archive.coverage().by_exchange_counted(
            range.start,
            range.end,
            &counts,
            Some(known_by),
        )?)
    }

    fn count_outliers(
        &self,
        as_of: Option<Millis>,
        window: Window,
        venues: &mut Vec<VenueCoverage>,
    ) -> Result<(), Refusal> {
        let at = self.instant(as_of)?;
        let now = match at {
            Some(at) => at,
            None => self.live()?.ring.now(),
        };
        let reader = self.reader(as_of);
        for coin in reader.archive.catalog().coins(at)? {
            let start = now.back(window.millis());
            let series = (coin.symbol.as_str(), start);
            let series = reader.days.series(&reader.archive, series, now, at)?;
            engine::count_outliers(&series, now, window, venues);
        }
        Ok(())
    }

    fn complete_tapes(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<CompleteTapes, Refusal> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method has only one lifetime"
        )]
        let now = view_of(self, as_of, None, |view| view.now())?;
        let known_by = self.instant(as_of)?;
        let start = now.back(window.millis());
        let archive = &self.reader(as_of).archive;
        Ok(CompleteTapes {
            recorded: archive
                .coverage()
                .fully_covered(start.on(1), now.on(1), known_by)?,
            simulated: None,
        })
    }

    fn recorded(&self, as_of: Option<Millis>, range: TimeRange) -> Result<RecordedRanges, Refusal> {
        let known_by = self.instant(as_of)?;
        let now = match known_by {
            Some(at) => at,
            None => self.live()?.ring.now(),
        };
        // Nothing is known after now; a range that begins later still names the exchanges.
        let end = range.end.min(now.on(1)).max(range.start.on(1));
        let archive = &self.reader(as_of).archive;
        let mut recorded = archive.coverage().recorded(range.start, end, known_by)?;
        if end > now.on(1) {
            recorded.values_mut().for_each(Vec::clear);
        }
        Ok(recorded)
    }

    fn first_observed(&self) -> Result<Option<Millis>, Refusal> {
        Ok(self.back.archive.coverage().observed_from()?)
    }

    fn orders_from(&self, _as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        Ok(self.back.archive.coverage().orders_from()?)
    }

    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<CoverageGap>, Refusal> {
        let known_by = self.instant(as_of)?;
        Ok(self
            .reader(as_of)
            .archive
            .coverage()
            .gap_statuses(range.start, range.end, known_by)?)
    }
}
