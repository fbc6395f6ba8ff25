//! Orders of coins without bars on one exchange: checked against the price of the exchange itself, if it has one.

use liqdata::archive::Archive;
use liqdata::collect::{RebuildCounts, RebuildOptions, VenueStatus, rebuild};
use liqdata::model::{Millis, VenueCoverage};
use rust_decimal::Decimal;

use crate::bench::{Doubles, Folder, assert_stored, quick};
use crate::doubles::Truth;

fn coverage(folder: &Folder, doubles: &Doubles, venue: &str) -> Option<VenueCoverage> {
    let archive = Archive::read(folder.archive()).unwrap();
    let now = Millis(doubles.of(venue).book().now());
    let coverage = archive
        .coverage()
        .by_exchange(now.back(600_000), now.on(1))
        .unwrap();
    coverage.into_iter().find(|one| one.exchange == venue)
}

/// Collects two orders of a market, the second at a thousandth of the price; gives how many were quarantined and unjudged
/// as the archive has it, and checks the stored orders.
async fn collected(venue: &'static str, native_id: &str, is_wrong_stored: bool) -> (u64, u64) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    collecting
        .until("the count of the day has begun", |_| {
            coverage(&folder, &doubles, venue).is_some_and(|one| one.unjudged == Some(0))
        })
        .await;
    let exchange = doubles.of(venue);
    let now = exchange.book().now();
    let right = exchange.imagine_of(native_id, [now]);
    let mut wrong = exchange.imagine_of(native_id, [now + 1]);
    for truth in &mut wrong {
        truth.price = (truth.price * Decimal::new(1, 3)).normalize();
    }
    exchange.publish(&right);
    exchange.publish(&wrong);
    let stored: Vec<Truth> = if is_wrong_stored {
        right.into_iter().chain(wrong).collect()
    } else {
        right
    };
    collecting.until_stored(stored.len()).await;
    collecting
        .until_of(venue, "both are judged or counted", |one| {
            one.quarantined + one.unchecked + one.suspect >= if is_wrong_stored { 2 } else { 1 }
        })
        .await;
    let status = collecting.of(venue);
    collecting.stop().await;
    assert_stored(&folder.archive(), &stored);
    let quarantined = std::fs::read_to_string(folder.archive().join("quarantine.jsonl"));
    assert_eq!(
        quarantined.is_ok_and(|text| text.contains("the exchange's own")),
        !is_wrong_stored
    );
    let covered = coverage(&folder, &doubles, venue).unwrap();
    let counted = (covered.quarantined.unwrap(), covered.unjudged.unwrap());
    assert_eq!(
        (status.quarantined, status.unchecked),
        counted,
        "{status:?}"
    );
    counted
}

#[tokio::test(start_paused = true)]
async fn a_coin_of_one_exchange_is_checked_against_the_price_in_its_market_list() {
    for (venue, native_id) in [("gate", "PEPE_USDT"), ("dydx", "ETH-USD")] {
        assert_eq!(collected(venue, native_id, false).await, (1, 0), "{venue}");
    }
}

/// Orders of a market at a thousandth of the price are stored only until the price of the exchange is known.
async fn checks_requested_prices(venue: &'static str, native_id: &str) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&[venue]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let exchange = doubles.of(venue);
    // The connection is live before the prices are known, so that no order is lost.
    let mut stored = 0;
    loop {
        let mut wrong = exchange.imagine_of(native_id, [exchange.book().now()]);
        for truth in &mut wrong {
            truth.price = (truth.price * Decimal::new(1, 3)).normalize();
        }
        exchange.publish(&wrong);
        let is_counted = |one: &VenueStatus| one.quarantined + one.unchecked > stored;
        let status = collecting.until_of(venue, "it is judged or not", is_counted);
        let status = status.await;
        if status.quarantined == 1 {
            assert_eq!(status.unchecked, stored);
            break;
        }
        stored += 1;
        assert!(stored < 100, "{venue}");
    }
    let right = exchange.imagine_of(native_id, [exchange.book().now()]);
    exchange.publish(&right);
    collecting
        .until_stored(usize::try_from(stored).unwrap() + 1)
        .await;
    assert_eq!(collecting.of(venue).unchecked, stored, "{venue}");
    collecting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_coin_of_one_exchange_is_checked_against_the_prices_that_are_requested() {
    let cases = [
        ("binance", "ETHUSDT"),
        ("bybit", "SOLUSDT"),
        ("okx", "CELO-USDT-SWAP"),
        ("bitget", "APEUSDT"),
        ("htx", "BTC-USDT-270326"),
        ("htx", "ETH-USD"),
        ("deribit", "ETH-PERPETUAL"),
        ("deribit", "BTC_USDC-PERPETUAL"),
        ("kraken", "PF_ETHUSD"),
        ("coinex", "LATUSDT"),
        ("lighter", "2"),
        ("lighter_rh", "1"),
        ("aster", "PAIRUSDT"),
        ("bitfinex", "tETHF0:USTF0"),
        ("extended", "SOL-USD"),
        ("orderly", "PERP_SOL_USDC"),
        ("pacifica", "SOL"),
    ];
    let cases = cases.map(|(venue, native_id)| checks_requested_prices(venue, native_id));
    futures_util::future::join_all(cases).await;
}

#[tokio::test(start_paused = true)]
async fn an_order_without_a_reference_price_is_stored_and_counted_as_unchecked() {
    assert_eq!(collected("htx", "BTC270326", true).await, (0, 2));
}

/// A request for prices that fails is said, costs no order, and leaves the orders unjudged.
#[tokio::test(start_paused = true)]
async fn orders_are_stored_unchecked_while_the_prices_cannot_be_read() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    bybit.fault(|faults| faults.broken = vec!["/v5/market/tickers".to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting
        .until_of("bybit", "it is said", |one| {
            one.trouble
                .as_ref()
                .is_some_and(|said| said.contains("the prices cannot be read"))
        })
        .await;
    collecting.until_live().await;
    let happened = bybit.liquidate(3);
    collecting
        .until_of("bybit", "they are counted", |one| one.unchecked == 3)
        .await;
    collecting.until_stored(3).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}

/// Of orders that the archive has, or that were quarantined, a new process counts none again.
#[tokio::test(start_paused = true)]
async fn repeats_are_not_counted_again_after_a_restart() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx", "gate"]));
    let (okx, gate) = (doubles.of("okx"), doubles.of("gate"));
    okx.fault(|faults| faults.broken = vec!["/api/v5/public/mark-price".to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let happened = okx.liquidate(5);
    let mut wrong = gate.imagine_of("PEPE_USDT", [gate.book().now()]);
    for truth in &mut wrong {
        truth.price = (truth.price * Decimal::new(1, 3)).normalize();
    }
    gate.publish(&wrong);
    collecting
        .until_of("gate", "it is quarantined", |one| one.quarantined == 1)
        .await;
    collecting
        .until_of("okx", "they are counted", |one| one.unchecked == 5)
        .await;
    collecting.stop().await;

    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting
        .until("the archive got them again", |status| status.repeated >= 5)
        .await;
    let gate = collecting
        .until_of("gate", "it was sent again", |one| {
            one.repeated + one.quarantined + one.unchecked > 0
        })
        .await;
    assert_eq!((gate.quarantined, gate.unchecked), (0, 0), "{gate:?}");
    // New orders count.
    let more = okx.liquidate(1);
    collecting
        .until_of("okx", "it is counted", |one| one.unchecked > 0)
        .await;
    collecting.stop().await;
    let stored: Vec<Truth> = happened.into_iter().chain(more).collect();
    assert_stored(&folder.archive(), &stored);
    assert_eq!(
        coverage(&folder, &doubles, "okx").unwrap().unjudged,
        Some(6)
    );
    assert_eq!(
        coverage(&folder, &doubles, "gate").unwrap().quarantined,
        Some(1)
    );
}

/// A rebuild does not know the exchange's own prices of the past, so a quarantined order is new to it only if it is read in
/// another unit by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_readmits_a_quarantined_order_only_in_another_unit() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["gate"]).await);
    let gate = doubles.of("gate");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut wrong = gate.imagine_of("PEPE_USDT", [gate.book().now()]);
    for truth in &mut wrong {
        truth.price = (truth.price * Decimal::new(1, 3)).normalize();
    }
    gate.publish(&wrong);
    collecting
        .until_of("gate", "it is quarantined", |one| one.quarantined == 1)
        .await;
    collecting.stop().await;
    let again = || -> RebuildCounts {
        let done = rebuild(
            &folder.archive(),
            &RebuildOptions::default(),
            &mut |_, _| true,
        );
        done.unwrap().unwrap().exchanges["gate"]
    };
    let done = again();
    assert_eq!((done.new, done.doubtful), (0, 1), "{done:?}");
    assert_stored(&folder.archive(), &[]);
    // As a decoder would have read it that took the price for ten times as much.
    let file = folder.archive().join("quarantine.jsonl");
    let quarantined = std::fs::read_to_string(&file).unwrap();
    let mut line: serde_json::Value = serde_json::from_str(quarantined.trim_end()).unwrap();
    for figure in ["price", "value_usd"] {
        let figure = &mut line["quarantined"][figure];
        let ten_times = figure.as_str().unwrap().parse::<Decimal>().unwrap() * Decimal::TEN;
        *figure = ten_times.to_string().into();
    }
    std::fs::write(&file, format!("{line}\n")).unwrap();
    let done = again();
    assert_eq!((done.new, done.doubtful), (1, 0), "{done:?}");
    assert_stored(&folder.archive(), &wrong);
}
