//! Backfill of orders, and the history of bars and open interest.

use liqdata::archive::{Archive, Filter};
use liqdata::collect::Settings;
use liqdata::model::{Millis, PeriodLength};

use crate::bench::{Doubles, Folder, assert_stored, gaps, quick};
use crate::doubles::{Act, Ending};

/// The venues with the same liquidations by REST as on the socket.
const ASKABLE: [&str; 8] = [
    "okx", "bitget", "htx", "kraken", "deribit", "dydx", "bitfinex", "coinex",
];

#[tokio::test(start_paused = true)]
async fn a_restart_gives_the_rows_of_an_uninterrupted_run() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&ASKABLE));
    let plan = doubles.plan(quick());
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(30));
    }
    collecting.until_stored(happened.len()).await;
    collecting.stop().await;
    // The collector is stopped.
    for exchange in doubles.exchanges().values() {
        let unsent = exchange.imagine(std::iter::repeat_n(exchange.book().now(), 150));
        exchange.record(&unsent);
        happened.extend(unsent);
    }
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(30));
    }
    collecting
        .until("all is there", |status| {
            let archive = Archive::read(folder.archive()).unwrap();
            let rows = archive.orders(&Filter::default()).unwrap().rows.len();
            assert_eq!(status.venues.iter().map(|one| one.lost).sum::<u64>(), 0);
            rows >= happened.len()
        })
        .await;
    for (venue, exchange) in doubles.exchanges() {
        let over = exchange.tally().over_limit;
        assert!(over.is_empty(), "{venue}: {over:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert!(gaps(&archive).iter().any(|gap| gap.exchange == "okx"));
}

#[tokio::test(start_paused = true)]
async fn orders_during_a_disconnection_are_backfilled() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bitget"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let bitget = doubles.of("bitget");
    let mut happened = bitget.liquidate(10);
    collecting.until_stored(10).await;
    bitget.act(Act::Disconnect(Ending::Close));
    let unsent = bitget.imagine(std::iter::repeat_n(bitget.book().now(), 10));
    bitget.record(&unsent);
    happened.extend(unsent);
    collecting.until_stored(20).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert_eq!(
        gaps(&archive)
            .iter()
            .filter(|gap| gap.exchange == "bitget")
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_backfill_does_not_stop_the_live_feed() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    okx.fault(|faults| faults.gone = vec!["/api/v5/public/liquidation-orders".to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let happened = okx.liquidate(10);
    collecting.until_stored(10).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    assert!(okx.tally().requests_to("/api/v5/public/liquidation-orders") >= 1);
}

fn of_a_day() -> Settings {
    Settings {
        coins: vec!["BTC".to_owned()],
        history_days: 1,
        backfill_hours: Some(0),
        ..quick()
    }
}

#[tokio::test(start_paused = true)]
async fn a_day_of_bars_and_open_interest_is_requested_once() {
    let venues = ["binance", "bybit", "okx"];
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&venues));
    let mut plan = doubles.plan(of_a_day());
    plan.once = true;
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting
        .until("the past is filled", |status| {
            status.is_filled && collecting.is_over()
        })
        .await;
    let requests = doubles.of("okx").tally().rest.len();
    collecting.stop().await;
    let archive = Archive::read(folder.archive()).unwrap();
    for venue in venues {
        let filter = Filter {
            exchange: Some(venue.to_owned()),
            ..Filter::default()
        };
        let bars = archive
            .bars(&filter, PeriodLength::Fixed(Millis::MINUTE))
            .unwrap()
            .rows;
        assert_eq!(bars.len(), 1440, "{venue}");
        assert!(
            bars.windows(2)
                .all(|pair| pair[0].timestamp.0 + Millis::MINUTE == pair[1].timestamp.0)
        );
        let readings = archive.open_interest(&filter).unwrap().rows;
        assert!(
            (286..=290).contains(&readings.len()),
            "{venue}: {}",
            readings.len()
        );
        let tally = doubles.of(venue).tally();
        assert!(
            tally.over_limit.is_empty(),
            "{venue}: {:?}",
            tally.over_limit
        );
    }
    drop(archive);
    // Only the time since then is requested.
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting
        .until("it is over", |_| collecting.is_over())
        .await;
    collecting.stop().await;
    let later = &doubles.of("okx").tally().rest[requests..];
    let again = later
        .iter()
        .filter(|one| one.path.contains("candles") || one.path.contains("open-interest"))
        .count();
    assert!(again <= 2, "{later:?}");
}

#[tokio::test(start_paused = true)]
async fn bars_are_requested_as_they_close() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let plan = doubles.plan(of_a_day());
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting
        .until_of("bybit", "bars are there", |one| {
            one.bars >= 1440 && one.open_interest > 280
        })
        .await;
    let requests = doubles
        .of("bybit")
        .tally()
        .requests_to("/v5/market/open-interest");
    doubles
        .of("bybit")
        .until(|tally| tally.requests_to("/v5/market/open-interest") > requests)
        .await;
    let status = collecting.of("bybit");
    assert_eq!(status.rejected, 0, "{status:?}");
    collecting.stop().await;
}
