//! Faults of connections, and how the collector recovers from each.

use std::collections::BTreeSet;
use std::time::Duration;

use liqdata::collect::{Settings, VenueState};
use liqdata::contract::Overview;
use liqdata::market::Market;

use tokio::time::sleep;

use crate::bench::{
    Doubles, Folder, OrderContent, assert_gaps_say, assert_stored, content_of, gaps, orders, quick,
    true_of,
};
use crate::doubles::{Act, Ending, Garbage, Limit, dialect};
use crate::exchanges::until_backfilled;

fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = quick();
    change(&mut settings);
    settings
}

/// Every venue with a control stream on the connection of the liquidations, and both connections where there are two.
#[tokio::test(start_paused = true)]
async fn a_silent_control_stream_ends_the_connection_and_leaves_a_gap() {
    let venues = ["binance", "aster", "okx", "kraken"];
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&venues));
    let settings = with(|settings| (settings.redundancy, settings.pace.control) = (2, 6.0));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for venue in venues {
        happened.extend(doubles.of(venue).liquidate(5));
    }
    collecting.until_stored(happened.len()).await;
    let before = venues.map(|venue| collecting.of(venue).connections);
    for venue in venues {
        doubles.of(venue).fault(|faults| faults.mute = true);
    }
    let sockets = venues.map(|venue| {
        u64::try_from(
            liqdata::feeds::venue(venue)
                .unwrap()
                .redundant_connections(),
        )
        .unwrap()
    });
    for ((venue, before), sockets) in venues.iter().zip(before).zip(sockets) {
        collecting
            .until_of(venue, "all of it is found mute", |one| {
                one.connections >= before + sockets
            })
            .await;
    }
    for venue in venues {
        doubles.of(venue).mend();
    }
    for venue in venues {
        collecting
            .until_of(venue, "it is back", |one| {
                one.state == VenueState::Live && one.gaps > 0
            })
            .await;
        happened.extend(doubles.of(venue).liquidate(5));
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert_gaps_say(&archive, &venues, "control stream");
}

#[tokio::test(start_paused = true)]
async fn a_silent_exchange_is_reconnected_while_others_send_events() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["binance", "bybit"]));
    let settings = with(|settings| settings.pace.stale_exchange = 1.0);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let mut happened = 0;
    // The control stream goes on all the while, so only the rate of events shows it.
    let mute = loop {
        happened += doubles.of("bybit").liquidate(1).len();
        collecting.until_stored(happened).await;
        let binance = collecting.of("binance");
        if binance.gaps > 0 {
            break binance;
        }
        assert!(happened < 100_000);
    };
    let reason = mute.last_gap.unwrap();
    assert!(reason.contains("bybit reports"), "{reason}");
    assert_eq!(collecting.of("bybit").gaps, 0);
    collecting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_half_open_connection_is_found_by_its_missing_pongs() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let settings = with(|settings| settings.pace.ping = 0.5);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let okx = doubles.of("okx");
    let mut happened = okx.liquidate(3);
    collecting.until_stored(3).await;
    okx.act(Act::HalfOpen);
    collecting
        .until_of("okx", "it is back", |one| {
            one.gaps > 0 && one.state == VenueState::Live
        })
        .await;
    happened.extend(okx.liquidate(3));
    collecting.until_stored(6).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let gaps = gaps(&archive);
    assert!(
        gaps.iter().any(|gap| gap.reason.contains("no pong")),
        "{gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn refused_connections_are_retried_with_growing_waits() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let settings = with(|settings| {
        settings.pace.retry_first = 0.05;
        settings.pace.retry_most = 0.4;
        settings.history_days = 0;
    });
    let okx = doubles.of("okx");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let before = okx.tally().sockets.len();
    okx.fault(|faults| {
        faults.handshake = Some(Limit {
            status: 503,
            retry_after: None,
        });
    });
    okx.act(Act::Disconnect(Ending::Reset));
    let calm = Duration::from_secs(2);
    let connections = okx.tally().connections.len();
    sleep(calm).await;
    assert_ne!(collecting.of("okx").state, VenueState::Live);
    // With waits of up to 0.4 s, 0.2 s in the mean, ten a second are not even thinkable as bad luck.
    let attempts = okx.tally().connections.len() - connections;
    assert!((2..=40).contains(&attempts), "{attempts}");
    okx.mend();
    collecting.until_live().await;
    assert_eq!(okx.tally().sockets.len(), before + 1);
    assert!(collecting.of("okx").gaps > 0);
    collecting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn invalid_messages_are_counted_and_collection_continues() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let settings = with(|settings| settings.frame_bytes = 1 << 20);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    let okx = doubles.of("okx");
    let mut happened = Vec::new();
    for garbage in [
        Garbage::TruncatedJson,
        Garbage::Alien,
        Garbage::Binary,
        Garbage::InvalidUtf8,
        Garbage::Huge,
        Garbage::HugeHead,
        Garbage::BadOpcode,
    ] {
        collecting.until_live().await;
        let before = collecting.of("okx").rejected;
        assert_eq!(okx.act(Act::Garbage(garbage)), 1);
        collecting
            .until_of("okx", &format!("{garbage:?} is counted"), |one| {
                one.rejected > before
            })
            .await;
        // Some of it costs the connection.
        collecting
            .until_of("okx", "it listens", |one| one.state == VenueState::Live)
            .await;
        okx.until(|tally| tally.open > 0).await;
        let more = okx.liquidate(2);
        happened.extend(more);
        let found = collecting
            .until_of("okx", "the next events are received or backfilled", |one| {
                one.events >= u64::try_from(happened.len()).unwrap()
            })
            .await;
        assert_eq!(found.lost, 0);
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let quarantined = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert!(quarantined.lines().count() >= 3, "{quarantined}");
}

#[tokio::test(start_paused = true)]
async fn new_members_are_ignored_and_a_missing_one_loses_only_its_rows() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit", "okx"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.new_field = true);
    }
    let mut happened = doubles.of("bybit").liquidate(5);
    happened.extend(doubles.of("okx").liquidate(5));
    collecting.until_stored(10).await;
    doubles.of("bybit").fault(|faults| {
        faults.new_field = false;
        faults.removed_field = Some("p".to_owned());
    });
    doubles.of("bybit").liquidate(3);
    happened.extend(doubles.of("okx").liquidate(5));
    collecting
        .until_of("bybit", "its rows are counted", |one| one.rejected >= 3)
        .await;
    collecting.until_stored(15).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn duplicates_and_disorder_change_nothing() {
    let venues = ["binance", "bybit", "okx", "gate", "bitget", "aster"];
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&venues));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| {
            faults.duplicate = true;
            faults.shuffle = true;
            faults.replay = 20;
        });
        happened.extend(exchange.liquidate(30));
    }
    collecting.until_stored(happened.len()).await;
    for exchange in doubles.exchanges().values() {
        exchange.act(Act::Disconnect(Ending::Fin));
    }
    collecting
        .until("all have been away and are back", |status| {
            status
                .venues
                .iter()
                .all(|one| one.gaps > 0 && one.state == VenueState::Live)
        })
        .await;
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(10));
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    // Events on a new connection are backfilled by REST as well. Gate reports another price there; of an order that
    // comes both ways the first version stays, whichever it was.
    let rows = orders(&archive);
    let stored: BTreeSet<OrderContent> = rows.iter().map(content_of).collect();
    for truth in &happened {
        let by_rest = dialect(truth.venue).unwrap().reported_by_rest(truth);
        let versions = BTreeSet::from([true_of(truth), true_of(&by_rest)]);
        assert_eq!(versions.intersection(&stored).count(), 1, "{truth:?}");
    }
    assert_eq!((rows.len(), stored.len()), (happened.len(), happened.len()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_that_is_down_does_not_disturb_the_others() {
    let (folder, doubles) = (
        Folder::new(),
        Doubles::on_loopback(&["binance", "bybit", "okx"]).await,
    );
    doubles.of("bybit").shut().await;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    for venue in ["binance", "okx"] {
        collecting
            .until_of(venue, "it is live", |one| one.state == VenueState::Live)
            .await;
    }
    let mut happened = doubles.of("binance").liquidate(20);
    happened.extend(doubles.of("okx").liquidate(20));
    collecting.until_stored(40).await;
    let down = collecting
        .until_of("bybit", "it says why", |one| one.trouble.is_some())
        .await;
    assert_ne!(down.state, VenueState::Live, "{down:?}");
    assert_eq!(collecting.of("binance").gaps, 0);
    doubles.of("bybit").reopen().await;
    collecting.until_live().await;
    happened.extend(doubles.of("bybit").liquidate(20));
    collecting.until_stored(60).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn one_refused_topic_does_not_affect_the_others() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let bad = bybit
        .book()
        .markets
        .iter()
        .find(|market| market.listed && market.class == "linear")
        .unwrap();
    let topic = format!("allLiquidation.{}", bad.native_id);
    bybit.fault(|faults| faults.bad_topics = vec![topic.clone()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    let status = collecting
        .until_of("bybit", "it is live", |one| one.state == VenueState::Live)
        .await;
    assert_eq!(status.uncovered, [format!("linear: {topic}")]);
    let happened: Vec<_> = bybit
        .liquidate(60)
        .into_iter()
        .filter(|truth| truth.native_id() != bad.native_id)
        .collect();
    assert!(!happened.is_empty());
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_an_acknowledgement_is_not_live() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    okx.fault(|faults| faults.no_acks = true);
    let settings = with(|settings| settings.pace.acknowledge = 0.3);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    let status = collecting
        .until_of("okx", "it has been tried twice", |one| one.connections >= 2)
        .await;
    assert_ne!(status.state, VenueState::Live);
    okx.mend();
    collecting.until_live().await;
    let happened = okx.liquidate(4);
    collecting.until_stored(4).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_replaced_without_a_gap_and_without_duplicates() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["binance"]));
    let settings = with(|settings| settings.pace.rotate = 0.3);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let binance = doubles.of("binance");
    let mut happened = Vec::new();
    while collecting.of("binance").connections < 5 {
        happened.extend(binance.liquidate(3));
        collecting.until_stored(happened.len()).await;
    }
    let status = collecting.of("binance");
    assert_eq!(status.gaps, 0, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert!(gaps(&archive).is_empty());
}

#[tokio::test(start_paused = true)]
async fn events_in_flight_to_a_replaced_connection_are_stored() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["binance"]));
    let settings = with(|settings| settings.pace.rotate = 0.3);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let binance = doubles.of("binance");
    // The old socket gets it behind our farewell, and the new one may not have been there when it happened.
    binance.fault(|faults| faults.late = true);
    let happened = binance.liquidate(5);
    let status = collecting.until_stored(5).await;
    assert_eq!(status.venues[0].gaps, 0, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn requests_pause_after_a_429() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    okx.fault(|faults| {
        faults.rest = Some(Limit {
            status: 429,
            retry_after: Some(1),
        });
        faults.rest_times = Some(2);
    });
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let happened = okx.liquidate(5);
    // Without the markets no row can be priced, so these are stored after the cooldown of the venue and another request.
    collecting.until_stored(5).await;
    let tally = okx.tally();
    assert_eq!(tally.rest.iter().filter(|one| one.status == 429).count(), 2);
    let apart = tally.rest[2].at.duration_since(tally.rest[1].at);
    assert!(apart >= Duration::from_secs(1), "{apart:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// Every venue with a WebSocket and with times in its events.
const TIMED: [&str; 15] = [
    "binance",
    "bybit",
    "okx",
    "gate",
    "bitget",
    "htx",
    "aster",
    "deribit",
    "kraken",
    "bitfinex",
    "dydx",
    "lighter",
    "lighter_rh",
    "pacifica",
    "extended",
];

#[tokio::test(start_paused = true)]
async fn a_live_event_with_an_impossible_time_is_rejected_at_every_exchange() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&TIMED));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for (venue, exchange) in doubles.exchanges() {
        until_backfilled(&collecting, venue).await;
        let now = exchange.book().now();
        let day = 24 * 3_600_000;
        // A minute of difference between clocks is nothing to complain about, and neither is a late report.
        happened.extend(exchange.liquidate_at([now + 30_000, now - day + 60_000]));
        exchange.liquidate_at([now + 90_000, now - day - 60_000, now + 1000 * day]);
        let status = collecting
            .until_of(venue, "three are refused", |one| one.rejected >= 3)
            .await;
        let trouble = status.trouble.unwrap();
        assert!(trouble.starts_with("rejected: "), "{venue}: {trouble}");
    }
    collecting.until_stored(happened.len()).await;
    for status in collecting.status().venues {
        assert_eq!((status.rejected, status.events), (3, 2), "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    // Not every venue reports fractions of a second.
    let seconds =
        |all: &mut Vec<OrderContent>| all.iter_mut().for_each(|content| content.6 /= 1000);
    let mut stored: Vec<OrderContent> = orders(&archive).iter().map(content_of).collect();
    let mut expected: Vec<OrderContent> = happened.iter().map(true_of).collect();
    seconds(&mut stored);
    seconds(&mut expected);
    stored.sort();
    expected.sort();
    assert_eq!(stored, expected);
    let quarantined = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    for venue in TIMED {
        for reason in ["is more than 60 s in the future", "old on a live channel"] {
            let named = |line: &&str| line.contains(reason) && line.contains(&format!("{venue}|"));
            assert!(
                quarantined.lines().any(|line| named(&line)),
                "{venue}: {reason}"
            );
        }
    }
}

/// One such row would make every sum of the day overflow.
#[tokio::test(start_paused = true)]
async fn an_order_with_an_absurd_value_is_rejected_and_breaks_no_answer() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let okx = doubles.of("okx");
    let mut absurd = okx.imagine(std::iter::repeat_n(okx.book().now(), 3));
    for truth in &mut absurd {
        truth.size = "900000000000000000".parse().unwrap();
    }
    let happened = okx.liquidate(4);
    okx.publish(&absurd);
    let status = collecting
        .until_of("okx", "they are refused", |one| one.rejected >= 3)
        .await;
    let trouble = status.trouble.unwrap();
    assert!(trouble.contains("value_usd"), "{trouble}");
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let market = Market::open(&archive, None).unwrap();
    let answered = market.answer(&Overview::default(), None).unwrap();
    assert!(answered.reply.present().all(|(_, totals)| totals.cnt == 4));
    let quarantined = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert_eq!(quarantined.lines().count(), 3, "{quarantined}");
}
