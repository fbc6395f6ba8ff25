//! What was missed is asked for until it is told, what comes late is asked for once more, and what became of a gap is
//! written down.

use liqdata::archive::{Archive, GapState, Outcome};
use liqdata::market::Market;
use liqdata::model::Millis;

use crate::bench::{Collecting, Doubles, Folder, assert_kept, gaps, orders, quick};
use crate::doubles::{Act, Ending, Tally};

const OF_OKX: &str = "/api/v5/public/liquidation-orders";

fn outcomes(folder: &Folder, venue: &str) -> Vec<Outcome> {
    let archive = Archive::read(folder.archive()).unwrap();
    let mut outcomes = archive
        .outcomes(Millis(0), Millis(i64::MAX / 2), None)
        .unwrap();
    outcomes.retain(|outcome| outcome.exchange == venue);
    outcomes
}

/// Whether all gaps of a venue have come to this, and there are so many at least.
fn have_become(folder: &Folder, venue: &str, count: usize, state: GapState) -> bool {
    let market = Market::open(folder.archive(), None).unwrap();
    let gaps = market.gaps(None, (None, None)).unwrap();
    let mut of_venue = gaps.iter().filter(|gap| gap.exchange == venue).peekable();
    let found = of_venue.clone().count();
    of_venue.peek().is_some() && found >= count && of_venue.all(|gap| gap.state == state)
}

fn failures(tally: &Tally) -> usize {
    let failed = tally
        .rest
        .iter()
        .filter(|one| one.path.starts_with(OF_OKX) && one.status == 503);
    failed.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_is_asked_for_until_it_is_told_and_once_more_for_what_comes_late() {
    let (folder, doubles) = (Folder::new(), Doubles::open(&["okx"]).await);
    let okx = doubles.of("okx");
    let mut settings = quick();
    settings.pace.late = 2.0;
    let collecting = Collecting::start(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    // What is asked for at the start may tell of what happens meanwhile.
    collecting
        .until("the past is told", |_| !outcomes(&folder, "okx").is_empty())
        .await;
    let mut happened = okx.liquidate(5);
    collecting.until_kept(5).await;
    okx.fault(|faults| faults.broken = vec![OF_OKX.to_owned()]);
    let before = failures(&okx.tally());
    okx.act(Act::Disconnect(Ending::Close));
    let missed = okx.imagine(std::iter::repeat_n(okx.book().now(), 7));
    okx.record(&missed);
    happened.extend(missed);
    // A request alone is tried five times.
    okx.until(|tally| failures(tally) >= before + 7).await;
    assert!(outcomes(&folder, "okx").iter().all(|one| one.rows == 0));
    okx.mend();
    collecting.until_kept(happened.len()).await;
    // Told by the venue only after it has been asked.
    let [gap] = gaps(&folder.archive()).try_into().unwrap();
    let late = okx.imagine([gap.start.0]);
    okx.record(&late);
    happened.extend(late);
    collecting.until_kept(happened.len()).await;
    collecting
        .until("the gap is known to be recovered", |_| {
            have_become(&folder, "okx", 1, GapState::Recovered)
        })
        .await;
    collecting.stop().await;
    assert_kept(&folder.archive(), &happened);
    let market = Market::open(folder.archive(), None).unwrap();
    let told = market.gaps(None, (None, None)).unwrap();
    let [told] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!((told.start, told.end), (gap.start, gap.end));
    // What happened within the margin of another stretch may have been told with that one.
    assert!(
        told.recovered.is_some_and(|rows| (7..=13).contains(&rows)),
        "{told:?}"
    );
    assert!(told.recovered_at.is_some_and(|at| at >= gap.end.on(2000)));
    assert_eq!(told.topic, None);
    // At the time it was not known yet.
    let then = market.gaps(Some(gap.recorded_at), (None, None)).unwrap();
    assert_eq!(
        then.first().map(|gap| gap.state),
        Some(GapState::Open),
        "{then:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_asked_for_is_lost_and_a_restart_settles_what_was_left_open() {
    let (folder, doubles) = (Folder::new(), Doubles::open(&["binance", "okx"]).await);
    let mut settings = quick();
    settings.pace.late = 0.05;
    let plan = doubles.plan(settings);
    let okx = doubles.of("okx");
    let collecting = Collecting::start(&folder.archive(), &plan);
    collecting.until_live().await;
    okx.fault(|faults| faults.broken = vec![OF_OKX.to_owned()]);
    for exchange in doubles.0.values() {
        exchange.act(Act::Disconnect(Ending::Reset));
    }
    collecting
        .until("both are back", |status| {
            status.venues.iter().all(|one| one.gaps > 0)
        })
        .await;
    collecting
        .until("that of binance is lost", |_| {
            have_become(&folder, "binance", 1, GapState::Lost)
        })
        .await;
    collecting.stop().await;
    assert!(have_become(&folder, "okx", 1, GapState::Open));
    okx.mend();
    let missed = okx.imagine([okx.book().now()]);
    okx.record(&missed);
    let collecting = Collecting::start(&folder.archive(), &plan);
    collecting
        .until("all of okx is recovered", |_| {
            have_become(&folder, "okx", 2, GapState::Recovered)
        })
        .await;
    collecting
        .until("the restart of binance is lost, too", |_| {
            have_become(&folder, "binance", 2, GapState::Lost)
        })
        .await;
    collecting.stop().await;
    assert_eq!(orders(&folder.archive()).len(), 1);
    let archive = Archive::read(folder.archive()).unwrap();
    let now = Millis(okx.book().now());
    let coverage = archive.coverage(now.back(60_000), now).unwrap();
    let of = |venue: &str| coverage.iter().find(|one| one.exchange == venue).unwrap();
    assert_eq!(
        (of("okx").recovered, of("binance").recovered),
        (Some(1), Some(0))
    );
}
