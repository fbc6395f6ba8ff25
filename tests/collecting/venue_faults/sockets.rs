//! Connections that overlap, end, and are refused.

use liqdata::collect::{Status, VenueState};

use crate::bench::{Doubles, Folder, assert_stored, gaps};
use crate::doubles::{Act, Ending, Limit};
use crate::venue_faults::{SOCKETS, quick};

#[tokio::test(start_paused = true)]
async fn overlapping_connections_at_a_rotation_store_an_event_once() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&["binance", "aster"]);
    let mut settings = quick();
    settings.pace.rotate = 0.4;
    // A new subscriber gets the last events again, so the new connection repeats events of the old one.
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.replay = 30);
    }
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for sockets in 2..6 {
        for exchange in doubles.exchanges().values() {
            happened.extend(exchange.liquidate(20));
            exchange.until(|tally| tally.sockets.len() >= sockets).await;
        }
    }
    collecting.until_stored(happened.len()).await;
    for venue in ["binance", "aster"] {
        let status = collecting.of(venue);
        assert!(status.repeated > 0, "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert_eq!(
        gaps(&archive),
        [],
        "the old socket listens until the new one does"
    );
}

#[tokio::test(start_paused = true)]
async fn duplicates_and_disorder_over_every_disconnect_store_each_event_once() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&SOCKETS);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| {
            faults.replay = 100;
            faults.duplicate = true;
            faults.shuffle = true;
        });
        happened.extend(exchange.liquidate(30));
    }
    for ending in [Ending::Close, Ending::Fin, Ending::Reset, Ending::MidFrame] {
        collecting.until_stored(happened.len()).await;
        let before = collecting.status();
        let cut: Vec<usize> = doubles
            .exchanges()
            .values()
            .map(|exchange| exchange.act(Act::Disconnect(ending)))
            .collect();
        // Each connection that was cut is one gap once it is back.
        let back = |status: &Status| {
            let venues = status.venues.iter().zip(&before.venues).zip(&cut);
            venues.into_iter().all(|((now, before), cut)| {
                now.gaps >= before.gaps + *cut as u64 && now.state == VenueState::Live
            })
        };
        collecting
            .until(&format!("all are back after {ending:?}"), back)
            .await;
        for exchange in doubles.exchanges().values() {
            happened.extend(exchange.liquidate(30));
        }
    }
    collecting.until_stored(happened.len()).await;
    for venue in SOCKETS {
        let status = collecting.of(venue);
        assert!(status.repeated > 0, "{status:?}");
        assert_eq!((status.lost, status.unpriced), (0, 0), "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// Ten minutes of waits from 1 s to 60 s, a hundred times as fast.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_refuses_for_ten_minutes_gets_about_thirty_attempts() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&["binance"]);
    let exchange = doubles.of("binance");
    let mut settings = quick();
    (settings.pace.retry_first, settings.pace.retry_most) = (0.01, 0.6);
    settings.history_days = 0;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    collecting
        .until("the markets are read", |status| status.is_filled)
        .await;
    exchange.fault(|faults| {
        faults.handshake = Some(Limit {
            status: 429,
            retry_after: None,
        });
    });
    let before = exchange.tally().connections.len();
    let begun = collecting.status().at.0;
    exchange.act(Act::Disconnect(Ending::Reset));
    let over = |status: &Status| status.at.0 > begun + 6000;
    let status = collecting.until("six seconds are over", over).await;
    let attempts = exchange.tally().connections.len() - before;
    // Seven while the waits grow and then one each 0.3 s in the mean; the draws are random, so up to half as many more.
    assert!((8..=45).contains(&attempts), "{attempts} attempts");
    assert_eq!(status.venues[0].state, VenueState::Down);
    exchange.mend();
    collecting.until_live().await;
    let archive = folder.archive();
    collecting.stop().await;
    let gaps = gaps(&archive);
    assert_eq!(gaps.len(), 1, "one silence is one gap: {gaps:?}");
    assert!(gaps[0].end.0 - gaps[0].start.0 >= 5900, "{gaps:?}");
}
