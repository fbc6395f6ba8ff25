//! Dropped events are counted in the archive by exchange and day; so is the offset of the clock.

use std::sync::Arc;

use liqdata::archive::{Archive, Filter};
use liqdata::collect::Settings;
use liqdata::model::{Millis, PeriodLength, VenueCoverage};

use crate::bench::{Doubles, Folder, assert_stored, gaps, quick};
use crate::doubles::{Act, Garbage, Setup};

fn coverage(folder: &Folder, doubles: &Doubles, venue: &str) -> Option<VenueCoverage> {
    let archive = Archive::read(folder.archive()).unwrap();
    let now = Millis(doubles.of(venue).book().now());
    // The clocks of the doubles are off by less than that.
    let coverage = archive
        .coverage()
        .by_exchange(now.back(600_000), now.on(600_000))
        .unwrap();
    coverage.into_iter().find(|one| one.exchange == venue)
}

#[tokio::test(start_paused = true)]
async fn dropped_events_are_counted_by_exchange_and_day() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["gate", "okx"]));
    let mut settings = quick();
    settings.pace.pending = 0.2;
    settings.dead_letter_bytes = 10;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    collecting
        .until("that it is counted is on record", |_| {
            let found = |venue| coverage(&folder, &doubles, venue).and_then(|one| one.rejected);
            (found("gate"), found("okx")) == (Some(0), Some(0))
        })
        .await;
    let (gate, okx) = (doubles.of("gate"), doubles.of("okx"));
    okx.act(Act::Garbage(Garbage::Alien));
    // Of a market that no list names, such as one that is settled in another coin than it is worth in.
    let now = gate.book().now();
    gate.publish(&gate.imagine_of("NEW_USDT", [now, now + 1]));
    collecting
        .until("both are counted", |_| {
            let gate = coverage(&folder, &doubles, "gate").unwrap();
            let okx = coverage(&folder, &doubles, "okx").unwrap();
            let of_gate = (gate.rejected, gate.unpriced, gate.quarantined);
            let of_okx = (okx.rejected, okx.unpriced, okx.quarantined);
            of_gate == (Some(0), Some(2), Some(0)) && of_okx == (Some(1), Some(0), Some(0))
        })
        .await;
    let status = collecting.status();
    let trouble = status.venues.iter().find_map(|one| one.trouble.clone());
    collecting.stop().await;
    // The same from the disk.
    assert_eq!(
        coverage(&folder, &doubles, "gate").unwrap().unpriced,
        Some(2)
    );
    assert!(
        trouble.is_some_and(|trouble| trouble.contains("dead_letter_bytes")),
        "{status:?}"
    );
}

/// A double with a clock that is ahead of this machine's by so much.
fn ahead(venue: &'static str, millis: i64) -> Doubles {
    Doubles::in_memory_with(&[venue], |setup| {
        let machine = Arc::clone(&setup.clock);
        Setup {
            clock: Arc::new(move || machine() + millis),
            ..setup
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_slow_clock_rejects_no_event_and_is_reported() {
    let folder = Folder::new();
    let doubles = ahead("bitget", 90_000);
    let bitget = doubles.of("bitget");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let happened = bitget.liquidate(10);
    collecting.until_stored(10).await;
    let status = collecting.of("bitget");
    assert_eq!(status.rejected, 0, "{status:?}");
    let about =
        |ahead: Option<i64>| ahead.is_some_and(|ahead| (-92_000..=-80_000).contains(&ahead));
    assert!(about(status.clock_ahead), "{status:?}");
    collecting
        .until("it is on record", |_| {
            coverage(&folder, &doubles, "bitget").is_some_and(|one| about(one.clock_ahead))
        })
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    assert!(gaps(&folder.archive()).is_empty());
}

async fn stores_no_open_bar(venue: &'static str) {
    let folder = Folder::new();
    // This machine is two minutes and more ahead.
    let doubles = ahead(venue, -150_000);
    let exchange = doubles.of(venue);
    let settings = Settings {
        coins: vec!["BTC".to_owned()],
        history_days: 1,
        backfill_hours: Some(0),
        ..quick()
    };
    let mut plan = doubles.plan(settings);
    plan.settings.pace.settle = 5.0;
    plan.once = true;
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting
        .until("the past is filled", |status| {
            status.is_filled && collecting.is_over()
        })
        .await;
    let there = Millis(exchange.book().now());
    collecting.stop().await;
    let archive = Archive::read(folder.archive()).unwrap();
    let bars = archive
        .bars(&Filter::default(), PeriodLength::Fixed(Millis::MINUTE))
        .unwrap()
        .rows;
    let last = bars.iter().map(|bar| bar.timestamp).max().unwrap();
    assert!(
        last.on(Millis::MINUTE) <= there,
        "{last} is open at {there}"
    );
    assert!(bars.len() > 1400, "{}", bars.len());
}

#[tokio::test(start_paused = true)]
async fn no_open_bar_of_binance_is_stored_if_the_clock_is_ahead() {
    stores_no_open_bar("binance").await;
}

#[tokio::test(start_paused = true)]
async fn no_open_bar_of_bybit_is_stored_if_the_clock_is_ahead() {
    stores_no_open_bar("bybit").await;
}

/// Failed requests of the start are repeated, not taken for done.
#[tokio::test(start_paused = true)]
async fn bars_of_a_failed_first_request_are_requested_again() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let bybit = doubles.of("bybit");
    let settings = Settings {
        coins: vec!["BTC".to_owned()],
        history_days: 1,
        backfill_hours: Some(0),
        ..quick()
    };
    bybit.fault(|faults| faults.broken = vec!["/v5/market/kline".to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting
        .until("the start is over", |status| status.is_filled)
        .await;
    assert_eq!(collecting.of("bybit").bars, 0);
    bybit.mend();
    collecting
        .until_of("bybit", "the day is there", |one| one.bars >= 1440)
        .await;
    collecting.stop().await;
}
