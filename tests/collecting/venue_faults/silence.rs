//! Venues that are connected and say nothing.

use std::path::Path;
use std::time::Duration;

use liqdata::archive::{Archive, TopicGap};
use liqdata::collect::VenueState;
use liqdata::model::Millis;
use tokio::time::Instant;

use crate::bench::{Doubles, Folder, assert_gaps_say, assert_stored, gaps};
use crate::doubles::{Act, Setup};
use crate::venue_faults::{SOCKETS, quick};

fn topic_gaps(archive: &Path) -> Vec<TopicGap> {
    let archive = Archive::read(archive).unwrap();
    let gaps = archive
        .coverage()
        .topic_gaps(Millis(0), Millis(i64::MAX / 2), None);
    gaps.unwrap()
}

/// Doubles with short seconds, so that their heartbeats and control streams are quick.
fn lively(venues: &[&'static str], second: Duration) -> Doubles {
    Doubles::in_memory_with(venues, |setup| Setup { second, ..setup })
}

#[tokio::test(start_paused = true)]
async fn a_path_that_acknowledges_and_never_sends_is_detected_by_its_control_stream() {
    let folder = Folder::new();
    let doubles = lively(&["binance"], Duration::from_millis(20));
    let mut settings = quick();
    settings.pace.control = 0.3;
    let mut plan = doubles.plan(settings);
    let reach = plan.settings.exchanges.get_mut("binance").unwrap();
    reach
        .paths
        .insert("/market/ws".to_owned(), "/ws".to_owned());
    let collecting = doubles.collect(&folder.archive(), &plan);
    // After silence an acknowledgement proves nothing: the next connections are not live.
    let found = |status: &liqdata::collect::VenueStatus| status.connections >= 3;
    let status = collecting
        .until_of("binance", "it has reconnected", found)
        .await;
    assert_ne!(status.state, VenueState::Live, "{status:?}");
    let sockets = doubles.of("binance").tally().sockets;
    assert!(sockets.iter().all(|(_, path)| path == "/ws"));
    let archive = folder.archive();
    collecting.stop().await;
    let gaps = gaps(&archive);
    assert!(
        gaps.iter().any(|gap| gap.reason.contains("no control")),
        "{gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_exchange_without_events_is_stale_only_while_others_send_events() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory_with(&["binance", "bybit"], |setup| match &*setup.venue {
        "binance" => Setup {
            second: Duration::from_millis(20),
            ..setup
        },
        _ => setup,
    });
    let mut settings = quick();
    settings.pace.stale_exchange = 0.4;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    let started = collecting.until_live().await;
    // Calm everywhere, for several times the patience.
    let until = started.at.0 + 1600;
    collecting
        .until("it was calm for long", |status| status.at.0 > until)
        .await;
    let calm = collecting.of("binance");
    assert_eq!((calm.connections, calm.gaps), (1, 0), "{calm:?}");
    // Bybit reports, Binance does not.
    let mut happened = Vec::new();
    let mut pace = tokio::time::interval(Duration::from_millis(50));
    let begun = Instant::now();
    let mute = loop {
        pace.tick().await;
        happened.extend(doubles.of("bybit").liquidate(1));
        let binance = collecting.of("binance");
        if binance.connections >= 2 && binance.state == VenueState::Live {
            break binance;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{binance:?}");
    };
    assert!(
        mute.last_gap.as_ref().unwrap().contains("stale: no event"),
        "{mute:?}"
    );
    collecting.until_stored(happened.len()).await;
    let bybit = collecting.of("bybit");
    assert_eq!(
        (bybit.connections, bybit.gaps),
        (2, 0),
        "its two sockets are left alone: {bybit:?}"
    );
    collecting.stop().await;
}

/// The control topics of each venue that has any, as its double names them; none where the stream comes by itself.
const CONTROLLED: [(&str, &[&str]); 13] = [
    ("binance", &["btcusdt@markPrice@1s"]),
    ("bybit", &["orderbook.1.BTCPERP", "orderbook.1.BTCUSD"]),
    ("okx", &["open-interest BTC-USDT-SWAP"]),
    (
        "gate",
        &["futures.tickers BTC_USDT", "futures.tickers BTC_USD"],
    ),
    ("bitget", &["ticker BTCUSDT"]),
    (
        "htx",
        &[
            "public.BTC-USDT.contract_info",
            "public.BTC-USD.contract_info",
            "public.BTC.contract_info",
        ],
    ),
    ("aster", &["btcusdt@markPrice@1s"]),
    ("deribit", &["ticker.BTC-PERPETUAL.agg2"]),
    ("kraken", &["heartbeat"]),
    ("bitfinex", &[]),
    ("dydx", &["v4_block_height"]),
    ("lighter", &["height"]),
    ("lighter_rh", &["height"]),
];

#[tokio::test(start_paused = true)]
async fn a_silent_exchange_with_a_control_stream_is_detected() {
    let folder = Folder::new();
    let venues = CONTROLLED.map(|(venue, _)| venue);
    let doubles = lively(&venues, Duration::from_millis(100));
    let mut settings = quick();
    (settings.pace.ping, settings.pace.control) = (0.7, 2.0);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.mute = true);
    }
    for venue in venues {
        // The next connections send nothing either, so none of their topics is live.
        let is_found = |one: &liqdata::collect::VenueStatus| {
            one.state == VenueState::Down && one.trouble.is_some()
        };
        // One connection of Gate's three has no control stream.
        let is_found = |one: &liqdata::collect::VenueStatus| {
            is_found(one) || venue == "gate" && one.state == VenueState::Degraded
        };
        collecting
            .until_of(venue, "it is found mute", is_found)
            .await;
    }
    for venue in venues {
        doubles.of(venue).mend();
    }
    let mut happened = Vec::new();
    for venue in venues {
        let is_back = |one: &liqdata::collect::VenueStatus| one.state == VenueState::Live;
        collecting.until_of(venue, "it is back", is_back).await;
        happened.extend(doubles.of(venue).liquidate(3));
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert_gaps_say(&archive, &venues, "no control stream");
}

#[tokio::test(start_paused = true)]
async fn a_refused_control_stream_is_reported_and_its_exchange_stays_live() {
    let folder = Folder::new();
    let controlled = CONTROLLED.iter().filter(|(_, topics)| !topics.is_empty());
    let controlled: Vec<_> = controlled.copied().collect();
    let venues: Vec<&'static str> = controlled.iter().map(|(venue, _)| *venue).collect();
    let doubles = lively(&venues, Duration::from_millis(100));
    for (venue, topics) in &controlled {
        doubles.of(venue).fault(|faults| {
            faults.bad_topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
        });
    }
    let mut settings = quick();
    (settings.pace.ping, settings.pace.control) = (0.7, 2.0);
    (settings.pace.acknowledge, settings.pace.resubscribe) = (3.0, 1.0);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    for (venue, topics) in &controlled {
        // The status names it.
        let is_reported = |one: &liqdata::collect::VenueStatus| {
            one.state == VenueState::Live
                && one.uncovered_count == u64::try_from(topics.len()).unwrap()
        };
        let status = collecting
            .until_of(venue, "it is live without", is_reported)
            .await;
        for topic in *topics {
            // OKX' replies name the channel alone.
            let (channel, _) = topic.split_once(' ').unwrap_or((topic, ""));
            let is_named = status.uncovered.iter().any(|named| named.contains(channel));
            assert!(is_named, "{topic} is not among {:?}", status.uncovered);
        }
    }
    let mut happened = Vec::new();
    for venue in &venues {
        happened.extend(doubles.of(venue).liquidate(3));
    }
    collecting.until_stored(happened.len()).await;
    for venue in &venues {
        let status = collecting.of(venue);
        let why = status.last_gap.clone().unwrap_or_default();
        assert!(!why.contains("control stream"), "{status:?}");
    }
    // It is requested again, and once it is acknowledged its silence counts.
    for venue in &venues {
        doubles.of(venue).mend();
    }
    for venue in &venues {
        let is_covered = |one: &liqdata::collect::VenueStatus| one.uncovered_count == 0;
        collecting
            .until_of(venue, "it has its control stream", is_covered)
            .await;
    }
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.mute = true);
    }
    for venue in &venues {
        let is_found = |one: &liqdata::collect::VenueStatus| one.state != VenueState::Live;
        collecting
            .until_of(venue, "it is found mute", is_found)
            .await;
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let reported = topic_gaps(&archive);
    for (venue, topics) in controlled {
        let mut of_venue = reported.iter().filter(|gap| gap.exchange == venue);
        assert!(
            of_venue.any(|gap| topics.iter().any(|topic| topic.contains(&gap.topic))
                && gap.reason.contains("no control stream")),
            "{venue} is not among {reported:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn half_open_connections_of_every_exchange_are_detected_within_two_pings() {
    let folder = Folder::new();
    let doubles = lively(&SOCKETS, Duration::from_millis(100));
    let mut settings = quick();
    // HTX pings by itself, each half second here, and its pings are the sign of its life.
    (settings.pace.ping, settings.pace.control) = (0.6, 1.2);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let deaf = Instant::now();
    let before: Vec<usize> = doubles
        .exchanges()
        .values()
        .map(|exchange| exchange.tally().sockets.len())
        .collect();
    for exchange in doubles.exchanges().values() {
        assert!(exchange.act(Act::HalfOpen) > 0);
    }
    for ((venue, exchange), before) in doubles.exchanges().iter().zip(before) {
        let tally = exchange.until(|tally| tally.sockets.len() > before).await;
        let found = tally.sockets[before].0.duration_since(deaf);
        // Two pings, the wait before the next connection, and the check for a missing pong.
        assert!(
            found < Duration::from_millis(1200 + 200 + 1000),
            "{venue}: {found:?}"
        );
    }
    let back = |status: &liqdata::collect::Status| {
        status
            .venues
            .iter()
            .all(|one| one.gaps > 0 && one.state == VenueState::Live)
    };
    collecting.until("all are back", back).await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(5));
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let gaps = gaps(&archive);
    for venue in SOCKETS {
        let named = gaps.iter().any(|gap| {
            gap.exchange == venue && gap.start < gap.end && gap.reason.contains(": no ")
        });
        assert!(named, "{venue} is not among {gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_ignored_control_stream_is_dropped_after_three_connections() {
    let folder = Folder::new();
    let doubles = lively(&["dydx"], Duration::from_millis(100));
    let dydx = doubles.of("dydx");
    dydx.fault(|faults| faults.ignored_topics = vec!["v4_block_height".to_owned()]);
    let mut settings = quick();
    (settings.pace.ping, settings.pace.control) = (0.7, 4.0);
    (settings.pace.acknowledge, settings.pace.resubscribe) = (0.5, 1.0);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    let is_alive = |one: &liqdata::collect::VenueStatus| one.state == VenueState::Live;
    let status = collecting
        .until_of("dydx", "it is live without", is_alive)
        .await;
    assert_eq!(
        (status.connections, status.uncovered_count),
        (4, 1),
        "{status:?}"
    );
    let happened = dydx.liquidate(3);
    collecting.until_stored(happened.len()).await;
    // It is requested again, and expected once it is acknowledged.
    dydx.mend();
    let is_covered = |one: &liqdata::collect::VenueStatus| one.uncovered_count == 0;
    collecting
        .until_of("dydx", "it has its control stream", is_covered)
        .await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let reported = topic_gaps(&archive);
    let of_control = |gap: &TopicGap| {
        gap.topic == "v4_block_height" && gap.reason.contains("neither acknowledged nor sent")
    };
    assert!(reported.iter().any(of_control), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_channel_without_heartbeats_stays_connected() {
    let folder = Folder::new();
    let doubles = lively(&["bitfinex"], Duration::from_millis(20));
    let bitfinex = doubles.of("bitfinex");
    let mut settings = quick();
    (settings.pace.ping, settings.pace.control) = (0.7, 1.0);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    bitfinex.fault(|faults| faults.ignored_topics = vec!["hb".to_owned()]);
    let mut happened = Vec::new();
    let begun = Instant::now();
    // Several times the longest silence that is allowed.
    while begun.elapsed() < Duration::from_secs(10) {
        happened.extend(bitfinex.liquidate(1));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    collecting.until_stored(happened.len()).await;
    let status = collecting.of("bitfinex");
    assert_eq!((status.connections, status.gaps), (1, 0), "{status:?}");
    // Without events and heartbeats it is mute.
    let is_found = |one: &liqdata::collect::VenueStatus| one.state != VenueState::Live;
    collecting
        .until_of("bitfinex", "it is found mute", is_found)
        .await;
    collecting.stop().await;
}
