//! Rows of an unknown market wait for its contract size, and the wait is recorded as a gap.

use std::path::Path;

use liqdata::archive::Archive;
use liqdata::collect::Settings;
use liqdata::model::{CoverageGap, GapState, Millis};

use crate::bench::{Doubles, Folder, assert_stored, quick};
use crate::doubles::{Exchange, Limit, Truth};

/// Settings under which a row waits for so many seconds.
fn patient(hold: f64) -> Settings {
    let mut settings = quick();
    settings.pace.pending = hold;
    settings
}

/// Liquidations of an unlisted market, sent just now.
fn of_unlisted(exchange: &Exchange, count: i64) -> Vec<Truth> {
    let book = exchange.book();
    let unlisted = book.markets.iter().find(|market| !market.listed).unwrap();
    let now = book.now();
    let happened = exchange.imagine_of(unlisted.native_id, (0..count).map(|on| now + on));
    exchange.publish(&happened);
    happened
}

/// The recorded gaps of topics.
fn of_topics(archive: &Path) -> Vec<CoverageGap> {
    let archive = Archive::read(archive).unwrap();
    let mut gaps = archive
        .coverage()
        .gap_statuses(Millis(0), Millis(i64::MAX / 2), None)
        .unwrap();
    gaps.retain(|one| one.topic.is_some());
    gaps
}

/// Checks that these are the recorded gaps, each with this state.
fn assert_on_record(archive: &Path, happened: &[Truth], state: GapState) {
    let gaps = of_topics(archive);
    assert_eq!(gaps.len(), happened.len(), "{gaps:?}");
    for truth in happened {
        let is_it = |one: &&CoverageGap| {
            let is_then = (one.start.0..one.end.0).contains(&truth.time);
            is_then && one.topic.as_deref() == Some(truth.native_id())
        };
        let one = gaps.iter().find(is_it);
        assert_eq!(one.map(|one| one.state), Some(state), "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_of_an_unknown_market_waits_until_the_market_is_listed() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(patient(60.0)));
    collecting.until_live().await;
    let okx = doubles.of("okx");
    let late = of_unlisted(okx, 2);
    collecting
        .until_of("okx", "two rows wait", |one| one.pending == 2)
        .await;
    let mut happened = okx.liquidate(5);
    collecting.until_stored(5).await;
    assert_on_record(&folder.archive(), &late, GapState::Open);
    okx.book().announce(late[0].native_id());
    collecting.until_stored(7).await;
    assert_eq!(collecting.of("okx").pending, 0);
    assert_eq!(collecting.of("okx").unpriced, 0);
    let archive = folder.archive();
    collecting.stop().await;
    assert_on_record(&archive, &late, GapState::Recovered);
    happened.extend(late);
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_row_with_an_unknown_market_is_lost_by_name_in_the_end() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(patient(0.2)));
    collecting.until_live().await;
    let late = of_unlisted(doubles.of("okx"), 1);
    collecting
        .until_of("okx", "it is given up", |one| one.unpriced == 1)
        .await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &[]);
    assert_on_record(&archive, &late, GapState::Lost);
    let quarantined = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert!(quarantined.contains(late[0].native_id()), "{quarantined}");
}

#[tokio::test(start_paused = true)]
async fn a_row_waits_while_the_markets_cannot_be_read() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["gate"]));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(patient(0.1)));
    collecting.until_live().await;
    let gate = doubles.of("gate");
    let broken = Limit {
        status: 503,
        retry_after: None,
    };
    gate.fault(|faults| faults.rest = Some(broken));
    let late = of_unlisted(gate, 1);
    gate.book().announce(late[0].native_id());
    gate.until(|tally| {
        let refused = tally.rest.iter().filter(|one| one.status == 503);
        refused.count() >= 3
    })
    .await;
    assert_eq!(collecting.of("gate").pending, 1);
    gate.mend();
    collecting.until_stored(1).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &late);
    let states: Vec<GapState> = of_topics(&archive).iter().map(|one| one.state).collect();
    assert_eq!(states, [GapState::Recovered]);
}
