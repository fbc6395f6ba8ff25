//! Cooldowns of requests and of handshakes: each on its own, and over a restart.

use std::time::Duration;

use crate::bench::{Doubles, Folder, quick};
use crate::doubles::{Exchange, Limit, Tally};

const HOUR: Limit = Limit {
    status: 418,
    retry_after: Some(3600),
};

/// Starts a collector twice, the second time with an exchange that refuses nothing any more. `said` is in the trouble of
/// the first, and the second adds nothing to the count of `banned`.
async fn left_alone(
    refuse: impl Fn(&Exchange),
    said: &str,
    banned: fn(&Tally) -> usize,
    others: fn(&Tally) -> usize,
) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    refuse(okx);
    let plan = doubles.plan(quick());
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting
        .until_of("okx", "it is left alone", |one| {
            let trouble = one.trouble.as_ref();
            trouble.is_some_and(|trouble| trouble.contains(said))
        })
        .await;
    collecting.stop().await;
    okx.mend();
    let (before, others_before) = (banned(&okx.tally()), others(&okx.tally()));
    let collecting = doubles.collect(&folder.archive(), &plan);
    // Everything that is not banned continues.
    okx.until(|tally| others(tally) > others_before).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let status = collecting.of("okx");
    collecting.stop().await;
    assert_eq!(banned(&okx.tally()), before, "{status:?}");
    assert!(status.troubles > 0, "{status:?}");
}

fn requests(tally: &Tally) -> usize {
    tally.rest.len()
}

fn handshakes(tally: &Tally) -> usize {
    tally.sockets.len()
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_of_requests_outlives_a_restart_and_delays_no_connection() {
    let refuse = |okx: &Exchange| okx.fault(|faults| faults.rest = Some(HOUR));
    left_alone(refuse, "no requests for 3600 s", requests, handshakes).await;
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_of_handshakes_outlives_a_restart_and_delays_no_request() {
    let refuse = |okx: &Exchange| okx.fault(|faults| faults.handshake = Some(HOUR));
    left_alone(refuse, "next attempt in 3600 s", handshakes, requests).await;
}
