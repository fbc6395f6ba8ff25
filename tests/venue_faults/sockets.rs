//! Connections that overlap, end, and are refused.

use std::time::Duration;

use liqdata::feeds::VenueState;

use crate::bench::{Collecting, Doubles, Folder, assert_kept, gaps, quick};
use crate::cut;
use crate::doubles::{Ending, Limit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_that_overlap_at_a_rotation_count_an_event_once() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["binance"]).await;
    let exchange = doubles.of("binance");
    let mut settings = quick();
    settings.pace.rotate = 0.3;
    // Whoever subscribes hears the last events again, so the fresh socket tells what the old one told.
    exchange.fault(|faults| faults.replay = 30);
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for sockets in 2..6 {
        happened.extend(exchange.liquidate(20));
        exchange.until(|tally| tally.sockets.len() >= sockets).await;
    }
    let told = exchange.tally().events_sent;
    assert!(told > happened.len() as u64, "{told} of {}", happened.len());
    collecting.until_kept(happened.len()).await;
    let status = collecting.of("binance");
    assert!(status.repeated > 0, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    assert_eq!(
        gaps(&archive),
        [],
        "the old socket listens until the new one does"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repetitions_and_disorder_over_reconnects_leave_each_event_once() {
    for venue in ["binance", "bybit", "okx"] {
        let folder = Folder::new();
        let doubles = Doubles::open(&[venue]).await;
        let exchange = doubles.of(venue);
        exchange.fault(|faults| {
            faults.replay = 100;
            faults.duplicate = true;
            faults.shuffle = true;
        });
        let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
        collecting.until_live().await;
        let mut happened = exchange.liquidate(30);
        for ending in [Ending::Close, Ending::Fin, Ending::Reset, Ending::MidFrame] {
            collecting.until_kept(happened.len()).await;
            cut(&doubles, &collecting, venue, ending).await;
            happened.extend(exchange.liquidate(30));
        }
        collecting.until_kept(happened.len()).await;
        let status = collecting.of(venue);
        assert!(status.repeated >= happened.len() as u64, "{status:?}");
        assert!(status.gaps >= 4, "{status:?}");
        let archive = folder.archive();
        collecting.stop().await;
        assert_kept(&archive, &happened);
    }
}

/// Ten minutes of waits from 1 s to 60 s, a hundred times as fast.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venue_that_refuses_for_long_is_asked_seldom() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["binance"]).await;
    let exchange = doubles.of("binance");
    let mut settings = quick();
    (settings.pace.retry_first, settings.pace.retry_most) = (0.01, 0.6);
    settings.pace.instruments = 3600.0;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    exchange.fault(|faults| {
        faults.handshake = Some(Limit {
            status: 429,
            retry_after: None,
        });
    });
    exchange.fault(|faults| faults.refuse = true);
    let before = exchange.tally().connections.len();
    let begun = collecting.status().at.0;
    exchange.act(crate::doubles::Act::Disconnect(Ending::Reset));
    let status = collecting
        .until("six seconds are over", |status| status.at.0 > begun + 6000)
        .await;
    let attempts = exchange.tally().connections.len() - before;
    // Some 27 are expected; each is a fair draw, so a few more or less.
    assert!((8..=45).contains(&attempts), "{attempts} attempts");
    assert_eq!(status.venues[0].state, VenueState::Down);
    exchange.mend();
    collecting.until_live().await;
    let archive = folder.archive();
    collecting.stop().await;
    let gaps = gaps(&archive);
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(gaps[0].end.0 - gaps[0].start.0 >= 5900, "{gaps:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venue_that_is_gone_leaves_the_others_alone() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["binance", "bybit", "okx"]).await;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let gone = doubles.of("binance");
    let mut happened = gone.liquidate(10);
    collecting.until_kept(10).await;
    gone.shut().await;
    gone.act(crate::doubles::Act::Disconnect(Ending::Reset));
    collecting
        .until_of("binance", "it is down", |one| one.state == VenueState::Down)
        .await;
    for _ in 0..10 {
        happened.extend(doubles.of("bybit").liquidate(10));
        happened.extend(doubles.of("okx").liquidate(10));
    }
    collecting.until_kept(happened.len()).await;
    for venue in ["bybit", "okx"] {
        let status = collecting.of(venue);
        assert_eq!(
            (status.state, status.gaps),
            (VenueState::Live, 0),
            "{status:?}"
        );
    }
    let down = collecting.of("binance");
    assert_eq!(down.state, VenueState::Down);
    assert!(down.trouble.is_some());
    gone.reopen().await;
    collecting.until_live().await;
    happened.extend(gone.liquidate(10));
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    let gaps = gaps(&archive);
    assert!(
        gaps.iter().all(|gap| gap.exchange == "binance") && !gaps.is_empty(),
        "{gaps:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_venue_that_is_slow_loses_nothing() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["okx"]).await;
    let exchange = doubles.of("okx");
    exchange.fault(|faults| faults.slow = Some(Duration::from_millis(20)));
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for _ in 0..10 {
        happened.extend(exchange.liquidate(10));
    }
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}
