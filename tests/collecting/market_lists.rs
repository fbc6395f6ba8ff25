//! Market lists that are late, empty or unreadable, and the gaps of topics that are not live yet.

use std::collections::BTreeSet;

use liqdata::archive::Archive;
use liqdata::collect::VenueState;
use liqdata::model::{GapState, Millis};

use crate::bench::{Collecting, Doubles, Folder, assert_stored, gaps, quick};
use crate::doubles::{Exchange, RestRequest};

pub(crate) fn now(exchange: &Exchange) -> Millis {
    Millis(exchange.book().now())
}

/// The covered time of a venue.
pub(crate) fn covered(folder: &Folder, venue: &str) -> Vec<(Millis, Millis)> {
    let archive = Archive::read(folder.archive()).unwrap();
    let until = Millis(i64::MAX / 2);
    let mut covered = archive.coverage().covered(Millis(0), until, None).unwrap();
    let ranges = covered.remove(venue).unwrap_or_default().into_iter();
    ranges.map(|range| (range.start, range.end)).collect()
}

/// Waits until a venue is on record as covered beyond an instant.
pub(crate) async fn until_covered(
    collecting: &Collecting,
    folder: &Folder,
    venue: &str,
    at: Millis,
) {
    let is_covered = || covered(folder, venue).iter().any(|(_, end)| *end > at);
    collecting
        .until("it is seen to listen", |_| is_covered())
        .await;
}

pub(crate) fn assert_missing(folder: &Folder, venue: &str, from: Millis, until: Millis) {
    let spans = covered(folder, venue);
    let overlap = spans
        .iter()
        .find(|(start, end)| *start < until && *end > from);
    assert!(
        overlap.is_none(),
        "{venue} from {from:?} until {until:?} is reported as covered by {overlap:?}; gaps {:?}",
        gaps(&folder.archive())
    );
}

async fn an_address_refuses_from_the_start(venue: &'static str, path: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let exchange = doubles.of(venue);
    exchange.fault(|faults| faults.shut = vec![path.to_owned()]);
    let begun = now(exchange);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting
        .until_of(venue, "one of its sockets listens", |one| {
            one.state == VenueState::Degraded
        })
        .await;
    let happened = exchange.liquidate(20);
    collecting
        .until("it goes on so for a while", |status| {
            status.at > begun.on(600) && status.orders > 0
        })
        .await;
    let refused_until = now(exchange);
    exchange.mend();
    collecting.until_live().await;
    let lives = now(exchange);
    collecting
        .until("it is seen to listen", |_| {
            covered(&folder, venue).iter().any(|(_, end)| *end > lives)
        })
        .await;
    collecting.stop().await;
    assert!(!happened.is_empty());
    assert_missing(&folder, venue, begun, refused_until);
}

#[tokio::test(start_paused = true)]
async fn no_time_is_covered_before_every_connection_of_bybit_is_live() {
    an_address_refuses_from_the_start("bybit", "/v5/public/inverse").await;
}

#[tokio::test(start_paused = true)]
async fn no_time_is_covered_before_every_connection_of_gate_is_live() {
    an_address_refuses_from_the_start("gate", "/v4/ws/btc").await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_planned_again_is_a_gap_until_it_is_live() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let mut settings = quick();
    settings.pace.instruments = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let inverse = ["BTCUSD", "ETHUSD"];
    for native_id in inverse {
        bybit.book().withdraw(native_id);
    }
    bybit.until(|tally| tally.open == 1).await;
    bybit.fault(|faults| faults.shut = vec!["/v5/public/inverse".to_owned()]);
    for native_id in inverse {
        bybit.book().announce(native_id);
    }
    collecting
        .until_of("bybit", "the line is planned again", |one| {
            one.state == VenueState::Degraded
        })
        .await;
    let planned = now(bybit);
    collecting
        .until("it is refused for a while", |status| {
            status.at > planned.on(500)
        })
        .await;
    let refused_until = now(bybit);
    bybit.mend();
    collecting.until_live().await;
    let lives = now(bybit);
    until_covered(&collecting, &folder, "bybit", lives).await;
    collecting.stop().await;
    assert_missing(&folder, "bybit", planned, refused_until);
}

#[tokio::test(start_paused = true)]
async fn markets_of_an_unreadable_list_stay_subscribed() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let mut settings = quick();
    settings.pace.instruments = 0.1;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    bybit.fault(|faults| faults.broken = vec!["category=inverse".to_owned()]);
    let before = bybit.tally().rest.len();
    // The linear half is read, the inverse one is not, again and again.
    bybit
        .until(|tally| {
            let since = tally.rest.iter().skip(before);
            let linear =
                |one: &&RestRequest| one.path.ends_with("instruments-info") && one.status == 200;
            since.filter(linear).count() >= 4
        })
        .await;
    let happened = bybit.liquidate(60);
    assert!(happened.iter().any(|truth| truth.native_id() == "BTCUSD"));
    collecting.until_stored(happened.len()).await;
    let status = collecting.of("bybit");
    assert_eq!(
        (status.state, status.pending),
        (VenueState::Live, 0),
        "{status:?}"
    );
    assert_eq!(
        bybit.tally().sockets.len(),
        2,
        "no socket was closed or opened"
    );
    // A list that is read again replaces the old one.
    bybit.mend();
    bybit.book().announce("NEWUSD");
    let wanted = "inverse allLiquidation.NEWUSD";
    bybit
        .until(|tally| tally.subscribed.iter().any(|(_, topic)| topic == wanted))
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}

#[tokio::test(start_paused = true)]
async fn an_exchange_without_markets_is_not_live() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let listed: Vec<&str> = bybit
        .book()
        .listed()
        .iter()
        .map(|one| one.native_id)
        .collect();
    for native_id in &listed {
        bybit.book().withdraw(native_id);
    }
    let begun = now(bybit);
    let mut settings = quick();
    settings.pace.instruments = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting
        .until("it is not live", |status| status.at > begun.on(500))
        .await;
    assert_ne!(collecting.of("bybit").state, VenueState::Live);
    let listed_at = now(bybit);
    for native_id in &listed {
        bybit.book().announce(native_id);
    }
    bybit
        .until(|tally| {
            let topics: BTreeSet<&String> =
                tally.subscribed.iter().map(|(_, topic)| topic).collect();
            // And the control topic on each of two sockets.
            topics.len() == listed.len() + 2
        })
        .await;
    collecting.until_live().await;
    let happened = bybit.liquidate(30);
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    assert_missing(&folder, "bybit", begun, listed_at);
    assert_stored(&folder.archive(), &happened);
}

#[tokio::test(start_paused = true)]
async fn a_failed_replacement_of_a_connection_is_retried_and_recorded_as_a_gap() {
    let paths = [
        ("bybit", "NEWUSDT", "/v5/public/linear"),
        ("kraken", "PF_NEWUSD", "/"),
        ("dydx", "NEW-USD", "/"),
        ("lighter", "77", "/"),
        ("pacifica", "NEW", "/ws"),
    ];
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&paths.map(|(venue, ..)| venue));
    let mut settings = quick();
    settings.pace.instruments = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let mut refused = Vec::new();
    for (venue, native_id, path) in paths {
        let exchange = doubles.of(venue);
        exchange.fault(|faults| faults.shut = vec![path.to_owned()]);
        let troubles = collecting.of(venue).troubles;
        exchange.book().announce(native_id);
        collecting
            .until_of(venue, "the replacement fails", |one| {
                one.troubles > troubles
            })
            .await;
        refused.push(now(exchange));
    }
    let until: Vec<Millis> = paths
        .iter()
        .map(|(venue, ..)| now(doubles.of(venue)))
        .collect();
    for ((venue, native_id, _), (from, until)) in paths.iter().zip(refused.iter().zip(until)) {
        let exchange = doubles.of(venue);
        exchange.mend();
        let market = exchange.book().market(native_id).unwrap();
        let topics = crate::doubles::dialect(venue).unwrap().topics(market);
        exchange
            .until(|tally| {
                tally
                    .subscribed
                    .iter()
                    .any(|(_, topic)| topics.contains(topic))
            })
            .await;
        let topic_gaps = || {
            let archive = Archive::read(folder.archive()).unwrap();
            let gaps = archive
                .coverage()
                .topic_gaps(Millis(0), Millis(i64::MAX / 2), None);
            let mut gaps = gaps.unwrap();
            gaps.retain(|gap| gap.exchange == *venue);
            gaps
        };
        let is_reported = || {
            let mut gaps = topic_gaps().into_iter();
            gaps.any(|gap| gap.start <= *from && gap.end >= until)
        };
        collecting
            .until("the gap is recorded", |_| is_reported())
            .await;
        let coverage = || {
            let archive = Archive::read(folder.archive()).unwrap();
            let end = Millis(exchange.book().now());
            let coverage = archive
                .coverage()
                .by_exchange(end.back(60_000), end.on(1))
                .unwrap();
            coverage
                .into_iter()
                .find(|one| one.exchange == *venue)
                .unwrap()
        };
        collecting
            .until("all topics are covered", |_| {
                let found = coverage();
                found.topics.is_some() && found.topics == found.topics_covered
            })
            .await;
        let ended = topic_gaps().iter().map(|gap| gap.end).max();
        assert!(ended.is_some_and(|end| end <= now(exchange)), "{ended:?}");
    }
    collecting.stop().await;
}

/// A refused topic is a gap for as long, and is requested again on the same socket.
#[tokio::test(start_paused = true)]
async fn a_refused_topic_is_a_topic_gap_and_is_requested_again() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let topic = "allLiquidation.SOLUSDT";
    bybit.fault(|faults| faults.bad_topics = vec![topic.to_owned()]);
    let mut settings = quick();
    settings.pace.resubscribe = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting
        .until_of("bybit", "the others are live", |one| {
            one.state == VenueState::Live && one.uncovered_count == 1
        })
        .await;
    let read = || Archive::read(folder.archive()).unwrap();
    let topic_gaps = || {
        read()
            .coverage()
            .topic_gaps(Millis(0), Millis(i64::MAX / 2), None)
            .unwrap()
    };
    let first = now(bybit);
    collecting
        .until("the gap grows", |_| {
            topic_gaps().iter().any(|gap| gap.end > first.on(300))
        })
        .await;
    let coverage = |from: Millis| {
        let coverage = read().coverage().by_exchange(from, now(bybit)).unwrap();
        coverage
            .into_iter()
            .find(|one| one.exchange == "bybit")
            .unwrap()
    };
    let found = coverage(first);
    let topics = found.topics.unwrap();
    assert_eq!(found.topics_covered, Some(topics - 1));
    assert!(found.connected_share.unwrap() < 1.0, "{found:?}");
    let refused_until = now(bybit);
    bybit.mend();
    collecting
        .until_of("bybit", "it is live", |one| one.uncovered_count == 0)
        .await;
    assert_eq!(
        bybit.tally().sockets.len(),
        2,
        "on the socket that is there"
    );
    let happened = bybit.imagine_of("SOLUSDT", [now(bybit).0]);
    bybit.publish(&happened);
    collecting.until_stored(1).await;
    let subscribed = now(bybit);
    collecting
        .until("it is covered again", |_| {
            let later = now(bybit) > subscribed;
            let found = later.then(|| coverage(subscribed));
            found.is_some_and(|found| {
                found.topics_covered == found.topics && found.connected_share > Some(0.0)
            })
        })
        .await;
    collecting.stop().await;
    let [gap] = topic_gaps().try_into().unwrap();
    assert_eq!((gap.topic.as_str(), gap.topics), (topic, topics));
    assert!(gap.start <= first && gap.end >= refused_until && gap.end <= subscribed);
}

/// One failed request of a list delists nothing. After long enough its markets are delisted, and their topics are gaps
/// since the first failure.
#[tokio::test(start_paused = true)]
async fn a_missing_market_list_delists_its_markets_only_after_a_while() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let mut settings = quick();
    settings.pace.instruments = 0.1;
    settings.pace.delist = 4.0;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let list = "/v5/market/instruments-info?category=inverse";
    bybit.fault(|faults| faults.gone = vec![list.to_owned()]);
    let (requests, said) = (bybit.tally().rest.len(), now(bybit));
    bybit
        .until(|tally| {
            let inverse = |one: &&RestRequest| one.status == 404;
            tally.rest.iter().skip(requests).filter(inverse).count() >= 4
        })
        .await;
    let happened = bybit.liquidate(60);
    assert!(happened.iter().any(|truth| truth.native_id() == "BTCUSD"));
    collecting.until_stored(happened.len()).await;
    assert_eq!(bybit.tally().sockets.len(), 2, "no socket was opened");
    assert_eq!(bybit.tally().open, 2, "no socket was closed");
    bybit.until(|tally| tally.open == 1).await;
    assert!(now(bybit) >= said.on(4000));
    collecting.stop().await;
    let archive = Archive::read(folder.archive()).unwrap();
    let gaps = archive
        .coverage()
        .topic_gaps(Millis(0), Millis(i64::MAX / 2), None)
        .unwrap();
    let inverse: Vec<_> = gaps
        .iter()
        .filter(|gap| gap.topic.ends_with("USD"))
        .collect();
    assert_eq!(inverse.len(), 2, "{gaps:?}");
    for gap in inverse {
        assert!(
            gap.start.0 >= said.0 - 50 && gap.start < said.on(3000),
            "{gap:?} {said:?}"
        );
        assert!(gap.end >= gap.start.on(4000), "{gap:?}");
    }
    assert_stored(&folder.archive(), &happened);
}

/// Where the first reading of all says that a list is not there, nothing is covered until that is believed.
#[tokio::test(start_paused = true)]
async fn no_time_is_covered_until_a_missing_market_list_counts_as_empty() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let list = "/v5/market/instruments-info?category=inverse";
    bybit.fault(|faults| faults.gone = vec![list.to_owned()]);
    let mut settings = quick();
    settings.pace.delist = 2.0;
    let begun = now(bybit);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let lives = now(bybit);
    until_covered(&collecting, &folder, "bybit", lives).await;
    collecting.stop().await;
    assert!(lives >= begun.on(2000), "{begun:?} {lives:?}");
    assert_missing(&folder, "bybit", begun, begun.on(2000));
}

/// Coins of the settings are read like those of the plan, and an unlisted one is named.
#[tokio::test(start_paused = true)]
async fn coins_of_the_settings_may_be_symbols_and_unlisted_ones_are_reported() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let mut settings = quick();
    settings.coins = vec!["btcusdt".to_owned(), "NOSUCH".to_owned()];
    settings.history_days = 1;
    settings.pace.acknowledge = 0.5;
    settings.pace.instruments = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting
        .until("bars are stored", |status| status.bars > 0)
        .await;
    collecting
        .until_of("bybit", "the coin is named", |one| {
            let said = one.trouble.as_deref().unwrap_or_default();
            said == "coins: \"NOSUCH\" is not listed by any of bybit"
        })
        .await;
    collecting.stop().await;
}

/// An unreachable venue is on record from the collector's start on: covered for no time, with an open gap that says why.
/// The final gap after it is reached has the same reason.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_is_never_reached_is_a_gap_since_the_start() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit", "okx"]));
    let begun = now(doubles.of("bybit"));
    for venue in ["bybit", "okx"] {
        doubles.of(venue).fault(|faults| {
            faults.shut = vec!["/".to_owned()];
            faults.broken = vec!["/".to_owned()];
        });
    }
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    let started = now(doubles.of("bybit"));
    let read = || Archive::read(folder.archive()).unwrap();
    let open = || {
        read()
            .coverage()
            .gap_statuses(Millis(0), Millis(i64::MAX / 2), None)
            .unwrap()
    };
    collecting
        .until("the gaps grow and say why", |_| {
            let open = open();
            open.len() == 2
                && open.iter().all(|gap| {
                    gap.end > started.on(500) && gap.reason.starts_with("not heard yet: ")
                })
        })
        .await;
    for gap in open() {
        assert!(gap.start <= started, "{gap:?} {started:?}");
        assert_eq!(gap.state, GapState::Open);
    }
    let coverage = read()
        .coverage()
        .by_exchange(begun, now(doubles.of("bybit")))
        .unwrap();
    let shares: Vec<_> = coverage
        .iter()
        .map(|one| (one.exchange.as_str(), one.connected_share, one.gaps))
        .collect();
    assert_eq!(shares, [("bybit", Some(0.0), 1), ("okx", Some(0.0), 1)]);
    assert_eq!(read().coverage().pending_gaps().unwrap().len(), 2);
    // Stopped and begun again it is one gap, since the first start.
    collecting.stop().await;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    let again = now(doubles.of("bybit"));
    collecting
        .until("the gap goes on", |_| {
            open().len() == 2 && open().iter().all(|gap| gap.end > again)
        })
        .await;
    assert!(open().iter().all(|gap| gap.start <= started));
    doubles.of("bybit").mend();
    collecting
        .until_of("bybit", "it is live", |one| one.state == VenueState::Live)
        .await;
    let lives = now(doubles.of("bybit"));
    until_covered(&collecting, &folder, "bybit", lives).await;
    assert!(read().coverage().pending_gaps().unwrap().is_empty());
    collecting.stop().await;
    let (start, ..) = *covered(&folder, "bybit").first().unwrap();
    let of_bybit: Vec<_> = open()
        .into_iter()
        .filter(|gap| gap.exchange == "bybit")
        .collect();
    let [gap] = &of_bybit[..] else {
        panic!("{of_bybit:?}")
    };
    assert!(
        gap.start <= begun.on(400) && gap.end == start,
        "{gap:?} {start:?}"
    );
    assert!(gap.reason.starts_with("not heard yet: "), "{gap:?}");
}
