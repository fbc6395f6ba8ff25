//! Two redundant connections: the loss of one is no gap, the loss of both is.

use std::time::Duration;

use liqdata::archive::Archive;
use liqdata::collect::{Settings, VenueState, VenueStatus};
use liqdata::model::Millis;

use crate::bench::{Collecting, Doubles, Folder, assert_stored, gaps, quick};
use crate::doubles::{Act, Ending, Exchange, Garbage, Truth};

const VENUES: [&str; 6] = [
    "aster", "binance", "bybit", "extended", "lighter", "pacifica",
];

/// The socket that came as number `nth` to each of its paths.
fn one_of_each_path(exchange: &Exchange, nth: usize) -> Vec<usize> {
    let sockets = exchange.tally().sockets;
    let is_it = |&number: &usize| {
        let before = sockets.iter().take(number);
        before.filter(|one| one.1 == sockets[number].1).count() == nth
    };
    (0..sockets.len()).filter(is_it).collect()
}

/// Whether two connections have everything.
fn is_whole(one: &VenueStatus) -> bool {
    let lines = if one.exchange == "bybit" { 2 } else { 1 };
    one.state == VenueState::Live && (one.sockets, one.sockets_wanted) == (2 * lines, 2 * lines)
}

async fn until_whole(collecting: &Collecting) {
    collecting
        .until("two connections have everything", |status| {
            status.venues.iter().all(is_whole)
        })
        .await;
}

/// Makes orders everywhere, and waits until both connections have reported them.
async fn until_both_have_reported(collecting: &Collecting, doubles: &Doubles) -> Vec<Truth> {
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(20));
    }
    collecting
        .until("both have reported it", |status| {
            status.venues.iter().all(|one| one.repeated >= 20)
        })
        .await;
    happened
}

/// Waits until every socket has sent several more pings with an answer.
async fn until_all_give_a_sign(doubles: &Doubles) {
    for exchange in doubles.exchanges().values() {
        let before = exchange.tally();
        let pings = before.pings + 4 * before.open;
        exchange.until(|tally| tally.pings >= pings).await;
    }
}

/// Settings for two connections that send pings often.
fn for_two() -> Settings {
    let mut settings = Settings {
        redundancy: 2,
        ..quick()
    };
    settings.pace.ping = 0.5;
    settings
}

/// Between two pings nothing proves that a connection is alive, and the other may be lost any moment.
#[tokio::test(start_paused = true)]
async fn the_remaining_connection_sends_a_ping_as_soon_as_the_other_is_lost() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&VENUES));
    let mut settings = for_two();
    settings.pace.ping = 600.0;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    until_whole(&collecting).await;
    for exchange in doubles.exchanges().values() {
        let mut pings = None;
        while pings != Some(exchange.tally().pings) {
            pings = Some(exchange.tally().pings);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        exchange.fault(|faults| faults.refuse = true);
        let lost = one_of_each_path(exchange, 0);
        for number in &lost {
            assert!(exchange.act_on(*number, Act::Disconnect(Ending::Reset)));
        }
        let others = pings.unwrap() + lost.len();
        exchange.until(|tally| tally.pings >= others).await;
    }
    collecting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_gap_exists_only_if_both_redundant_connections_are_lost() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&VENUES));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(for_two()));
    until_whole(&collecting).await;
    let mut happened: Vec<Truth> = Vec::new();
    let mut tell = |count: usize| {
        for exchange in doubles.exchanges().values() {
            happened.extend(exchange.liquidate(count));
        }
        happened.len()
    };
    collecting.until_stored(tell(20)).await;
    // A message that neither can read counts once.
    for exchange in doubles.exchanges().values() {
        exchange.act(Act::Garbage(Garbage::Alien));
    }
    collecting
        .until("all have counted it", |status| {
            status.venues.iter().all(|one| one.rejected > 0)
        })
        .await;
    // The first of the two is lost and stored out, then the second once more.
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.refuse = true);
        for number in one_of_each_path(exchange, 0) {
            assert!(exchange.act_on(number, Act::Disconnect(Ending::Reset)));
        }
    }
    collecting
        .until("one listens", |status| {
            let half = |one: &VenueStatus| one.sockets * 2 == one.sockets_wanted;
            status.venues.iter().all(half)
        })
        .await;
    collecting.until_stored(tell(20)).await;
    for exchange in doubles.exchanges().values() {
        exchange.mend();
    }
    until_whole(&collecting).await;
    // Each gives a sign of life after the other is back.
    until_all_give_a_sign(&doubles).await;
    for exchange in doubles.exchanges().values() {
        for number in one_of_each_path(exchange, 1) {
            assert!(exchange.act_on(number, Act::Disconnect(Ending::Close)));
        }
    }
    collecting.until_stored(tell(20)).await;
    until_whole(&collecting).await;
    let status = collecting.status();
    for one in &status.venues {
        assert_eq!((one.gaps, one.rejected), (0, 1), "{one:?}");
        assert!(one.repeated >= 20, "{one:?}");
    }
    let until = status.at;
    // Both are lost.
    until_all_give_a_sign(&doubles).await;
    for exchange in doubles.exchanges().values() {
        exchange.act(Act::Disconnect(Ending::Reset));
    }
    collecting
        .until("that is a gap", |status| {
            status.venues.iter().all(|one| one.gaps > 0)
        })
        .await;
    until_whole(&collecting).await;
    collecting.until_stored(tell(20)).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    let gaps = gaps(&folder.archive());
    for venue in VENUES {
        let of_venue = gaps.iter().filter(|gap| gap.exchange == venue).count();
        let lines = if venue == "bybit" { 2 } else { 1 };
        assert_eq!(of_venue, lines, "{gaps:?}");
    }
    assert!(gaps.iter().all(|gap| gap.end >= until), "{gaps:?}");
    // Until then all was covered.
    let archive = Archive::read(folder.archive()).unwrap();
    let first = archive.coverage().sessions(Millis(0), until).unwrap();
    let begun = first.iter().map(|run| run.started).max().unwrap();
    let from = gaps.iter().map(|gap| gap.start).min().unwrap();
    for covered in archive.coverage().by_exchange(begun, from).unwrap() {
        assert_eq!(covered.connected_share, Some(1.0), "{covered:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_redundant_connection_is_replaced() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&VENUES));
    let mut settings = for_two();
    settings.pace.stale_connection = 0.4;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    until_whole(&collecting).await;
    let mut happened = until_both_have_reported(&collecting, &doubles).await;
    for exchange in doubles.exchanges().values() {
        for number in one_of_each_path(exchange, 0) {
            assert!(exchange.act_on(number, Act::Mute));
        }
        // Each of its paths has events.
        happened.extend(exchange.liquidate(20));
    }
    collecting
        .until("the mute ones are replaced", |status| {
            let opened = |one: &VenueStatus| one.connections > one.sockets_wanted;
            status.venues.iter().all(opened)
        })
        .await;
    until_whole(&collecting).await;
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(20));
    }
    collecting.until_stored(happened.len()).await;
    for one in collecting.status().venues {
        assert_eq!((one.gaps, one.lost), (0, 0), "{one:?}");
        let most = one.sockets_wanted + one.sockets_wanted / 2;
        assert!(
            one.connections <= most,
            "the others are left alone: {one:?}"
        );
    }
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    assert_eq!(gaps(&folder.archive()), []);
}

/// Some venues send the last events to every new subscriber, long after the collector has forgotten them.
#[tokio::test(start_paused = true)]
async fn past_events_of_a_reconnect_do_not_make_the_redundant_connection_stale() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&VENUES));
    let mut settings = for_two();
    (settings.pace.stale_connection, settings.pace.dedupe) = (0.4, 0.2);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    until_whole(&collecting).await;
    let happened = until_both_have_reported(&collecting, &doubles).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    for exchange in doubles.exchanges().values() {
        for number in one_of_each_path(exchange, 0) {
            assert!(exchange.act_on(number, Act::Disconnect(Ending::Close)));
        }
    }
    let once_more = |one: &VenueStatus| one.sockets_wanted * 3 / 2;
    collecting
        .until("they are back", |status| {
            let is_back = |one: &VenueStatus| one.connections >= once_more(one) && is_whole(one);
            status.venues.iter().all(is_back)
        })
        .await;
    // Twice as long as a stale connection may be silent.
    tokio::time::sleep(Duration::from_millis(800)).await;
    for one in collecting.status().venues {
        assert_eq!((one.connections, one.gaps), (once_more(&one), 0), "{one:?}");
    }
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    assert_eq!(gaps(&folder.archive()), []);
}

/// The allowance of messages is for an address, however many sockets there are.
#[tokio::test(start_paused = true)]
async fn redundant_connections_share_the_message_limit_of_their_address() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["lighter"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(for_two()));
    until_whole(&collecting).await;
    let tally = doubles.of("lighter").tally();
    assert_eq!(
        tally.subscribed.len(),
        8,
        "three markets and the height, twice"
    );
    assert_eq!(tally.over_limit, [""; 0]);
    // From the first of eight subscriptions to the last.
    let took = tally.sockets[0].0.elapsed();
    assert!(took.as_secs_f64() > 5.0 * 60.0 / 200.0, "{took:?}");
    collecting.stop().await;
}

/// A number that one connection misses is no gap if the other had its message; one that both miss is.
#[tokio::test(start_paused = true)]
async fn a_sequence_hole_is_a_gap_only_if_both_redundant_connections_have_it() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["extended"]));
    let extended = doubles.of("extended");
    let mut settings = for_two();
    settings.pace.acknowledge = 0.5;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    until_whole(&collecting).await;
    // Before that there was only one connection.
    let whole = collecting.status().at;
    collecting
        .until("both have been live for a while", |status| {
            status.at > whole.on(1500)
        })
        .await;
    let mut happened = extended.liquidate(1);
    extended.drained().await;
    assert!(extended.act_on(one_of_each_path(extended, 0)[0], Act::Skip));
    for _ in 0..3 {
        happened.extend(extended.liquidate(1));
        extended.drained().await;
    }
    collecting.until_stored(happened.len()).await;
    let at = collecting.status().at;
    collecting
        .until("the hole is found and taken for none", |status| {
            status.at > at.on(1500)
        })
        .await;
    let one = collecting.of("extended");
    assert_eq!((one.holes, one.gaps), (0, 0), "{one:?}");
    happened.extend(extended.liquidate(1));
    extended.drained().await;
    assert_eq!(extended.act(Act::Skip), 2);
    extended.liquidate(1);
    extended.drained().await;
    happened.extend(extended.liquidate(1));
    collecting
        .until_of("extended", "the hole of both is a gap", |one| {
            one.holes == 1 && one.gaps == 1
        })
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    let gaps = gaps(&folder.archive());
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(
        gaps[0]
            .reason
            .contains("1 missing in the exchange's own numbers"),
        "{gaps:?}"
    );
}
