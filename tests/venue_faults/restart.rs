//! A collector that was stopped, and what happened meanwhile.

use std::collections::BTreeSet;

use crate::bench::{Collecting, Doubles, Folder, Told, assert_kept, gaps, orders, quick, told};
use crate::doubles::Truth;

fn kept(folder: &Folder) -> BTreeSet<Told> {
    orders(&folder.archive()).iter().map(told).collect()
}

/// Two collectors hear the same venue; one of them is stopped after `before` of the events and started again after
/// `missed` more.
async fn restarted(venue: &'static str, before: usize, missed: usize) {
    let doubles = Doubles::open(&[venue]).await;
    let exchange = doubles.of(venue);
    let (whole, broken) = (Folder::new(), Folder::new());
    let unbroken = Collecting::start(&whole.archive(), &doubles.plan(quick()));
    let collecting = Collecting::start(&broken.archive(), &doubles.plan(quick()));
    unbroken.until_live().await;
    collecting.until_live().await;
    let mut happened: Vec<Truth> = exchange.liquidate(before);
    collecting.until_kept(happened.len()).await;
    collecting.stop().await;

    happened.extend(exchange.liquidate(missed));
    unbroken.until_kept(happened.len()).await;

    let collecting = Collecting::start(&broken.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    happened.extend(exchange.liquidate(20));
    collecting.until_kept(happened.len() - before).await;
    unbroken.until_kept(happened.len()).await;
    collecting.stop().await;
    unbroken.stop().await;
    assert_kept(&whole.archive(), &happened);
    assert_eq!(kept(&broken), kept(&whole));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_in_the_middle_with_a_back_fill_keeps_what_an_unbroken_one_keeps() {
    for (before, missed) in [(0, 7), (25, 1), (40, 250), (1, 30)] {
        restarted("okx", before, missed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_while_a_connection_was_down_is_asked_for() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["okx"]).await;
    let exchange = doubles.of("okx");
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = exchange.liquidate(10);
    collecting.until_kept(10).await;
    exchange.fault(|faults| {
        faults.handshake = Some(crate::doubles::Limit {
            status: 503,
            retry_after: None,
        });
    });
    exchange.act(crate::doubles::Act::Disconnect(
        crate::doubles::Ending::Reset,
    ));
    exchange.until(|tally| tally.open == 0).await;
    happened.extend(exchange.liquidate(130));
    exchange.mend();
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    assert_eq!(
        gaps(&archive).len(),
        1,
        "the gap is named although it was filled"
    );
}
