//! A collector that is off for days: the outage is backfilled, unless the settings limit that.

use std::sync::Arc;
use std::time::Duration;

use liqdata::archive::{Archive, GapState};
use liqdata::collect::Settings;
use liqdata::model::Millis;
use tokio::time::sleep;

use super::run::{Process, WRITES, doubles, plan};
use super::virtual_environment::{Globe, Lags, in_its_own_time, true_clock};
use crate::bench::{Folder, orders};

/// Stops for three days, in the middle of which an order happens; how many orders are stored, and the milliseconds that are
/// recovered.
async fn is_off(backfill_hours: Option<u32>) -> (usize, i64) {
    let folder = Folder::new();
    let archive = folder.archive();
    let time = true_clock();
    let venues = doubles(&["okx"], 1, &time);
    let okx = &venues["okx"];
    let settings = Settings {
        coins: Vec::new(),
        history_days: 0,
        backfill_hours,
        ..Settings::default()
    };
    let plan = plan(&venues, settings);
    let start = || {
        let lags: Lags = Arc::new([("okx", Arc::default())].into());
        let globe = Globe::new(Arc::clone(&time), Arc::clone(&venues), lags, 0);
        Process::start(&archive, globe, &plan, WRITES)
    };
    let process = start();
    sleep(Duration::from_mins(20)).await;
    process.stop().await;
    sleep(Duration::from_hours(36)).await;
    okx.record(&okx.imagine([(time)()]));
    sleep(Duration::from_hours(36)).await;
    let process = start();
    sleep(Duration::from_mins(30)).await;
    process.stop().await;
    let outcomes = Archive::read(&archive).unwrap();
    let outcomes = outcomes
        .coverage()
        .outcomes(Millis(0), Millis(i64::MAX / 2), None);
    let outcomes = outcomes.unwrap().into_iter();
    let recovered = outcomes.filter(|one| one.outcome == GapState::Recovered);
    let long = recovered.map(|one| one.end.0 - one.start.0).max();
    (orders(&archive).len(), long.unwrap_or(0))
}

#[test]
fn a_restart_backfills_as_far_as_the_exchange_allows_unless_limited() {
    let (stored, recovered) = in_its_own_time(is_off(None));
    assert_eq!(stored, 1);
    assert!(recovered >= 72 * Millis::HOUR, "{recovered}");
    let (stored, recovered) = in_its_own_time(is_off(Some(24)));
    assert_eq!(stored, 0);
    assert!(recovered <= 25 * Millis::HOUR, "{recovered}");
}
