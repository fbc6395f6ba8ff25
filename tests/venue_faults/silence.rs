//! Venues that are connected and say nothing.

use std::time::Duration;

use liqdata::feeds::VenueState;

use crate::bench::{Collecting, Doubles, Folder, assert_kept, gaps, quick};
use crate::doubles::{Act, Exchange, Setup};

/// A double of Binance whose mark prices come every few milliseconds.
async fn lively_binance(doubles: &mut Doubles) {
    let mut setup = Setup::of("binance");
    setup.second = Duration::from_millis(20);
    doubles.0.insert("binance", Exchange::with(setup).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_path_that_acknowledges_and_never_sends_is_found_out_by_its_control() {
    let folder = Folder::new();
    let mut doubles = Doubles::open(&[]).await;
    lively_binance(&mut doubles).await;
    let mut settings = quick();
    settings.pace.control = 0.3;
    let mut plan = doubles.plan(settings);
    let reach = plan.settings.venues.get_mut("binance").unwrap();
    reach
        .paths
        .insert("/market/ws".to_owned(), "/ws".to_owned());
    let collecting = Collecting::start(&folder.archive(), &plan);
    let status = collecting
        .until_of("binance", "it has reconnected", |one| {
            one.gaps >= 1 && one.connections >= 2
        })
        .await;
    assert!(
        status.last_gap.as_ref().unwrap().contains("no control"),
        "{status:?}"
    );
    assert!(
        doubles
            .of("binance")
            .tally()
            .sockets
            .iter()
            .all(|(_, path)| path == "/ws")
    );
    let archive = folder.archive();
    collecting.stop().await;
    assert!(
        gaps(&archive)
            .iter()
            .any(|gap| gap.exchange == "binance" && gap.reason.contains("no control"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venue_without_events_is_suspected_only_while_others_report() {
    let folder = Folder::new();
    let mut doubles = Doubles::open(&["bybit"]).await;
    lively_binance(&mut doubles).await;
    let mut settings = quick();
    settings.pace.mute = 0.4;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    let started = collecting.until_live().await;
    // Calm everywhere, for several times the patience.
    let calm = collecting
        .until("it was calm for long", |status| {
            status.at.0 > started.at.0 + 1600
        })
        .await;
    let binance = calm
        .venues
        .iter()
        .find(|one| one.exchange == "binance")
        .unwrap();
    assert_eq!((binance.connections, binance.gaps), (1, 0), "{binance:?}");
    // Bybit reports, Binance does not: it is connected but mute.
    let mut happened = Vec::new();
    let mut pace = tokio::time::interval(Duration::from_millis(50));
    let status = loop {
        pace.tick().await;
        happened.extend(doubles.of("bybit").liquidate(1));
        let status = collecting.status();
        let binance = status
            .venues
            .iter()
            .find(|one| one.exchange == "binance")
            .unwrap();
        if binance.connections >= 2 && binance.state == VenueState::Live {
            break binance.clone();
        }
        assert!(status.at.0 < started.at.0 + 30_000, "{status:?}");
    };
    assert!(
        status
            .last_gap
            .as_ref()
            .unwrap()
            .contains("connected but mute"),
        "{status:?}"
    );
    collecting.until_kept(happened.len()).await;
    let bybit = collecting.of("bybit");
    assert_eq!(
        (bybit.connections, bybit.gaps),
        (2, 0),
        "its two sockets are left alone: {bybit:?}"
    );
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_open_connection_is_found_out_within_two_pings() {
    for venue in ["binance", "bybit", "okx"] {
        let folder = Folder::new();
        let doubles = Doubles::open(&[venue]).await;
        let mut settings = quick();
        settings.pace.ping = 0.3;
        let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
        collecting.until_live().await;
        let exchange = doubles.of(venue);
        let before = exchange.tally().sockets.len();
        exchange.until(|tally| tally.pings >= before).await;
        let deaf = std::time::Instant::now();
        exchange.act(Act::HalfOpen);
        let tally = exchange
            .until(|tally| tally.sockets.len() >= 2 * before)
            .await;
        let found = tally.sockets[before].0.duration_since(deaf);
        assert!(
            found < Duration::from_millis(600 + 500),
            "{venue}: {found:?}"
        );
        let status = collecting
            .until_of(venue, "it is live again", |one| {
                one.state == VenueState::Live && one.gaps >= 1
            })
            .await;
        assert!(
            status.last_gap.as_ref().unwrap().contains("no pong"),
            "{status:?}"
        );
        let happened = exchange.liquidate(10);
        collecting.until_kept(10).await;
        let archive = folder.archive();
        collecting.stop().await;
        assert_kept(&archive, &happened);
        assert!(gaps(&archive).iter().all(|gap| gap.start < gap.end));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venue_that_acknowledges_nothing_is_not_taken_for_live() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["okx"]).await;
    doubles.of("okx").fault(|faults| faults.no_acks = true);
    let mut settings = quick();
    settings.pace.acknowledge = 0.2;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    let status = collecting
        .until_of("okx", "it gave up a connection", |one| {
            one.trouble
                .as_ref()
                .is_some_and(|trouble| trouble.contains("acknowledged"))
        })
        .await;
    assert_ne!(status.state, VenueState::Live);
    doubles.of("okx").mend();
    collecting.until_live().await;
    let happened = doubles.of("okx").liquidate(10);
    collecting.until_kept(10).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}
