//! Exchanges with liquidations among their trades, and `BitMEX`: duplicates, backfill and connections.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use liqdata::feeds::answer;

use liqdata::collect::{CollectPlan, Settings, VenueState};

use crate::bench::{
    Collecting, Doubles, Folder, Told, assert_kept, gaps, orders, quick, told, true_of,
};
use crate::doubles::{Act, Ending, Exchange, Setup, Truth};

const MINUTE: i64 = 60_000;

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Settings under which pings are frequent.
fn lively() -> Settings {
    let mut settings = quick();
    settings.pace.ping = 0.5;
    settings
}

// --- the past

/// Several thousand at several an instant, so that pages end within instants.
fn a_busy_half_hour(exchange: &Exchange) -> Vec<Truth> {
    let start = now() - 40 * MINUTE;
    let happened = exchange.imagine((0..4000).map(|number| start + number / 7 * 3000));
    exchange.record(&happened);
    happened
}

async fn is_asked_for_the_past(venue: &'static str) {
    let (folder, doubles) = (Folder::new(), Doubles::open(&[venue]).await);
    let exchange = doubles.of(venue);
    let happened = a_busy_half_hour(exchange);
    let plan = CollectPlan {
        once: true,
        ..doubles.plan(quick())
    };
    let collecting = Collecting::start(&folder.archive(), &plan);
    let status = collecting
        .until_of(venue, "the past is filled", |status| {
            status.state == VenueState::Stopped
        })
        .await;
    assert_eq!(status.rejected, 0, "{status:?}");
    assert_eq!(status.unpriced, 0, "{status:?}");
    assert_eq!(exchange.tally().sockets.len(), 0);
    assert!(exchange.tally().rest.iter().all(|one| one.status == 200));
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

/// Cut off, kept out, let in again.
async fn is_asked_for_what_was_missed(venue: &'static str) {
    let (folder, doubles) = (Folder::new(), Doubles::open(&[venue]).await);
    let exchange = doubles.of(venue);
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = exchange.liquidate(30);
    collecting.until_kept(happened.len()).await;
    exchange.fault(|faults| faults.refuse = true);
    exchange.act(Act::Disconnect(Ending::Reset));
    exchange.until(|tally| tally.open == 0).await;
    let missed = exchange.imagine(std::iter::repeat_n(now(), 90));
    exchange.record(&missed);
    happened.extend(missed);
    exchange.mend();
    collecting.until_kept(happened.len()).await;
    collecting.until_live().await;
    happened.extend(exchange.liquidate(30));
    collecting.until_kept(happened.len()).await;
    let status = collecting.of(venue);
    assert_eq!(status.rejected, 0, "{status:?}");
    assert!(status.gaps > 0, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    assert!(!gaps(&archive).is_empty());
}

macro_rules! tapes {
    ($($past:ident, $missed:ident: $venue:literal,)+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $past() {
            is_asked_for_the_past($venue).await;
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $missed() {
            is_asked_for_what_was_missed($venue).await;
        })+
    };
}

tapes! {
    the_past_of_deribit_is_filled_page_by_page, what_deribit_told_meanwhile_is_asked_for: "deribit",
    the_past_of_kraken_is_filled_page_by_page, what_kraken_told_meanwhile_is_asked_for: "kraken",
    the_past_of_dydx_is_filled_page_by_page, what_dydx_told_meanwhile_is_asked_for: "dydx",
}

/// A page ends with an instant, not with a place, so what it leaves out of that instant is lost: that much, and by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instant_that_fills_a_page_costs_its_own_rest_and_no_more() {
    let (folder, doubles) = (Folder::new(), Doubles::open(&["kraken"]).await);
    let exchange = doubles.of("kraken");
    let instant = now() - 10 * MINUTE;
    let mut happened =
        exchange.imagine_of("PF_XBTUSD", (0..150).map(|number| instant - 1 - number));
    let crowd = exchange.imagine_of("PF_XBTUSD", std::iter::repeat_n(instant, 130));
    exchange.record(&happened);
    exchange.record(&crowd);
    let plan = CollectPlan {
        once: true,
        ..doubles.plan(quick())
    };
    let collecting = Collecting::start(&folder.archive(), &plan);
    let status = collecting
        .until_of("kraken", "the past is filled", |status| {
            status.state == VenueState::Stopped
        })
        .await;
    assert_eq!(status.rejected, 1, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    happened.extend_from_slice(&crowd[30..]);
    assert_kept(&archive, &happened);
    let aside = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert!(aside.contains("has 100 trades at"), "{aside}");
}

/// What comes with a subscription may be older than anything that a live channel tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_trades_that_come_with_a_subscription_are_kept() {
    let (folder, venues) = (Folder::new(), ["kraken", "dydx", "lighter", "extended"]);
    let doubles = Doubles::open(&venues).await;
    let two_days_ago = now() - 2 * 24 * 60 * MINUTE;
    let mut happened = Vec::new();
    for exchange in doubles.0.values() {
        let old = exchange.imagine([two_days_ago, two_days_ago + 1]);
        exchange.record(&old);
        happened.extend(old);
    }
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_kept(happened.len()).await;
    let status = collecting.until_live().await;
    for status in &status.venues {
        assert_eq!(status.rejected, 0, "{status:?}");
        assert_eq!(status.lag, None, "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

// --- BitMEX

/// Its orders have no time, so the time is left out.
fn timeless(mut told: Told) -> Told {
    told.6 = 0;
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_bitmex_tells_is_kept_under_the_time_of_receipt_and_a_partial_adds_nothing() {
    let (folder, doubles) = (Folder::new(), Doubles::open(&["bitmex"]).await);
    let exchange = doubles.of("bitmex");
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let begun = now();
    let mut happened = exchange.liquidate(60);
    collecting.until_kept(happened.len()).await;
    exchange.act(Act::Disconnect(Ending::Close));
    // The orders and the prices, twice.
    exchange.until(|tally| tally.subscribed.len() == 4).await;
    collecting.until_live().await;
    happened.extend(exchange.liquidate(60));
    collecting.until_kept(happened.len()).await;
    let status = collecting.of("bitmex");
    assert_eq!(status.rejected, 0, "{status:?}");
    assert_eq!(status.gaps, 1, "{status:?}");
    assert!(exchange.tally().strange.is_empty());
    let archive = folder.archive();
    collecting.stop().await;
    let rows = orders(&archive);
    let times: Vec<i64> = rows.iter().map(|row| row.order.timestamp.0).collect();
    assert!(
        times.iter().all(|time| (begun..=now()).contains(time)),
        "{times:?}"
    );
    let mut kept: Vec<Told> = rows.iter().map(told).map(timeless).collect();
    let mut told: Vec<Told> = happened.iter().map(true_of).map(timeless).collect();
    kept.sort();
    told.sort();
    assert_eq!(kept, told);
}

// --- sockets

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_venue_answers_pings_and_keeps_its_socket() {
    let folder = Folder::new();
    let doubles = Doubles::open(&[
        "deribit", "kraken", "bitmex", "dydx", "lighter", "pacifica", "extended",
    ])
    .await;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(lively()));
    collecting.until_live().await;
    for exchange in doubles.0.values() {
        let before = exchange.tally().pings + exchange.tally().pongs;
        exchange
            .until(|tally| tally.pings + tally.pongs >= before + 4)
            .await;
        let tally = exchange.tally();
        assert_eq!(tally.sockets.len(), 1, "{tally:?}");
        assert!(tally.strange.is_empty(), "{tally:?}");
    }
    collecting.stop().await;
}

/// Seconds are short here, so many of its intervals pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_test_requests_of_deribit_are_answered() {
    let folder = Folder::new();
    let mut doubles = Doubles::open(&[]).await;
    let setup = Setup {
        second: Duration::from_millis(10),
        ..Setup::of("deribit")
    };
    doubles.0.insert("deribit", Exchange::with(setup).await);
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let exchange = doubles.of("deribit");
    let tally = exchange.until(|tally| tally.pongs >= 4).await;
    assert_eq!(tally.sockets.len(), 1, "{tally:?}");
    let happened = exchange.liquidate(5);
    collecting.until_kept(5).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

#[test]
fn what_wants_an_answer_gets_it() {
    let test = br#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"test_request"}}"#;
    let said = answer("deribit", test).unwrap().unwrap();
    assert!(said.contains(r#""method":"public/test""#), "{said}");
    let beat = br#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#;
    assert_eq!(answer("deribit", beat).unwrap(), None);
    let said = answer("lighter", br#"{"type":"ping"}"#).unwrap();
    assert_eq!(said.as_deref(), Some(r#"{"type":"pong"}"#));
    assert_eq!(answer("lighter", br#"{"type":"pong"}"#).unwrap(), None);
}

/// The venue sends nothing although it listens, and its own heart no longer beats.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kraken_without_heartbeat_is_given_up() {
    let (folder, doubles) = (Folder::new(), Doubles::open(&["kraken"]).await);
    let mut settings = quick();
    settings.pace.control = 2.0;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let exchange = doubles.of("kraken");
    exchange.act(Act::Mute);
    exchange.until(|tally| tally.sockets.len() == 2).await;
    collecting.until_live().await;
    let status = collecting.of("kraken");
    let reason = status.last_gap.unwrap();
    assert!(reason.contains("no control stream"), "{reason}");
    collecting.stop().await;
}

/// A refused market costs no other, and is named.
async fn names_what_is_refused(venue: &'static str, topic: &str, market: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::open(&[venue]).await);
    let exchange = doubles.of(venue);
    exchange.fault(|faults| faults.bad_topics = vec![topic.to_owned()]);
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    // The others are live all the same, after what is left unsaid was waited for.
    collecting.until_live().await;
    let status = collecting.of(venue);
    let named =
        matches!(status.uncovered.as_slice(), [one] if one.ends_with(&format!(": {topic}")));
    assert!(named, "{status:?}");
    let happened: Vec<Truth> = exchange
        .imagine(std::iter::repeat_n(now(), 60))
        .into_iter()
        .filter(|truth| truth.native_id() != market)
        .collect();
    exchange.publish(&happened);
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_market_that_kraken_refuses_is_named() {
    names_what_is_refused("kraken", "PF_ETHUSD", "PF_ETHUSD").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_market_that_dydx_refuses_is_named() {
    names_what_is_refused("dydx", "ETH-USD", "ETH-USD").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_market_that_lighter_refuses_is_named() {
    names_what_is_refused("lighter", "trade/0", "0").await;
}

/// Which one is meant it does not say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_market_that_pacifica_refuses_is_named() {
    names_what_is_refused("pacifica", "ETH", "ETH").await;
}

/// A channel that does not exist is left out of the reply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_deribit_is_tried_again() {
    let (folder, doubles) = (Folder::new(), Doubles::open(&["deribit"]).await);
    let exchange = doubles.of("deribit");
    exchange.fault(|faults| faults.bad_topics = vec!["trades.future.any.100ms".to_owned()]);
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    exchange.until(|tally| tally.refused.len() >= 2).await;
    assert_ne!(collecting.of("deribit").state, VenueState::Live);
    let trouble = collecting.of("deribit").trouble.unwrap();
    assert!(trouble.contains("refused"), "{trouble}");
    exchange.mend();
    collecting.until_live().await;
    let happened = exchange.liquidate(10);
    collecting.until_kept(10).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

/// A market that is listed later is subscribed to without a gap in the others.
async fn hears_a_new_market(venue: &'static str, native_id: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::open(&[venue]).await);
    let mut settings = quick();
    settings.pace.instruments = 0.2;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let exchange = doubles.of(venue);
    let mut happened = exchange.liquidate(10);
    exchange.book().announce(native_id);
    exchange
        .until(|tally| {
            let named = |topic: &String| topic.contains(native_id);
            tally.subscribed.iter().any(|(_, topic)| named(topic))
        })
        .await;
    let fresh = exchange.imagine_of(native_id, [now(), now()]);
    exchange.publish(&fresh);
    happened.extend(fresh);
    collecting.until_kept(happened.len()).await;
    let status = collecting.of(venue);
    assert_eq!((status.gaps, status.rejected), (0, 0), "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_market_of_kraken_is_heard() {
    hears_a_new_market("kraken", "PF_NEWUSD").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_market_of_dydx_is_heard() {
    hears_a_new_market("dydx", "NEW-USD").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_market_of_lighter_is_heard() {
    hears_a_new_market("lighter", "77").await;
}
