//! Refused handshakes: no attempts during the cooldown, live soon after, and all of it is a gap.

use std::sync::Arc;
use std::time::Duration;

use liqdata::archive::Archive;
use liqdata::collect::{Settings, VenueState};
use liqdata::model::Millis;
use tokio::time::{Instant, sleep, sleep_until};

use super::run::{Process, WRITES, doubles, plan};
use super::virtual_environment::{BEGINNING, Globe, Lags, in_its_own_time, true_clock};
use crate::bench::Folder;
use crate::doubles::{Act, Ending, Limit};

/// The longest that anything else takes: the wait before it is tried again, and a handshake with its subscriptions.
const BACK: Duration = Duration::from_secs(75);

/// Lets a venue refuse handshakes for a moment, and looks at what becomes of it for as long as that `lasts`.
async fn is_left_alone(venue: &'static str, limit: Limit, lasts: Duration) {
    let folder = Folder::new();
    let archive = folder.archive();
    let time = true_clock();
    let venues = doubles(&[venue], 1, &time);
    let exchange = &venues[venue];
    let settings = Settings {
        history_days: 0,
        backfill_hours: Some(0),
        ..Settings::default()
    };
    let lags: Lags = Arc::new([(venue, Arc::default())].into());
    let globe = Globe::new(Arc::clone(&time), Arc::clone(&venues), lags, 0);
    let process = Process::start(&archive, globe, &plan(&venues, settings), WRITES);
    sleep(Duration::from_mins(3)).await;
    let state = || process.listening.status().venues[0].state;
    assert_eq!(state(), VenueState::Live);
    let (refused, since) = (Instant::now(), (time)());
    exchange.fault(|faults| faults.handshake = Some(limit));
    exchange.act(Act::Disconnect(Ending::Close));
    // Every socket is tried again within the first wait, and sees it.
    sleep(Duration::from_secs(5)).await;
    exchange.mend();
    let known = exchange.tally().connections.len();
    assert!(exchange.tally().open == 0, "all are refused");
    sleep_until(refused + lasts).await;
    let tried = exchange.tally().connections.len() - known;
    assert_eq!(tried, 0, "{venue}: tried meanwhile");
    let at_least = (time)();
    sleep(BACK).await;
    assert_eq!(state(), VenueState::Live);
    process.stop().await;
    let archive = Archive::read(&archive).unwrap();
    let gaps = archive
        .coverage()
        .gaps(Millis(BEGINNING), Millis(i64::MAX / 2))
        .unwrap();
    let mut gaps = gaps
        .iter()
        .filter(|gap| gap.start.0 <= since && gap.end.0 >= at_least);
    assert!(
        gaps.next().is_some(),
        "{venue}: {:?}",
        archive.coverage().gaps(Millis(0), Millis(i64::MAX / 2))
    );
}

#[test]
fn no_handshake_is_sent_before_a_cooldown_is_over() {
    for status in [403, 418, 429] {
        let limit = Limit {
            status,
            retry_after: Some(1200),
        };
        in_its_own_time(is_left_alone("binance", limit, Duration::from_mins(20)));
    }
}

#[test]
fn bybit_is_not_connected_for_ten_minutes_after_a_handshake_with_403() {
    let limit = Limit {
        status: 403,
        retry_after: None,
    };
    in_its_own_time(is_left_alone("bybit", limit, Duration::from_mins(10)));
}
