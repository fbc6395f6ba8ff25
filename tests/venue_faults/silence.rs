//! Venues that are connected and say nothing.

use std::time::Duration;

use liqdata::collect::VenueState;
use tokio::time::Instant;

use crate::bench::{Collecting, Doubles, Folder, assert_kept, gaps};
use crate::doubles::{Act, Exchange, Setup};
use crate::{SOCKETS, quick};

/// Doubles whose seconds are short, so that their heartbeats and control streams are quick.
async fn lively(venues: &[&'static str], second: Duration) -> Doubles {
    let mut doubles = Doubles::open(&[]).await;
    for venue in venues {
        let mut setup = Setup::of(venue);
        setup.second = second;
        doubles.0.insert(venue, Exchange::with(setup).await);
    }
    doubles
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_path_that_acknowledges_and_never_sends_is_found_out_by_its_control() {
    let folder = Folder::new();
    let doubles = lively(&["binance"], Duration::from_millis(20)).await;
    let mut settings = quick();
    settings.pace.control = 0.3;
    let mut plan = doubles.plan(settings);
    let reach = plan.settings.venues.get_mut("binance").unwrap();
    reach
        .paths
        .insert("/market/ws".to_owned(), "/ws".to_owned());
    let collecting = Collecting::start(&folder.archive(), &plan);
    // Of a venue that was mute acknowledgements prove nothing: the next ones are not called live.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venue_without_events_is_suspected_only_while_others_report() {
    let folder = Folder::new();
    let mut doubles = lively(&["binance"], Duration::from_millis(20)).await;
    doubles.0.insert("bybit", Exchange::open("bybit").await);
    let mut settings = quick();
    settings.pace.mute = 0.4;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
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
        mute.last_gap
            .as_ref()
            .unwrap()
            .contains("connected but mute"),
        "{mute:?}"
    );
    collecting.until_kept(happened.len()).await;
    let bybit = collecting.of("bybit");
    assert_eq!(
        (bybit.connections, bybit.gaps),
        (2, 0),
        "its two sockets are left alone: {bybit:?}"
    );
    collecting.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_of_every_venue_are_found_out_within_two_pings() {
    let folder = Folder::new();
    let doubles = lively(&SOCKETS, Duration::from_millis(100)).await;
    let mut settings = quick();
    // HTX pings by itself, each half second here, and its pings are the sign of its life.
    (settings.pace.ping, settings.pace.control) = (0.6, 1.2);
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let deaf = Instant::now();
    let before: Vec<usize> = doubles
        .0
        .values()
        .map(|exchange| exchange.tally().sockets.len())
        .collect();
    for exchange in doubles.0.values() {
        assert!(exchange.act(Act::HalfOpen) > 0);
    }
    for ((venue, exchange), before) in doubles.0.iter().zip(before) {
        let tally = exchange.until(|tally| tally.sockets.len() > before).await;
        let found = tally.sockets[before].0.duration_since(deaf);
        // Two pings, the wait before the next connection, and what a busy machine takes.
        assert!(
            found < Duration::from_millis(1200 + 200 + 1500),
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
    for exchange in doubles.0.values() {
        happened.extend(exchange.liquidate(5));
    }
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    let gaps = gaps(&archive);
    for venue in SOCKETS {
        let named = gaps.iter().any(|gap| {
            gap.exchange == venue && gap.start < gap.end && gap.reason.contains(": no ")
        });
        assert!(named, "{venue} is not among {gaps:?}");
    }
}
