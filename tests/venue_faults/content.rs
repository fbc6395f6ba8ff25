//! Messages that changed: markets nobody knows, members that come and go, rows that come late, requests that are gone.

use crate::bench::{Collecting, Doubles, Folder, assert_kept, orders, quick};
use crate::doubles::Limit;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_market_nobody_knows_waits_until_it_is_listed_and_holds_up_no_other() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["binance", "okx"]).await;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for (venue, unknown) in [("binance", "NEWUSD_PERP"), ("okx", "NEW-USDT-SWAP")] {
        let exchange = doubles.of(venue);
        let now = exchange.book().now();
        let new = exchange.imagine_of(unknown, [now, now, now + 1]);
        exchange.publish(&new);
        collecting
            .until_of(venue, "the rows are held", |one| one.held == 3)
            .await;
        happened.extend(exchange.liquidate(20));
        collecting.until_kept(happened.len()).await;
        assert_eq!(
            collecting.of(venue).held,
            3,
            "they wait, none is guessed at"
        );
        exchange.book().announce(unknown);
        happened.extend(new);
        collecting.until_kept(happened.len()).await;
        let status = collecting
            .until_of(venue, "none is held", |one| one.held == 0)
            .await;
        assert_eq!((status.rejected, status.unpriced), (0, 0), "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_market_that_is_never_listed_is_given_up_and_counted() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["okx"]).await;
    let exchange = doubles.of("okx");
    let mut settings = quick();
    settings.pace.hold = 0.3;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let now = exchange.book().now();
    exchange.publish(&exchange.imagine_of("NEW-USDT-SWAP", [now, now]));
    let status = collecting
        .until_of("okx", "they are given up", |one| one.unpriced == 2)
        .await;
    assert_eq!(status.held, 0);
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &[]);
    let aside = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert_eq!(
        aside
            .lines()
            .filter(|line| line.contains("NEW-USDT-SWAP"))
            .count(),
        2,
        "{aside}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_members_do_no_harm_and_missing_ones_cost_their_rows_alone() {
    for (venue, needed) in [("binance", "z"), ("bybit", "v"), ("okx", "bkPx")] {
        let folder = Folder::new();
        let doubles = Doubles::open(&[venue]).await;
        let exchange = doubles.of(venue);
        let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
        collecting.until_live().await;
        exchange.fault(|faults| faults.new_field = true);
        let mut happened = exchange.liquidate(20);
        collecting.until_kept(20).await;
        assert_eq!(collecting.of(venue).rejected, 0);
        exchange.mend();
        exchange.fault(|faults| faults.removed_field = Some(needed.to_owned()));
        exchange.liquidate(6);
        exchange.drained().await;
        exchange.mend();
        happened.extend(exchange.liquidate(20));
        let status = collecting.until_kept(40).await;
        assert_eq!(status.venues[0].rejected, 6, "{status:?}");
        assert_eq!(status.venues[0].gaps, 0, "nobody hung up: {status:?}");
        let archive = folder.archive();
        collecting.stop().await;
        assert_kept(&archive, &happened);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_back_fill_that_is_gone_does_not_stop_the_live_feed() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["okx"]).await;
    let exchange = doubles.of("okx");
    exchange.fault(|faults| {
        faults
            .gone
            .push("/api/v5/public/liquidation-orders".to_owned());
    });
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    exchange
        .until(|tally| tally.asked("/api/v5/public/liquidation-orders") > 0)
        .await;
    let mut happened = exchange.liquidate(20);
    // One that comes eight minutes late lands where it happened.
    let late = exchange.book().now() - 8 * 60_000;
    happened.extend(exchange.liquidate_at([late]));
    collecting.until_kept(21).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    let rows = orders(&archive);
    assert!(
        rows.iter()
            .any(|row| row.order.timestamp.0 == late && row.received_at.0 >= late + 8 * 60_000)
    );
    let asked = exchange.tally().asked("/api/v5/public/liquidation-orders");
    assert_eq!(asked, 1, "what is gone is not asked for again and again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_is_waited_for() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["bybit"]).await;
    let exchange = doubles.of("bybit");
    exchange.fault(|faults| {
        faults.rest = Some(Limit {
            status: 429,
            retry_after: Some(1),
        });
        faults.rest_times = Some(1);
    });
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let asked = exchange.tally().rest;
    assert_eq!(asked[0].status, 429);
    let waited = asked[1].at.duration_since(asked[0].at);
    assert!(waited.as_millis() >= 1000, "asked again after {waited:?}");
    let happened = exchange.liquidate(5);
    collecting.until_kept(5).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bad_topic_costs_no_other() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["bybit"]).await;
    let exchange = doubles.of("bybit");
    exchange.fault(|faults| faults.bad_topics.push("allLiquidation.SOLUSDT".to_owned()));
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    let status = collecting
        .until_of("bybit", "all but one are covered", |one| {
            one.uncovered_count == 1
        })
        .await;
    assert!(
        status.uncovered[0].contains("allLiquidation.SOLUSDT"),
        "{status:?}"
    );
    let now = exchange.book().now();
    let mut happened = Vec::new();
    for market in [
        "BTCUSDT",
        "ETHUSDT",
        "SHIB1000USDT",
        "BTCPERP",
        "BTCUSD",
        "ETHUSD",
    ] {
        happened.extend(exchange.imagine_of(market, [now]));
    }
    exchange.publish(&happened);
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
}
