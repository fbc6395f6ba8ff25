//! Each exchange end to end: subscribe, receive, price, store, backfill.

use liqdata::archive::{Archive, VenueCoverage};
use liqdata::collect::{CollectPlan, VenueState};

use crate::bench::{Collecting, Doubles, Folder, assert_kept, quick};
use crate::doubles::names;

async fn hears(venue: &'static str) {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&[venue]).await);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    until_asked(&collecting, venue).await;
    let exchange = doubles.of(venue);
    let mut happened = Vec::new();
    for _ in 0..5 {
        happened.extend(exchange.liquidate(20));
    }
    collecting.until_kept(happened.len()).await;
    let status = collecting.of(venue);
    assert_eq!(status.rejected, 0, "{status:?}");
    assert_eq!(status.pending, 0, "{status:?}");
    assert!(status.uncovered.is_empty(), "{status:?}");
    let tally = exchange.tally();
    assert!(tally.strange.is_empty(), "{:?}", tally.strange);
    assert!(tally.over_limit.is_empty(), "{:?}", tally.over_limit);
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

/// Waits until nothing is left to be asked about the time before the start.
pub(crate) async fn until_asked(collecting: &Collecting, venue: &str) {
    let has_history = liqdata::feeds::venue(venue).unwrap().look_back() > 0;
    collecting
        .until_of(venue, "the past is known", |one| {
            one.asked >= one.to_ask && (one.asked > 0 || !has_history)
        })
        .await;
}

macro_rules! venues {
    ($($test:ident: $venue:literal,)+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            hears($venue).await;
        })+
    };
}

venues! {
    what_binance_tells_is_kept: "binance",
    what_bybit_tells_is_kept: "bybit",
    what_okx_tells_is_kept: "okx",
    what_gate_tells_is_kept: "gate",
    what_bitget_tells_is_kept: "bitget",
    what_htx_tells_is_kept: "htx",
    what_aster_tells_is_kept: "aster",
    what_deribit_tells_is_kept: "deribit",
    what_kraken_tells_is_kept: "kraken",
    what_bitmex_tells_is_kept: "bitmex",
    what_bitfinex_tells_is_kept: "bitfinex",
    what_dydx_tells_is_kept: "dydx",
    what_coinex_tells_is_kept: "coinex",
    what_lighter_tells_is_kept: "lighter",
    what_lighter_on_robinhood_chain_tells_is_kept: "lighter_rh",
    what_pacifica_tells_is_kept: "pacifica",
    what_extended_tells_is_kept: "extended",
    what_orderly_tells_is_kept: "orderly",
}

#[tokio::test(start_paused = true)]
async fn of_the_coins_that_are_asked_for_and_of_no_others() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["dydx", "extended"]));
    let plan = CollectPlan {
        coins: vec!["BTC".to_owned()],
        ..doubles.plan(quick())
    };
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(40));
    }
    happened.retain(|truth| truth.market.base == "BTC");
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

/// As long as every socket of a venue gives signs of life, the time counts as listened to.
#[tokio::test(start_paused = true)]
async fn every_venue_is_covered_from_when_it_is_live() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&names()));
    let mut settings = quick();
    settings.pace.ping = 0.5;
    // What is polled is covered only as far as nothing can come late.
    settings.pace.late = 0.2;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    let live = collecting.until_live().await.at;
    let reader = Archive::read(folder.archive()).unwrap();
    collecting
        .until("a second of every venue is covered", |status| {
            // What is newest may still be on its way into the archive; a machine without a turn for us costs a second.
            let end = status.at.back(1000);
            let start = end.back(1000);
            if start < live {
                return false;
            }
            let covered = reader.coverage(start, end).unwrap();
            let whole = |one: &VenueCoverage| one.connected_share.is_some_and(|share| share >= 1.0);
            // What tells each minute, or each quarter of one, proves the time before it as late as that.
            let is_late = |one: &VenueCoverage| ["htx", "bitfinex"].contains(&&*one.exchange);
            let missing = covered.iter().filter(|one| !is_late(one) && !whole(one));
            let missing: Vec<_> = missing.collect();
            // Said where the patience ends.
            if status.at > live.on(25_000) {
                eprintln!("{missing:#?}");
            }
            covered.len() == names().len() && missing.is_empty()
        })
        .await;
    collecting.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_venues_are_heard_at_once_and_end_together() {
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["binance", "bybit", "okx"]).await;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(50));
    }
    let status = collecting.until_kept(happened.len()).await;
    assert!(
        status
            .venues
            .iter()
            .all(|one| one.state == VenueState::Live)
    );
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}
