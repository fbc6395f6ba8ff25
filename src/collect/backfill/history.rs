//! Requests bars and open interest over REST: first missing data of the last days, then new data as it appears.
//!
//! Data that is already stored is not requested again. For all coins, newer data is requested before older data, so
//! that recent data is complete soon.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use tokio::time::{Instant, sleep, sleep_until};

use crate::archive::{Archive, ArchiveError, BarRow, Batch, Filter, OpenInterestRow};
use crate::collect::settings::settings::{millis, span};
use crate::collect::venue_context::VenueContext;
use crate::collect::venue_tasks::VenueTasks;
use crate::feeds::{
    Error, Listing, OpenInterestReading, RestRequest, VenueBar, price_of_one, unscaled,
};
use crate::model::{Millis, PeriodLength, TimeRange, sort_small};
use crate::net::Backoff;

/// Maximum number of concurrent requests to one exchange.
const AT_ONCE: usize = 4;
/// Interval of open interest readings, in milliseconds.
const FIVE_MINUTES: i64 = 5 * Millis::MINUTE;

/// A kind of historical data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Series {
    Bars,
    OpenInterest,
}

/// A REST request, with the series and the market that it is for.
#[derive(Clone, Debug)]
struct HistoryRequest {
    series: Series,
    listing: Arc<Listing>,
    rest: RestRequest,
}

/// Collects the bars and open interest of one exchange.
pub(crate) struct HistoryBackfill<'a> {
    tasks: &'a VenueTasks,
    /// The end of the stored data, by series and coin.
    stored_until: HashMap<(Series, String), Millis>,
    /// Requests that failed.
    failed: Vec<HistoryRequest>,
    /// When the failed requests are sent again.
    retry_at: Instant,
    attempts: u32,
    backoff: Backoff,
}

/// The market that supplies the history of a coin. A market that trades single coins is preferred to one that trades
/// multiples, such as 1000 coins.
fn leading(listings: &[Listing], coin: &str) -> Option<Arc<Listing>> {
    listings
        .iter()
        .filter(|listing| listing.is_leading())
        .map(|listing| (listing.coin(), listing))
        .filter(|((name, _), _)| name == coin)
        .min_by_key(|((_, scale), _)| *scale)
        .map(|(_, listing)| Arc::new(listing.clone()))
}

/// The ranges of missing instants between `from` and `until`. An instant is a multiple of `step` milliseconds from
/// `from` on, and it is missing if it is not in `have`.
fn missing(have: &HashSet<Millis>, from: Millis, until: Millis, step: i64) -> Vec<TimeRange> {
    let mut found: Vec<TimeRange> = Vec::new();
    let mut at = from;
    while at < until {
        let next = at.on(step);
        if !have.contains(&at) {
            match found.last_mut() {
                Some(range) if range.end == at => range.end = next,
                _ => found.push(TimeRange::new(at, next)),
            }
        }
        at = next;
    }
    found
}

/// `at` rounded down to a multiple of `step`.
fn floor(at: Millis, step: i64) -> Millis {
    Millis(at.0.div_euclid(step).saturating_mul(step))
}

impl<'a> HistoryBackfill<'a> {
    /// Creates the history backfill of an exchange; `None` if the exchange has no history or no coin is selected for
    /// it.
    pub(crate) fn of(tasks: &'a VenueTasks) -> Option<Self> {
        let look_back = tasks.context.venue.open_interest_look_back();
        (look_back > 0 && !tasks.history_coins.is_empty()).then(|| Self {
            tasks,
            stored_until: HashMap::new(),
            failed: Vec::new(),
            retry_at: Instant::now(),
            attempts: 0,
            backoff: {
                let pace = &tasks.context.settings.pace;
                Backoff::new(span(pace.bars), span(pace.bars) * 60)
            },
        })
    }

    fn context(&self) -> &VenueContext {
        &self.tasks.context
    }

    /// The end of the last closed bar that the exchange no longer changes.
    fn settled_until(&self) -> Millis {
        let settle = millis(self.context().settings.pace.settle);
        let there = self.context().clock.now_at(self.context().name());
        floor(there.back(settle), Millis::MINUTE)
    }

    /// Requests the missing bars and open interest of the last days.
    pub(crate) async fn fill(&mut self) {
        let listings = self.listings();
        let settings = &self.context().settings;
        let until = self.settled_until();
        let begin = |days| until.back(settings.history_of(days).saturating_mul(Millis::DAY));
        let from = begin(settings.bars_days);
        let readings_from = begin(settings.open_interest_days)
            .max(until.back(self.context().venue.open_interest_look_back()));
        let mut requests = Vec::new();
        for listing in &listings {
            let (coin, _) = listing.coin();
            for (series, from, step) in [
                (Series::Bars, from, Millis::MINUTE),
                (Series::OpenInterest, readings_from, FIVE_MINUTES),
            ] {
                let from = floor(from.on(step - 1), step);
                self.stored_until.insert((series, coin.clone()), until);
                let have = self.have(series, &coin, TimeRange::new(from, until)).await;
                for range in missing(&have, from, until, step) {
                    requests.extend(self.requests(series, listing, range));
                }
            }
        }
        sort_small(&mut requests, |one, other| {
            other.rest.until.cmp(&one.rest.until)
        });
        self.context().board.plan_requests(requests.len());
        self.send_or_retry(requests).await;
        while self.tasks.once && !self.failed.is_empty() && self.attempts < 3 {
            sleep_until(self.retry_at).await;
            self.retry_failed().await;
        }
    }

    /// Sends requests; those that fail are sent again later.
    async fn send_or_retry(&mut self, requests: Vec<HistoryRequest>) {
        let (_, failed) = self.send(requests).await;
        self.failed = failed;
        self.attempts += 1;
        self.retry_at = Instant::now() + self.backoff.next();
    }

    /// Sends the failed requests again if their retry is due.
    async fn retry_failed(&mut self) {
        if !self.failed.is_empty() && self.retry_at <= Instant::now() {
            let failed = std::mem::take(&mut self.failed);
            self.send_or_retry(failed).await;
        }
    }

    /// Requests new bars and open interest as they appear; never returns.
    pub(crate) async fn run(&mut self) {
        let pace = &self.tasks.context.settings.pace;
        let mut readings_at = Instant::now();
        loop {
            sleep(span(pace.bars)).await;
            let is_due = readings_at <= Instant::now();
            if is_due {
                readings_at = Instant::now() + span(pace.poll);
            }
            self.update(is_due).await;
        }
    }

    /// Requests new bars, and new open interest if it is due.
    async fn update(&mut self, readings_too: bool) {
        self.retry_failed().await;
        let until = self.settled_until();
        let mut requests = Vec::new();
        let mut reached = Vec::new();
        for listing in self.listings() {
            let (coin, _) = listing.coin();
            for series in [Series::Bars, Series::OpenInterest] {
                if series == Series::OpenInterest && !readings_too {
                    continue;
                }
                let end = match series {
                    Series::Bars => until,
                    Series::OpenInterest => self.context().clock.now().on(1),
                };
                let key = (series, coin.clone());
                // Open interest is requested from one interval earlier, because a reading may appear late.
                let from = self
                    .stored_until
                    .get(&key)
                    .map_or(end.back(Millis::HOUR), |known| match series {
                        Series::Bars => *known,
                        Series::OpenInterest => floor(known.back(FIVE_MINUTES), FIVE_MINUTES),
                    });
                if from < end {
                    let wanted = self.requests(series, &listing, TimeRange::new(from, end));
                    reached.push((key, end, wanted.len()));
                    requests.extend(wanted);
                }
            }
        }
        let (done, _) = self.send(requests).await;
        for (key, end, count) in reached {
            if done.get(&key).copied().unwrap_or(0) == count {
                self.stored_until.insert(key, end);
            }
        }
    }

    fn listings(&self) -> Vec<Arc<Listing>> {
        let markets = self.context().markets.load();
        self.tasks
            .history_coins
            .iter()
            .filter_map(|coin| leading(&markets.listings, coin))
            .collect()
    }

    fn requests(
        &self,
        series: Series,
        listing: &Arc<Listing>,
        TimeRange { start, end }: TimeRange,
    ) -> Vec<HistoryRequest> {
        let venue = self.context().venue;
        let requests = match series {
            Series::Bars => venue.bar_requests(listing, start, end),
            Series::OpenInterest => venue.open_interest_requests(listing, start, end),
        };
        requests
            .into_iter()
            .map(|rest| HistoryRequest {
                series,
                listing: Arc::clone(listing),
                rest,
            })
            .collect()
    }

    /// The times of stored bars or open-interest readings.
    async fn have(
        &self,
        series: Series,
        coin: &str,
        TimeRange { start, end }: TimeRange,
    ) -> HashSet<Millis> {
        let path = self.context().delivery.archive.clone();
        let filter = Filter {
            start: Some(start),
            end: Some(end),
            exchange: Some(self.context().name().to_owned()),
            symbol: Some(coin.to_owned()),
            ..Filter::default()
        };
        let read = move || -> Result<HashSet<Millis>, ArchiveError> {
            let archive = Archive::read(path)?;
            Ok(match series {
                Series::Bars => archive
                    .bars(&filter, PeriodLength::Fixed(Millis::MINUTE))?
                    .rows
                    .into_iter()
                    .map(|bar| bar.timestamp)
                    .collect(),
                Series::OpenInterest => archive
                    .open_interest(&filter)?
                    .rows
                    .into_iter()
                    .map(|row| floor(row.timestamp, FIVE_MINUTES))
                    .collect(),
            })
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|_| Ok(HashSet::new()))
            .unwrap_or_else(|fault| {
                self.context()
                    .trouble(format!("the archive cannot be read: {fault}"));
                HashSet::new()
            })
    }

    /// Sends requests, a few at a time. Returns the number of successful requests by series and coin, and the failed
    /// requests.
    async fn send(
        &self,
        requests: Vec<HistoryRequest>,
    ) -> (HashMap<(Series, String), usize>, Vec<HistoryRequest>) {
        let (mut done, mut failed) = (HashMap::new(), Vec::new());
        let mut under_way = stream::iter(requests)
            .map(|request| async move {
                let succeeded = self.send_one(&request).await;
                (request, succeeded)
            })
            .buffer_unordered(AT_ONCE);
        while let Some((request, succeeded)) = under_way.next().await {
            self.context().board.was_answered();
            if succeeded {
                *done
                    .entry((request.series, request.listing.coin().0))
                    .or_insert(0) += 1;
            } else {
                failed.push(request);
            }
        }
        (done, failed)
    }

    async fn send_one(&self, request: &HistoryRequest) -> bool {
        let body = match self.tasks.rest.get(&request.rest).await {
            Ok(body) => body,
            Err(fault) => {
                self.context().trouble(fault.to_string());
                return false;
            }
        };
        let received_at = self.context().clock.now();
        match self.read(request, &body, received_at) {
            Ok(batch) => {
                let (bars, readings) = (batch.bars.len(), batch.open_interest.len());
                self.context().board.count_history(bars, readings);
                self.context().delivery.rows_patiently(batch).await;
                true
            }
            Err(fault) => {
                self.tasks.intake.reject(&body, &[fault], received_at);
                false
            }
        }
    }

    fn read(&self, request: &HistoryRequest, body: &str, now: Millis) -> Result<Batch, Error> {
        let venue = self.context().venue;
        let markets = self.context().markets.load();
        let faults = RefCell::default();
        let intake = &self.tasks.intake;
        let frame = venue.frame(body, Some(now), &markets.instruments);
        let frame = frame.keeping(&faults);
        let (coin, scale) = request.listing.coin();
        let rest = &request.rest;
        let inside = |at: Millis| rest.from <= at && at < rest.until;
        let too_fine = || Error::whole("a number does not fit a decimal exactly".to_owned());
        let mut batch = Batch::default();
        match request.series {
            Series::Bars => {
                for bar in venue.read_bars(&frame)? {
                    if inside(bar.timestamp) {
                        let row =
                            bar_row(venue.name(), &coin, scale, &bar, now).ok_or_else(too_fine)?;
                        self.tasks
                            .prices
                            .add_close(&coin, row.close_time(), row.close);
                        batch.bars.push(row);
                    }
                }
            }
            Series::OpenInterest => {
                for reading in venue.read_open_interest(&frame)? {
                    if inside(reading.timestamp) {
                        let row = reading_row(venue.name(), &coin, scale, reading, now)
                            .ok_or_else(too_fine)?;
                        self.tasks.prices.add_open_interest(
                            &coin,
                            venue.name(),
                            row.timestamp,
                            row.open_interest,
                        );
                        batch.open_interest.push(row);
                    }
                }
            }
        }
        intake.reject(body, &faults.take(), now);
        Ok(batch)
    }
}

fn bar_row(exchange: &str, coin: &str, scale: u32, bar: &VenueBar, now: Millis) -> Option<BarRow> {
    let price = |price| price_of_one(price, scale);
    Some(BarRow {
        exchange: exchange.to_owned(),
        symbol: coin.to_owned(),
        timestamp: bar.timestamp,
        interval: Millis::MINUTE,
        open: price(bar.open)?,
        high: price(bar.high)?,
        low: price(bar.low)?,
        close: price(bar.close)?,
        volume: unscaled(bar.volume, scale)?,
        received_at: now,
    })
}

fn reading_row(
    exchange: &str,
    coin: &str,
    scale: u32,
    reading: OpenInterestReading,
    now: Millis,
) -> Option<OpenInterestRow> {
    Some(OpenInterestRow {
        exchange: exchange.to_owned(),
        symbol: coin.to_owned(),
        timestamp: reading.timestamp,
        open_interest: unscaled(reading.open_interest, scale)?,
        received_at: now,
    })
}

#[cfg(test)]
mod tests {
    use crate::collect::backfill::history::*;

    #[test]
    fn missing_ranges_are_whole_steps() {
        let have: HashSet<Millis> = [10, 20, 50].into_iter().map(Millis).collect();
        let of = |from, until| missing(&have, Millis(from), Millis(until), 10);
        assert_eq!(
            of(0, 70),
            [
                TimeRange::new(Millis(0), Millis(10)),
                TimeRange::new(Millis(30), Millis(50)),
                TimeRange::new(Millis(60), Millis(70)),
            ]
        );
        assert_eq!(of(10, 30), []);
        assert_eq!(of(60, 80), [TimeRange::new(Millis(60), Millis(80))]);
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn a_scaled_market_gives_bars_of_single_coins() {
        let decimal = |text: &str| text.parse::<rust_decimal::Decimal>().unwrap();
        let bar = VenueBar {
            timestamp: Millis(0),
            open: decimal("0.0125"),
            high: decimal("0.02"),
            low: decimal("0.01"),
            close: decimal("0.0130"),
            volume: decimal("12.5"),
        };
        let row = bar_row("binance", "PEPE", 1000, &bar, Millis(1)).unwrap();
        assert_eq!(row.open.to_string(), "0.0000125");
        assert_eq!(row.close.to_string(), "0.000013");
        assert_eq!(row.volume.to_string(), "12500");
    }
}
