//! Each exchange end to end: subscribe, receive, price, store, backfill.

use liqdata::archive::{Archive, VenueCoverage};
use liqdata::collect::{CollectPlan, VenueState};

use crate::bench::{Collecting, Doubles, Folder, assert_stored, quick};
use crate::doubles::names;

async fn hears(venue: &'static str) {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&[venue]).await);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    until_backfilled(&collecting, venue).await;
    let exchange = doubles.of(venue);
    let mut happened = Vec::new();
    for _ in 0..5 {
        happened.extend(exchange.liquidate(20));
    }
    collecting.until_stored(happened.len()).await;
    let status = collecting.of(venue);
    assert_eq!(status.rejected, 0, "{status:?}");
    assert_eq!(status.pending, 0, "{status:?}");
    assert!(status.uncovered.is_empty(), "{status:?}");
    let tally = exchange.tally();
    assert!(tally.strange.is_empty(), "{:?}", tally.strange);
    assert!(tally.over_limit.is_empty(), "{:?}", tally.over_limit);
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// Waits until the backfill of the time before the start is complete.
pub(crate) async fn until_backfilled(collecting: &Collecting, venue: &str) {
    let has_history = liqdata::feeds::venue(venue).unwrap().look_back() > 0;
    collecting
        .until_of(venue, "the past is known", |one| {
            one.requests_done >= one.requests_planned && (one.requests_done > 0 || !has_history)
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
    orders_of_binance_are_stored: "binance",
    orders_of_bybit_are_stored: "bybit",
    orders_of_okx_are_stored: "okx",
    orders_of_gate_are_stored: "gate",
    orders_of_bitget_are_stored: "bitget",
    orders_of_htx_are_stored: "htx",
    orders_of_aster_are_stored: "aster",
    orders_of_deribit_are_stored: "deribit",
    orders_of_kraken_are_stored: "kraken",
    orders_of_bitfinex_are_stored: "bitfinex",
    orders_of_dydx_are_stored: "dydx",
    orders_of_coinex_are_stored: "coinex",
    orders_of_lighter_are_stored: "lighter",
    orders_of_lighter_on_robinhood_chain_are_stored: "lighter_rh",
    orders_of_pacifica_are_stored: "pacifica",
    orders_of_extended_are_stored: "extended",
    orders_of_orderly_are_stored: "orderly",
}

#[tokio::test(start_paused = true)]
async fn only_orders_of_the_selected_coins_are_stored() {
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
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// As long as every socket of a venue gives signs of life, the time counts as covered.
#[tokio::test(start_paused = true)]
async fn every_exchange_is_covered_while_it_is_live() {
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
            // The newest rows may still be on their way into the archive; a machine without a turn for us costs a second.
            let end = status.at.back(1000);
            let start = end.back(1000);
            if start < live {
                return false;
            }
            let covered = reader.coverage().by_exchange(start, end).unwrap();
            let whole = |one: &VenueCoverage| one.connected_share.is_some_and(|share| share >= 1.0);
            // A control topic that comes each minute, or quarter of one, proves the time before it as late as that.
            let is_late = |one: &VenueCoverage| ["htx", "bitfinex"].contains(&&*one.exchange);
            let missing = covered.iter().filter(|one| !is_late(one) && !whole(one));
            let missing: Vec<_> = missing.collect();
            // Printed before the test gives up.
            if status.at > live.on(25_000) {
                eprintln!("{missing:#?}");
            }
            covered.len() == names().len() && missing.is_empty()
        })
        .await;
    collecting.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_exchanges_are_collected_at_once() {
    let folder = Folder::new();
    let doubles = Doubles::on_loopback(&["binance", "bybit", "okx"]).await;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(50));
    }
    let status = collecting.until_stored(happened.len()).await;
    assert!(
        status
            .venues
            .iter()
            .all(|one| one.state == VenueState::Live)
    );
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}
