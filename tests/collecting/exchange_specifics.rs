//! Properties of single exchanges: units, prices by REST and WebSocket, pings of their own.

use std::time::Duration;

use liqdata::archive::Archive;
use liqdata::collect::{Settings, VenueState};
use liqdata::model::Millis;

use crate::bench::{
    Collecting, Doubles, Folder, assert_stored, content_of, gaps, orders, quick, true_of,
};
use crate::doubles::{Act, Ending, Exchange, Limit, Setup, Truth, dialect};

/// Times of `count` events, spread evenly over the last half hour.
fn of_late(exchange: &Exchange, count: i64) -> impl Iterator<Item = i64> {
    let now = exchange.book().now();
    (0..count).map(move |number| now - 1_800_000 + number * 1_800_000 / count)
}

/// Waits until so many requests for a path were answered and no backfill request is left.
async fn until_backfilled(collecting: &Collecting, exchange: &Exchange, path: &str, times: usize) {
    exchange
        .until(|tally| tally.requests_to(path) >= times)
        .await;
    collecting
        .until_of(exchange.venue(), "no backfill request is left", |one| {
            one.requests_done >= one.requests_planned
        })
        .await;
}

fn reported_by_rest(truths: &[Truth]) -> Vec<Truth> {
    let dialect = dialect(truths[0].venue).unwrap();
    truths
        .iter()
        .map(|truth| dialect.reported_by_rest(truth))
        .collect()
}

/// Stores orders from before the start; the requests stay within the limits of the venue.
async fn fills(venue: &'static str, count: i64, path: &str, requests: usize) -> (Folder, Doubles) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    fill(&folder, &doubles, venue, count, path, requests).await;
    (folder, doubles)
}

async fn fill(
    folder: &Folder,
    doubles: &Doubles,
    venue: &'static str,
    count: i64,
    path: &str,
    requests: usize,
) {
    let exchange = doubles.of(venue);
    let past = exchange.imagine(of_late(exchange, count));
    exchange.record(&past);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_stored(past.len()).await;
    until_backfilled(&collecting, exchange, path, requests).await;
    let status = collecting.of(venue);
    assert_eq!((status.rejected, status.pending), (0, 0), "{status:?}");
    let tally = exchange.tally();
    assert!(tally.over_limit.is_empty(), "{:?}", tally.over_limit);
    collecting.stop().await;
    assert_stored(&folder.archive(), &reported_by_rest(&past));
}

#[tokio::test(start_paused = true)]
async fn a_full_page_of_gate_is_requested_again_in_halves() {
    fills("gate", 2500, "/api/v4/futures/usdt/liq_orders", 3).await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_bitget_follow_each_other_by_their_cursor() {
    fills("bitget", 600, "/api/v3/market/liquidations", 4).await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_htx_follow_each_other_by_their_times() {
    fills("htx", 900, "/linear-swap-api/v3/swap_liquidation_orders", 4).await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_coinex_follow_each_other_by_their_times() {
    fills("coinex", 600, "/v2/futures/liquidation-history", 6).await;
}

/// Two orders with equal content in the middle of two pages: the first page ends between them in either direction.
async fn stores_both_of_an_equal_pair(venue: &'static str, page: i64, path: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let exchange = doubles.of(venue);
    let now = exchange.book().now();
    let native_id = exchange.book().listed()[0].native_id;
    let newest = now - 60_000;
    let times = (0..2 * page - 1).map(|number| newest - number * 1000);
    let mut happened = exchange.imagine_of(native_id, times);
    let last = usize::try_from(page - 1).unwrap();
    happened.sort_by_key(|truth| std::cmp::Reverse(truth.time));
    happened.insert(last, happened[last].clone());
    assert_eq!(happened[last].time, newest - 1000 * (page - 1));
    exchange.record(&happened);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_stored(happened.len()).await;
    until_backfilled(&collecting, exchange, path, 2).await;
    collecting.stop().await;
    let mut stored: Vec<_> = orders(&folder.archive()).iter().map(content_of).collect();
    let mut expected: Vec<_> = reported_by_rest(&happened).iter().map(true_of).collect();
    stored.sort_unstable();
    expected.sort_unstable();
    assert_eq!(stored, expected);
}

#[tokio::test(start_paused = true)]
async fn an_equal_pair_across_two_pages_of_htx_is_two_orders() {
    let path = "/linear-swap-api/v3/swap_liquidation_orders";
    stores_both_of_an_equal_pair("htx", 50, path).await;
}

#[tokio::test(start_paused = true)]
async fn an_equal_pair_across_two_pages_of_coinex_is_two_orders() {
    let path = "/v2/futures/liquidation-history";
    stores_both_of_an_equal_pair("coinex", 100, path).await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_orderly_follow_each_other_by_their_numbers() {
    fills("orderly", 350, "/v1/public/liquidated_positions", 4).await;
}

#[tokio::test(start_paused = true)]
async fn amounts_of_bitget_are_decoded_in_either_coin() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bitget"]));
    let bitget = doubles.of("bitget");
    bitget.fault(|faults| faults.amounts_in_quote = true);
    fill(
        &folder,
        &doubles,
        "bitget",
        150,
        "/api/v3/market/liquidations",
        3,
    )
    .await;
}

/// Receives events, loses the connection, and gets the same events again by REST.
async fn stores_repeated_orders_once(venue: &'static str, path: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let exchange = doubles.of(venue);
    until_backfilled(&collecting, exchange, path, 1).await;
    let happened = exchange.liquidate(60);
    collecting.until_stored(happened.len()).await;
    let before = collecting.of(venue);
    exchange.act(Act::Disconnect(Ending::Close));
    collecting
        .until_of(venue, "every event was sent again", |one| {
            one.repeated >= before.repeated + 60
        })
        .await;
    let archive = folder.archive();
    collecting.stop().await;
    // The row that came first stays, here the socket's.
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn an_order_of_gate_over_both_ways_is_stored_once() {
    stores_repeated_orders_once("gate", "/api/v4/futures/usdt/liq_orders").await;
}

/// A new process remembers no events, so only the archive can know them.
#[tokio::test(start_paused = true)]
async fn an_order_that_gate_repeats_after_a_restart_is_stored_once_and_unchanged() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["gate"]));
    let gate = doubles.of("gate");
    let path = "/api/v4/futures/usdt/liq_orders";
    let archive = folder.archive();
    let collecting = doubles.collect(&archive, &doubles.plan(quick()));
    collecting.until_live().await;
    until_backfilled(&collecting, gate, path, 1).await;
    let happened = gate.liquidate(60);
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    let collecting = doubles.collect(&archive, &doubles.plan(quick()));
    collecting
        .until("the archive has got them again", |status| {
            status.repeated >= 60
        })
        .await;
    assert_eq!(collecting.status().orders, 0);
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn an_order_of_bitget_in_both_coins_is_stored_once() {
    stores_repeated_orders_once("bitget", "/api/v3/market/liquidations").await;
}

#[tokio::test(start_paused = true)]
async fn a_row_of_bitget_without_a_contract_size_waits_for_its_market() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bitget"]));
    let bitget = doubles.of("bitget");
    let past = bitget.imagine_of("NEWUSDT", of_late(bitget, 5));
    bitget.record(&past);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting
        .until_of("bitget", "the rows wait", |one| one.pending == 5)
        .await;
    bitget.book().announce("NEWUSDT");
    collecting.until_stored(5).await;
    assert_eq!(collecting.of("bitget").unpriced, 0);
    collecting.stop().await;
    assert_stored(&folder.archive(), &past);
}

/// Liquidated longs must have been closed by sells, or every side would be the wrong one.
/// Orders from before the first poll are backfilled, but that time is not covered; nor is the time of a failed poll.
#[tokio::test(start_paused = true)]
async fn coinex_is_covered_from_its_first_poll_to_its_last() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["coinex"]));
    let coinex = doubles.of("coinex");
    let old = coinex.imagine(of_late(coinex, 20));
    coinex.record(&old);
    let before = coinex.book().now();
    let mut settings = quick();
    settings.pace.late = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    collecting.until_stored(old.len()).await;
    let runs = || {
        let archive = Archive::read(folder.archive()).unwrap();
        archive
            .coverage()
            .sessions(Millis(0), Millis(i64::MAX / 2))
            .unwrap()
    };
    collecting
        .until("a second poll was answered", |_| {
            runs().iter().any(|run| run.seen > run.started)
        })
        .await;
    let path = "/v2/futures/liquidation-history";
    coinex.fault(|faults| faults.gone = vec![path.to_owned()]);
    collecting
        .until_of("coinex", "a poll is in vain", |one| {
            one.state == VenueState::Down
        })
        .await;
    coinex.mend();
    collecting
        .until_of("coinex", "that is a gap", |one| {
            one.state == VenueState::Live && one.gaps == 1
        })
        .await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &old);
    let of_coinex = gaps(&archive);
    assert_eq!(of_coinex.len(), 1, "{of_coinex:?}");
    assert_eq!(of_coinex[0].reason, "a poll was not answered");
    let archive = Archive::read(archive).unwrap();
    let end = Millis(coinex.book().now());
    assert!(
        runs().iter().all(|run| run.started.0 >= before),
        "{:?}",
        runs()
    );
    // Of the hour of the backfill only the time since then is covered, without the gap.
    let hour = archive
        .coverage()
        .by_exchange(Millis(before - 3_600_000), Millis(before))
        .unwrap();
    assert_eq!(hour[0].connected_share, Some(0.0), "{hour:?}");
    let since = archive.coverage().by_exchange(Millis(before), end).unwrap();
    let share = since[0].connected_share.unwrap();
    assert!(share > 0.0 && share < 1.0, "{since:?}");
}

#[tokio::test(start_paused = true)]
async fn pings_of_htx_are_answered_with_their_own_token_on_three_connections() {
    let folder = Folder::new();
    // A ping comes each five of the venue's seconds, and six without an answer are the end.
    let doubles = Doubles::in_memory_with(&["htx"], |setup| Setup {
        second: Duration::from_millis(10),
        ..setup
    });
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let htx = doubles.of("htx");
    let tally = htx.until(|tally| tally.pongs >= 60).await;
    assert!(tally.strange.is_empty(), "{:?}", tally.strange);
    assert_eq!((tally.open, tally.sockets.len()), (3, 3));
    let happened = htx.liquidate(30);
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}

/// A row that is reported late, to the next process, is stored.
#[tokio::test(start_paused = true)]
async fn a_late_row_of_a_polled_exchange_is_stored_after_a_restart() {
    let venues = ["coinex", "orderly"];
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&venues));
    let mut settings = quick();
    settings.pace.late = 2.0;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings.clone()));
    collecting.until_live().await;
    let at = |venue: &str| doubles.of(venue).book().now();
    let begun = collecting.status().at;
    collecting
        .until("it is polled for a while", |status| {
            status.at > begun.on(3000)
        })
        .await;
    let happened_at = venues.map(at);
    let runs = || {
        let archive = Archive::read(folder.archive()).unwrap();
        archive
            .coverage()
            .sessions(Millis(0), Millis(i64::MAX / 2))
            .unwrap()
    };
    collecting
        .until("it was polled since", |status| {
            status.at.0 > happened_at[0] + 800
        })
        .await;
    // The last seconds are not covered, as rows of them may still come.
    for run in runs() {
        let polled = Millis(at(&run.exchange));
        assert!(run.seen <= polled.back(1900), "{run:?} {polled:?}");
    }
    collecting.stop().await;
    let mut happened = Vec::new();
    for (venue, at) in venues.into_iter().zip(happened_at) {
        let late = doubles.of(venue).imagine([at]);
        doubles.of(venue).record(&late);
        happened.extend(late);
    }
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}

/// A pace at which market lists are read much more often than liquidations.
fn reading_markets_often() -> Settings {
    let mut settings = quick();
    settings.pace.instruments = 0.1;
    settings.pace.poll = 3.0;
    settings.pace.late = 0.1;
    settings
}

/// A delisted market without answers is missing by name since its last request.
#[tokio::test(start_paused = true)]
async fn a_delisted_market_with_refused_requests_is_a_topic_gap() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["coinex"]));
    let coinex = doubles.of("coinex");
    let settings = reading_markets_often();
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let before = coinex.book().now();
    coinex.fault(|faults| faults.broken = vec!["market=LATUSDT".to_owned()]);
    coinex.book().withdraw("LATUSDT");
    let gaps = || {
        let archive = Archive::read(folder.archive()).unwrap();
        let (first, last) = (Millis(0), Millis(i64::MAX / 2));
        archive.coverage().topic_gaps(first, last, None).unwrap()
    };
    collecting
        .until("it is on record", |_| !gaps().is_empty())
        .await;
    // The others go on to be covered.
    collecting
        .until_of("coinex", "it is polled on", |one| {
            one.state == VenueState::Live
        })
        .await;
    collecting.stop().await;
    let gap = gaps().remove(0);
    assert_eq!((&*gap.exchange, &*gap.topic), ("coinex", "LATUSDT"));
    assert!(gap.reason.contains("refuses requests about it"), "{gap:?}");
    assert!(Millis(before) < gap.end, "{gap:?}");
}

/// A last request covers the time before the delisting.
#[tokio::test(start_paused = true)]
async fn a_market_that_was_delisted_since_the_last_poll_is_polled_once_more() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["coinex"]));
    let coinex = doubles.of("coinex");
    let settings = reading_markets_often();
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let last = coinex.imagine_of("LATUSDT", [coinex.book().now()]);
    coinex.record(&last);
    coinex.book().withdraw("LATUSDT");
    let lists = coinex.tally().requests_to("/v2/futures/market");
    coinex
        .until(|tally| tally.requests_to("/v2/futures/market") >= lists + 3)
        .await;
    collecting.until_stored(last.len()).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &last);
}

#[tokio::test(start_paused = true)]
async fn bybit_gets_no_request_for_ten_minutes_after_a_403() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    bybit.fault(|faults| {
        faults.rest = Some(Limit {
            status: 403,
            retry_after: None,
        });
    });
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    let left = |trouble: &str| trouble.contains("cooldown: no requests for 600 s");
    collecting
        .until_of("bybit", "it is left alone", |one| {
            one.trouble.as_deref().is_some_and(left)
        })
        .await;
    // Requests in flight may still be answered.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let refused = bybit.tally().rest.len();
    bybit.mend();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(bybit.tally().rest.len(), refused);
    let status = collecting.of("bybit");
    assert_ne!(status.state, VenueState::Live, "{status:?}");
    collecting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_of_an_unknown_channel_is_counted_and_ends_no_connection() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    okx.say(r#"{"arg":{"channel":"liquidation-fills","instType":"SWAP"},"data":[]}"#);
    collecting
        .until_of("okx", "it is counted", |one| one.rejected == 1)
        .await;
    let happened = okx.liquidate(5);
    let status = collecting.until_stored(happened.len()).await;
    let one = &status.venues[0];
    assert_eq!((one.rejected, one.gaps), (1, 0), "{one:?}");
    let trouble = one.trouble.as_deref().unwrap_or_default();
    assert!(trouble.contains("liquidation-fills"), "{one:?}");
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}
