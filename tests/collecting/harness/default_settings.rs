//! Waits and look-backs with the default settings, on the virtual clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use liqdata::archive::Archive;
use liqdata::collect::{Settings, VenueState};
use liqdata::model::Millis;
use tokio::time::{Instant, sleep};

use super::run::{Process, WRITES, doubles, plan};
use super::virtual_environment::{Globe, Lags, Venues, in_its_own_time, true_clock};
use crate::bench::Folder;
use crate::doubles::{Act, Clock, Ending, Exchange, Limit};

/// An exchange that is collected from with the default settings.
struct Usual {
    folder: Folder,
    time: Clock,
    venues: Venues,
    venue: &'static str,
}

impl Usual {
    fn of(venue: &'static str) -> Self {
        let time = true_clock();
        Self {
            folder: Folder::new(),
            venues: doubles(&[venue], 1, &time),
            time,
            venue,
        }
    }

    fn exchange(&self) -> &Exchange {
        &self.venues[self.venue]
    }

    fn start(&self, settings: Settings) -> Process {
        let settings = Settings {
            coins: Vec::new(),
            history_days: 0,
            ..settings
        };
        let lags: Lags = Arc::new([(self.venue, Arc::default())].into());
        let globe = Globe::new(Arc::clone(&self.time), Arc::clone(&self.venues), lags, 0);
        let folder = self.folder.archive();
        Process::start(&folder, globe, &plan(&self.venues, settings), WRITES)
    }

    fn archive(&self) -> Archive {
        Archive::read(self.folder.archive()).unwrap()
    }
}

/// How long it takes from the loss of a socket until the next one is opened, each time after so long a life.
async fn waits_of(lives: Duration) -> Vec<Duration> {
    let okx = Usual::of("okx");
    let process = okx.start(Settings::default());
    let exchange = okx.exchange();
    let state = || process.listening.status().venues[0].state;
    sleep(Duration::from_mins(3)).await;
    // Long enough for the waits to grow.
    exchange.fault(|faults| {
        faults.handshake = Some(Limit {
            status: 503,
            retry_after: None,
        });
    });
    exchange.act(Act::Disconnect(Ending::Reset));
    sleep(Duration::from_mins(10)).await;
    exchange.mend();
    let mut waits = Vec::new();
    for _ in 0..5 {
        while state() != VenueState::Live {
            sleep(Duration::from_millis(100)).await;
        }
        sleep(lives).await;
        let (known, lost) = (exchange.tally().connections.len(), Instant::now());
        exchange.act(Act::Disconnect(Ending::Reset));
        while exchange.tally().connections.len() == known {
            sleep(Duration::from_millis(100)).await;
        }
        waits.push(exchange.tally().connections[known].duration_since(lost));
    }
    process.stop().await;
    waits
}

#[test]
fn reconnect_waits_start_again_after_sixty_healthy_seconds() {
    let waits = in_its_own_time(waits_of(Duration::from_secs(61)));
    let first = Duration::from_millis(1100);
    assert!(waits.iter().all(|wait| *wait < first), "{waits:?}");
    // Of five waits of up to a minute some are longer than that.
    let on = in_its_own_time(waits_of(Duration::from_secs(50)));
    assert!(on.iter().sum::<Duration>() > 10 * first, "{on:?}");
}

/// The time ranges of the requests about a market.
fn requested_ranges(exchange: &Exchange, path: &str, market: &str) -> Vec<(Millis, Millis)> {
    let of = |query: &BTreeMap<String, String>, name: &str| Millis(query[name].parse().unwrap());
    let rest = exchange.tally().rest.into_iter();
    let requests = rest.filter(|one| one.path == path && one.query["market"] == market);
    requests
        .map(|one| {
            (
                of(&one.query, "start_time"),
                of(&one.query, "end_time").on(1),
            )
        })
        .collect()
}

async fn polls() {
    const PATH: &str = "/v2/futures/liquidation-history";
    let coinex = Usual::of("coinex");
    let polls = || requested_ranges(coinex.exchange(), PATH, "BTCUSDT");
    let process = coinex.start(Settings::default());
    sleep(Duration::from_mins(31)).await;
    process.stop().await;
    let before = polls();
    assert!(before.len() > 5, "{before:?}");
    for (one, next) in before.iter().zip(&before[1..]) {
        assert_eq!(next.0, one.1.back(5 * Millis::MINUTE), "{before:?}");
    }
    // The last half minute may still get late rows: it is not covered, and the next process requests it, too.
    let last = before.last().unwrap().1;
    let runs = coinex.archive().sessions(Millis(0), Millis(i64::MAX / 2));
    let seen = runs.unwrap().iter().map(|run| run.seen).max();
    assert_eq!(seen, Some(last.back(30_000)));
    let process = coinex.start(Settings::default());
    sleep(Duration::from_mins(1)).await;
    process.stop().await;
    let first = polls()[before.len()].0;
    assert_eq!(first, last.back(30_000 + 5 * Millis::MINUTE));
}

#[test]
fn a_poll_overlaps_the_previous_poll_by_five_minutes() {
    in_its_own_time(polls());
}

/// The gaps that stay open of five hours with more orders than the requests allow.
async fn left_of_busy_hours() -> Vec<i64> {
    let bitfinex = Usual::of("bitfinex");
    let exchange = bitfinex.exchange();
    let now = (bitfinex.time)();
    exchange.record(&exchange.imagine((1..5 * 3600).rev().map(|seconds| now - 1000 * seconds)));
    let process = bitfinex.start(Settings {
        backfill_hours: Some(5),
        backfill_requests: 1,
        ..Settings::default()
    });
    sleep(Duration::from_hours(2)).await;
    process.stop().await;
    let gaps = bitfinex.archive().gaps(Millis(0), Millis(i64::MAX / 2));
    let too_short = gaps
        .unwrap()
        .into_iter()
        .filter(|gap| gap.reason.contains("too short to be split"));
    too_short.map(|gap| gap.end.0 - gap.start.0).collect()
}

#[test]
fn no_part_of_a_split_backfill_is_shorter_than_ten_minutes() {
    let left = in_its_own_time(left_of_busy_hours());
    let ten = 10 * Millis::MINUTE;
    // Half of what is less than twenty minutes would be shorter.
    assert_eq!(left.len(), 16, "{left:?}");
    assert!(
        left.iter().all(|long| (ten..2 * ten).contains(long)),
        "{left:?}"
    );
}
