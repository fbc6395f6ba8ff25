//! Exchanges with liquidations among their trades: duplicates, backfill and connections.

use std::time::Duration;

use liqdata::feeds::answer;

use liqdata::collect::{CollectPlan, Settings, VenueState};

use crate::bench::{Doubles, Folder, assert_stored, gaps, quick};
use crate::doubles::{Act, Ending, Exchange, Setup, Truth};

const MINUTE: i64 = 60_000;

/// Settings under which pings are frequent.
fn lively() -> Settings {
    let mut settings = quick();
    settings.pace.ping = 0.5;
    settings
}

// --- the past

/// Several thousand at several an instant, so that pages end within instants.
fn a_busy_half_hour(exchange: &Exchange) -> Vec<Truth> {
    let start = exchange.book().now() - 40 * MINUTE;
    let happened = exchange.imagine((0..4000).map(|number| start + number / 7 * 3000));
    exchange.record(&happened);
    happened
}

async fn fills_the_past(venue: &'static str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let exchange = doubles.of(venue);
    let happened = a_busy_half_hour(exchange);
    let plan = CollectPlan {
        once: true,
        ..doubles.plan(quick())
    };
    let collecting = doubles.collect(&folder.archive(), &plan);
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
    assert_stored(&archive, &happened);
}

/// Disconnected, refused, accepted again.
async fn fills_the_gap(venue: &'static str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let exchange = doubles.of(venue);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = exchange.liquidate(30);
    collecting.until_stored(happened.len()).await;
    exchange.fault(|faults| faults.refuse = true);
    exchange.act(Act::Disconnect(Ending::Reset));
    exchange.until(|tally| tally.open == 0).await;
    let unsent = exchange.imagine(std::iter::repeat_n(exchange.book().now(), 90));
    exchange.record(&unsent);
    happened.extend(unsent);
    exchange.mend();
    collecting.until_stored(happened.len()).await;
    collecting.until_live().await;
    happened.extend(exchange.liquidate(30));
    collecting.until_stored(happened.len()).await;
    let status = collecting.of(venue);
    assert_eq!(status.rejected, 0, "{status:?}");
    assert!(status.gaps > 0, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert!(!gaps(&archive).is_empty());
}

macro_rules! tapes {
    ($($past:ident, $gap:ident: $venue:literal,)+) => {
        $(#[tokio::test(start_paused = true)]
        async fn $past() {
            fills_the_past($venue).await;
        }

        #[tokio::test(start_paused = true)]
        async fn $gap() {
            fills_the_gap($venue).await;
        })+
    };
}

tapes! {
    the_past_of_deribit_is_filled_page_by_page, orders_of_deribit_during_a_disconnection_are_backfilled: "deribit",
    the_past_of_kraken_is_filled_page_by_page, orders_of_kraken_during_a_disconnection_are_backfilled: "kraken",
    the_past_of_dydx_is_filled_page_by_page, orders_of_dydx_during_a_disconnection_are_backfilled: "dydx",
}

/// A page ends with an instant, so the remaining trades of that instant are lost, and reported by name.
#[tokio::test(start_paused = true)]
async fn an_instant_that_fills_a_page_loses_only_its_remaining_trades() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["kraken"]));
    let exchange = doubles.of("kraken");
    let instant = exchange.book().now() - 10 * MINUTE;
    let mut happened =
        exchange.imagine_of("PF_XBTUSD", (0..150).map(|number| instant - 1 - number));
    let crowd = exchange.imagine_of("PF_XBTUSD", std::iter::repeat_n(instant, 130));
    exchange.record(&happened);
    exchange.record(&crowd);
    let plan = CollectPlan {
        once: true,
        ..doubles.plan(quick())
    };
    let collecting = doubles.collect(&folder.archive(), &plan);
    let status = collecting
        .until_of("kraken", "the past is filled", |status| {
            status.state == VenueState::Stopped
        })
        .await;
    assert_eq!(status.rejected, 1, "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    happened.extend_from_slice(&crowd[30..]);
    assert_stored(&archive, &happened);
    let quarantined = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert!(quarantined.contains("has 100 trades at"), "{quarantined}");
}

/// Trades that come with a subscription may be older than any live event.
#[tokio::test(start_paused = true)]
async fn old_trades_that_come_with_a_subscription_are_stored() {
    let (folder, venues) = (Folder::new(), ["kraken", "dydx", "lighter", "extended"]);
    let doubles = Doubles::in_memory(&venues);
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        let two_days_ago = exchange.book().now() - 2 * 24 * 60 * MINUTE;
        let old = exchange.imagine([two_days_ago, two_days_ago + 1]);
        exchange.record(&old);
        happened.extend(old);
    }
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_stored(happened.len()).await;
    let status = collecting.until_live().await;
    for status in &status.venues {
        assert_eq!(status.rejected, 0, "{status:?}");
        assert_eq!(status.lag, None, "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

// --- sockets

#[tokio::test(start_paused = true)]
async fn every_exchange_answers_pings_and_its_connection_stays_open() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&[
        "deribit", "kraken", "dydx", "lighter", "pacifica", "extended",
    ]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(lively()));
    collecting.until_live().await;
    for exchange in doubles.exchanges().values() {
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
#[tokio::test(start_paused = true)]
async fn the_test_requests_of_deribit_are_answered() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory_with(&["deribit"], |setup| Setup {
        second: Duration::from_millis(10),
        ..setup
    });
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let exchange = doubles.of("deribit");
    let tally = exchange.until(|tally| tally.pongs >= 4).await;
    assert_eq!(tally.sockets.len(), 1, "{tally:?}");
    let happened = exchange.liquidate(5);
    collecting.until_stored(5).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[test]
fn requests_of_an_exchange_are_answered() {
    let test = br#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"test_request"}}"#;
    let said = answer("deribit", test).unwrap().unwrap();
    assert!(said.contains(r#""method":"public/test""#), "{said}");
    let beat = br#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#;
    assert_eq!(answer("deribit", beat).unwrap(), None);
    let said = answer("lighter", br#"{"type":"ping"}"#).unwrap();
    assert_eq!(said.as_deref(), Some(r#"{"type":"pong"}"#));
    assert_eq!(answer("lighter", br#"{"type":"pong"}"#).unwrap(), None);
}

/// The venue sends no events and no heartbeats.
#[tokio::test(start_paused = true)]
async fn a_kraken_connection_without_heartbeats_is_replaced() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["kraken"]));
    let mut settings = quick();
    settings.pace.control = 2.0;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
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
async fn names_the_refused_market(venue: &'static str, topic: &str, market: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let exchange = doubles.of(venue);
    exchange.fault(|faults| faults.bad_topics = vec![topic.to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    // The others are live all the same, after the acknowledgement has timed out.
    collecting.until_live().await;
    let status = collecting.of(venue);
    let named =
        matches!(status.uncovered.as_slice(), [one] if one.ends_with(&format!(": {topic}")));
    assert!(named, "{status:?}");
    let happened: Vec<Truth> = exchange
        .imagine(std::iter::repeat_n(exchange.book().now(), 60))
        .into_iter()
        .filter(|truth| truth.native_id() != market)
        .collect();
    exchange.publish(&happened);
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_market_that_kraken_refuses_is_reported_by_name() {
    names_the_refused_market("kraken", "PF_ETHUSD", "PF_ETHUSD").await;
}

#[tokio::test(start_paused = true)]
async fn a_market_that_dydx_refuses_is_reported_by_name() {
    names_the_refused_market("dydx", "ETH-USD", "ETH-USD").await;
}

#[tokio::test(start_paused = true)]
async fn a_market_that_lighter_refuses_is_reported_by_name() {
    names_the_refused_market("lighter", "trade/0", "0").await;
}

/// Which one is meant it does not say.
#[tokio::test(start_paused = true)]
async fn a_market_that_pacifica_refuses_is_reported_by_name() {
    names_the_refused_market("pacifica", "ETH", "ETH").await;
}

/// A channel that does not exist is left out of the reply.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_deribit_refuses_is_sent_again() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["deribit"]));
    let exchange = doubles.of("deribit");
    exchange.fault(|faults| faults.bad_topics = vec!["trades.future.any.100ms".to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    exchange.until(|tally| tally.refused.len() >= 2).await;
    assert_ne!(collecting.of("deribit").state, VenueState::Live);
    let trouble = collecting.of("deribit").trouble.unwrap();
    assert!(trouble.contains("refused"), "{trouble}");
    exchange.mend();
    collecting.until_live().await;
    let happened = exchange.liquidate(10);
    collecting.until_stored(10).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// A market that is listed later is subscribed to without a gap in the others.
async fn subscribes_to_a_new_market(venue: &'static str, native_id: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let mut settings = quick();
    settings.pace.instruments = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
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
    let fresh = exchange.imagine_of(native_id, [exchange.book().now(); 2]);
    exchange.publish(&fresh);
    happened.extend(fresh);
    collecting.until_stored(happened.len()).await;
    let status = collecting.of(venue);
    assert_eq!((status.gaps, status.rejected), (0, 0), "{status:?}");
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_new_market_of_kraken_is_subscribed() {
    subscribes_to_a_new_market("kraken", "PF_NEWUSD").await;
}

#[tokio::test(start_paused = true)]
async fn a_new_market_of_dydx_is_subscribed() {
    subscribes_to_a_new_market("dydx", "NEW-USD").await;
}

#[tokio::test(start_paused = true)]
async fn a_new_market_of_lighter_is_subscribed() {
    subscribes_to_a_new_market("lighter", "77").await;
}
