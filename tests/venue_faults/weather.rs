//! Garbage on the wire: counted, and over with.

use crate::bench::{Collecting, Doubles, Folder, assert_kept, quick};
use crate::doubles::{Act, Garbage};

/// Whether the connection cannot go on after it.
fn is_fatal(garbage: Garbage) -> bool {
    match garbage {
        Garbage::InvalidUtf8 | Garbage::Huge | Garbage::HugeHead | Garbage::BadOpcode => true,
        Garbage::Binary | Garbage::TruncatedJson | Garbage::Alien => false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_counted_and_the_collecting_goes_on() {
    let folder = Folder::new();
    let doubles = Doubles::open(&["binance"]).await;
    let exchange = doubles.of("binance");
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for garbage in [
        Garbage::Binary,
        Garbage::TruncatedJson,
        Garbage::Alien,
        Garbage::InvalidUtf8,
        Garbage::BadOpcode,
        Garbage::HugeHead,
        Garbage::Huge,
    ] {
        happened.extend(exchange.liquidate(5));
        collecting.until_kept(happened.len()).await;
        let before = collecting.of("binance");
        let sockets = exchange.tally().subscribed.len();
        exchange.act(Act::Garbage(garbage));
        let after = collecting
            .until_of("binance", "it is counted", |one| {
                one.rejected > before.rejected
            })
            .await;
        assert_eq!(
            after.rejected,
            before.rejected + 1,
            "{garbage:?}: {after:?}"
        );
        if is_fatal(garbage) {
            exchange
                .until(|tally| tally.subscribed.len() >= sockets + 2)
                .await;
            collecting
                .until_of("binance", "a gap is recorded", |one| one.gaps > before.gaps)
                .await;
        }
        collecting.until_live().await;
        let now = collecting.of("binance");
        assert_eq!(
            now.gaps,
            before.gaps + u64::from(is_fatal(garbage)),
            "{garbage:?}: {now:?}"
        );
    }
    happened.extend(exchange.liquidate(5));
    collecting.until_kept(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_kept(&archive, &happened);
    let aside = std::fs::read_to_string(archive.join("quarantine.jsonl")).unwrap();
    assert_eq!(aside.lines().count(), 7, "{aside}");
}
