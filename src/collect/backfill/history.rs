//! Bars and open interest by REST: what is missing of the last days at the start, then what is new.
//!
//! What the archive has is not asked for again. The newest comes first, of all coins alike, so that pictures of every
//! range fill up soon.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use tokio::time::{Instant, sleep_until};

use crate::archive::{Archive, ArchiveError, BarRow, Batch, Filter, OpenInterestRow};
use crate::collect::backfill::queue::Stretch;
use crate::collect::intake::intake::Intake;
use crate::collect::settings::{millis, span};
use crate::collect::venue_tasks::VenueTasks;
use crate::feeds::{Ask, Bar, Error, Listing, Reading, price_of_one, unscaled};
use crate::model::{Millis, sort_small};
use crate::net::Backoff;

/// Requests of one venue under way at once.
const AT_ONCE: usize = 4;
/// Time between two readings of open interest.
const FIVE_MINUTES: i64 = 5 * Millis::MINUTE;

/// What is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Bars,
    OpenInterest,
}

/// One request with what it is for.
#[derive(Clone, Debug)]
struct Errand {
    kind: Kind,
    listing: Arc<Listing>,
    ask: Ask,
}

/// The history of one venue.
pub(crate) struct History<'a> {
    venue: &'a VenueTasks,
    /// Until when each coin is known.
    known: HashMap<(Kind, String), Millis>,
    /// What came to nothing at the start, to be asked for again.
    failed: Vec<Errand>,
    /// When that is.
    again: Instant,
    attempts: u32,
    backoff: Backoff,
}

/// The market whose history stands for a coin; one that is listed by single units where there is a choice.
fn leading(listings: &[Listing], coin: &str) -> Option<Arc<Listing>> {
    listings
        .iter()
        .filter(|listing| listing.is_leading())
        .map(|listing| (listing.coin(), listing))
        .filter(|((name, _), _)| name == coin)
        .min_by_key(|((_, scale), _)| *scale)
        .map(|(_, listing)| Arc::new(listing.clone()))
}

/// The stretches of `step` from `from` until before `until` of which no instant is in `have`, by time.
fn missing(have: &HashSet<Millis>, from: Millis, until: Millis, step: i64) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut at = from;
    while at < until {
        let next = at.on(step);
        if !have.contains(&at) {
            match found.last_mut() {
                Some((_, end)) if *end == at => *end = next,
                _ => found.push((at, next)),
            }
        }
        at = next;
    }
    found
}

/// `at` moved back to a whole `step`.
fn whole(at: Millis, step: i64) -> Millis {
    Millis(at.0.div_euclid(step).saturating_mul(step))
}

impl<'a> History<'a> {
    /// The history of a venue, where it is collected.
    pub(crate) fn of(venue: &'a VenueTasks) -> Option<Self> {
        let look_back = venue.intake.venue.open_interest_look_back();
        (look_back > 0 && !venue.history_coins.is_empty()).then(|| Self {
            venue,
            known: HashMap::new(),
            failed: Vec::new(),
            again: Instant::now(),
            attempts: 0,
            backoff: {
                let pace = &venue.intake.settings.pace;
                Backoff::new(span(pace.bars), span(pace.bars) * 60)
            },
        })
    }

    fn intake(&self) -> &Intake {
        &self.venue.intake
    }

    /// Until when bars are closed and settled.
    fn settled(&self) -> Millis {
        let settle = millis(self.intake().settings.pace.settle);
        let there = self.intake().clock.now_at(self.intake().name());
        whole(there.back(settle), Millis::MINUTE)
    }

    /// Asks for what is missing of the last days.
    pub(crate) async fn begin(&mut self) {
        let listings = self.listings();
        let days = i64::from(self.intake().settings.history_days);
        let until = self.settled();
        let from = until.back(days.saturating_mul(Millis::DAY));
        let readings_from = from.max(until.back(self.intake().venue.open_interest_look_back()));
        let mut errands = Vec::new();
        for listing in &listings {
            let (coin, _) = listing.coin();
            for (kind, from, step) in [
                (Kind::Bars, from, Millis::MINUTE),
                (Kind::OpenInterest, readings_from, FIVE_MINUTES),
            ] {
                let from = whole(from.on(step - 1), step);
                self.known.insert((kind, coin.clone()), until);
                let have = self.have(kind, &coin, (from, until)).await;
                for stretch in missing(&have, from, until, step) {
                    errands.extend(self.errands(kind, listing, stretch));
                }
            }
        }
        sort_small(&mut errands, |one, other| {
            other.ask.until.cmp(&one.ask.until)
        });
        self.intake().board.will_ask(errands.len());
        self.run_again(errands).await;
        while self.venue.once && !self.failed.is_empty() && self.attempts < 3 {
            sleep_until(self.again).await;
            self.try_failed().await;
        }
    }

    /// Runs errands; those that come to nothing are kept for another time.
    async fn run_again(&mut self, errands: Vec<Errand>) {
        let (_, failed) = self.run(errands).await;
        self.failed = failed;
        self.attempts += 1;
        self.again = Instant::now() + self.backoff.next();
    }

    /// Runs those again that came to nothing, where it is time.
    async fn try_failed(&mut self) {
        if !self.failed.is_empty() && self.again <= Instant::now() {
            let failed = std::mem::take(&mut self.failed);
            self.run_again(failed).await;
        }
    }

    /// Asks for what is new: bars always, open interest where it is time.
    pub(crate) async fn go_on(&mut self, readings_too: bool) {
        self.try_failed().await;
        let until = self.settled();
        let mut errands = Vec::new();
        let mut reached = Vec::new();
        for listing in self.listings() {
            let (coin, _) = listing.coin();
            for kind in [Kind::Bars, Kind::OpenInterest] {
                if kind == Kind::OpenInterest && !readings_too {
                    continue;
                }
                let end = match kind {
                    Kind::Bars => until,
                    Kind::OpenInterest => self.intake().clock.now().on(1),
                };
                let key = (kind, coin.clone());
                // One step earlier: a reading may have come late.
                let from =
                    self.known
                        .get(&key)
                        .map_or(end.back(Millis::HOUR), |known| match kind {
                            Kind::Bars => *known,
                            Kind::OpenInterest => whole(known.back(FIVE_MINUTES), FIVE_MINUTES),
                        });
                if from < end {
                    let asks = self.errands(kind, &listing, (from, end));
                    reached.push((key, end, asks.len()));
                    errands.extend(asks);
                }
            }
        }
        let (done, _) = self.run(errands).await;
        for (key, end, asks) in reached {
            if done.get(&key).copied().unwrap_or(0) == asks {
                self.known.insert(key, end);
            }
        }
    }

    fn listings(&self) -> Vec<Arc<Listing>> {
        let markets = self.intake().markets.load();
        self.venue
            .history_coins
            .iter()
            .filter_map(|coin| leading(&markets.listings, coin))
            .collect()
    }

    fn errands(&self, kind: Kind, listing: &Arc<Listing>, (from, until): Stretch) -> Vec<Errand> {
        let venue = self.intake().venue;
        let asks = match kind {
            Kind::Bars => venue.bar_requests(listing, from, until),
            Kind::OpenInterest => venue.open_interest_requests(listing, from, until),
        };
        asks.into_iter()
            .map(|ask| Errand {
                kind,
                listing: Arc::clone(listing),
                ask,
            })
            .collect()
    }

    /// The instants of which the archive has a bar or reading.
    async fn have(&self, kind: Kind, coin: &str, (from, until): Stretch) -> HashSet<Millis> {
        let path = self.venue.archive.clone();
        let filter = Filter {
            start: Some(from),
            end: Some(until),
            exchange: Some(self.intake().name().to_owned()),
            symbol: Some(coin.to_owned()),
            ..Filter::default()
        };
        let read = move || -> Result<HashSet<Millis>, ArchiveError> {
            let archive = Archive::read(path)?;
            Ok(match kind {
                Kind::Bars => archive
                    .bars(&filter, Millis::MINUTE)?
                    .rows
                    .into_iter()
                    .map(|bar| bar.timestamp)
                    .collect(),
                Kind::OpenInterest => archive
                    .open_interest(&filter)?
                    .rows
                    .into_iter()
                    .map(|row| whole(row.timestamp, FIVE_MINUTES))
                    .collect(),
            })
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|_| Ok(HashSet::new()))
            .unwrap_or_else(|fault| {
                let venue = self.venue;
                venue.trouble(format!("the archive cannot be read: {fault}"));
                HashSet::new()
            })
    }

    /// Runs errands, a few at once; how many succeeded of each kind and coin, and those that did not.
    async fn run(&self, errands: Vec<Errand>) -> (HashMap<(Kind, String), usize>, Vec<Errand>) {
        let (mut done, mut failed) = (HashMap::new(), Vec::new());
        let mut under_way = stream::iter(errands)
            .map(|errand| async move {
                let succeeded = self.run_one(&errand).await;
                (errand, succeeded)
            })
            .buffer_unordered(AT_ONCE);
        while let Some((errand, succeeded)) = under_way.next().await {
            self.intake().board.was_answered();
            if succeeded {
                *done
                    .entry((errand.kind, errand.listing.coin().0))
                    .or_insert(0) += 1;
            } else {
                failed.push(errand);
            }
        }
        (done, failed)
    }

    async fn run_one(&self, errand: &Errand) -> bool {
        let body = match self.venue.rest.get(&errand.ask).await {
            Ok(body) => body,
            Err(fault) => {
                self.venue.trouble(fault.to_string());
                return false;
            }
        };
        let received_at = self.intake().clock.now();
        match self.read(errand, &body, received_at) {
            Ok(batch) => {
                let (bars, readings) = (batch.bars.len(), batch.open_interest.len());
                self.intake().board.count_history(bars, readings);
                self.intake().delivery.rows_patiently(batch).await;
                true
            }
            Err(fault) => {
                self.intake().reject(&body, &[fault], received_at);
                false
            }
        }
    }

    fn read(&self, errand: &Errand, body: &str, now: Millis) -> Result<Batch, Error> {
        let venue = self.intake().venue;
        let markets = self.intake().markets.load();
        let faults = RefCell::default();
        let intake = self.intake();
        let frame = venue.frame(body, Some(now), &markets.instruments);
        let frame = frame.keeping(&faults);
        let (coin, scale) = errand.listing.coin();
        let ask = &errand.ask;
        let inside = |at: Millis| ask.from <= at && at < ask.until;
        let too_fine = || Error::whole("a figure fits no decimal exactly".to_owned());
        let mut batch = Batch::default();
        match errand.kind {
            Kind::Bars => {
                for bar in venue.read_bars(&frame)? {
                    if inside(bar.timestamp) {
                        let row =
                            bar_row(venue.name(), &coin, scale, &bar, now).ok_or_else(too_fine)?;
                        self.venue
                            .yardstick
                            .close(&coin, row.close_time(), row.close);
                        batch.bars.push(row);
                    }
                }
            }
            Kind::OpenInterest => {
                for reading in venue.read_open_interest(&frame)? {
                    if inside(reading.timestamp) {
                        let row = reading_row(venue.name(), &coin, scale, reading, now)
                            .ok_or_else(too_fine)?;
                        self.venue.yardstick.open_interest(
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

fn bar_row(exchange: &str, coin: &str, scale: u32, bar: &Bar, now: Millis) -> Option<BarRow> {
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
    reading: Reading,
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
    fn what_is_missing_is_found_in_whole_steps() {
        let have: HashSet<Millis> = [10, 20, 50].into_iter().map(Millis).collect();
        let of = |from, until| missing(&have, Millis(from), Millis(until), 10);
        assert_eq!(
            of(0, 70),
            [
                (Millis(0), Millis(10)),
                (Millis(30), Millis(50)),
                (Millis(60), Millis(70)),
            ]
        );
        assert_eq!(of(10, 30), []);
        assert_eq!(of(60, 80), [(Millis(60), Millis(80))]);
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn a_scaled_market_gives_bars_of_single_coins() {
        let decimal = |text: &str| text.parse::<rust_decimal::Decimal>().unwrap();
        let bar = Bar {
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
