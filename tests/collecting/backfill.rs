//! Backfill until a gap is filled, once more for late data, and the recorded outcome of each gap.

use liqdata::archive::{Archive, GapOutcome, GapState};
use liqdata::collect::Settings;
use liqdata::market::Market;
use liqdata::model::{Millis, TimeRange};

use crate::bench::{Doubles, Folder, assert_stored, gaps, orders, quick};
use crate::doubles::{Act, Ending, Tally};

const OF_OKX: &str = "/api/v5/public/liquidation-orders";

fn outcomes(folder: &Folder, venue: &str) -> Vec<GapOutcome> {
    let archive = Archive::read(folder.archive()).unwrap();
    let mut outcomes = archive
        .coverage()
        .outcomes(Millis(0), Millis(i64::MAX / 2), None)
        .unwrap();
    outcomes.retain(|outcome| outcome.exchange == venue);
    outcomes
}

/// Whether all gaps of a venue have come to this, and there are so many at least.
fn have_become(folder: &Folder, venue: &str, count: usize, state: GapState) -> bool {
    let market = Market::open(folder.archive(), None).unwrap();
    let gaps = market.gaps(None, TimeRange::ALL).unwrap();
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

#[tokio::test(start_paused = true)]
async fn a_gap_is_backfilled_until_recovered_and_once_more_for_late_events() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    let mut settings = quick();
    settings.pace.late = 2.0;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    // The first backfill may report events that happen meanwhile.
    collecting
        .until("the backfill is complete", |_| {
            !outcomes(&folder, "okx").is_empty()
        })
        .await;
    let mut happened = okx.liquidate(5);
    collecting.until_stored(5).await;
    okx.fault(|faults| faults.broken = vec![OF_OKX.to_owned()]);
    let before = failures(&okx.tally());
    okx.act(Act::Disconnect(Ending::Close));
    let unsent = okx.imagine(std::iter::repeat_n(okx.book().now(), 7));
    okx.record(&unsent);
    happened.extend(unsent);
    // A request alone is tried five times.
    okx.until(|tally| failures(tally) >= before + 7).await;
    assert!(outcomes(&folder, "okx").iter().all(|one| one.rows == 0));
    okx.mend();
    collecting.until_stored(happened.len()).await;
    collecting
        .until("the gap is on record", |_| {
            !gaps(&folder.archive()).is_empty()
        })
        .await;
    // The venue reports this one only after the first request.
    let [gap] = gaps(&folder.archive()).try_into().unwrap();
    let late = okx.imagine([gap.start.0]);
    okx.record(&late);
    happened.extend(late);
    collecting.until_stored(happened.len()).await;
    collecting
        .until("the gap is known to be recovered", |_| {
            have_become(&folder, "okx", 1, GapState::Recovered)
        })
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    let market = Market::open(folder.archive(), None).unwrap();
    let answer = market.gaps(None, TimeRange::ALL).unwrap();
    let [served] = answer.as_slice() else {
        panic!("{answer:?}")
    };
    assert_eq!((served.start, served.end), (gap.start, gap.end));
    // Rows within the margin of another gap may have been recovered with that one.
    assert!(served.recovered.is_some_and(|rows| rows > 0), "{served:?}");
    let all = outcomes(&folder, "okx");
    let rows: u64 = all.iter().map(|one| one.rows).sum();
    assert!((8..=13).contains(&rows), "{all:?}");
    assert!(served.recovered_at.is_some_and(|at| at >= gap.end.on(2000)));
    assert_eq!(served.topic, None);
    // At the time it was not known yet.
    let then = market.gaps(Some(gap.recorded_at), TimeRange::ALL).unwrap();
    assert_eq!(
        then.first().map(|gap| gap.state),
        Some(GapState::Open),
        "{then:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_gap_without_history_is_lost_and_a_restart_settles_open_gaps() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["binance", "okx"]));
    let mut settings = quick();
    settings.pace.late = 0.05;
    let plan = doubles.plan(settings);
    let okx = doubles.of("okx");
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    okx.fault(|faults| faults.broken = vec![OF_OKX.to_owned()]);
    for exchange in doubles.exchanges().values() {
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
    let unsent = okx.imagine([okx.book().now()]);
    okx.record(&unsent);
    let collecting = doubles.collect(&folder.archive(), &plan);
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
    let coverage = archive
        .coverage()
        .by_exchange(now.back(60_000), now)
        .unwrap();
    let of = |venue: &str| coverage.iter().find(|one| one.exchange == venue).unwrap();
    assert_eq!(
        (of("okx").recovered, of("binance").recovered),
        (Some(1), Some(0))
    );
}

fn answered(tally: &Tally, path: &str) -> usize {
    let of_path = tally.rest.iter().filter(|one| one.path == path);
    of_path.filter(|one| one.status == 200).count()
}

#[tokio::test(start_paused = true)]
async fn no_gap_is_recovered_while_a_market_list_is_unknown() {
    const INVERSE: &str = "/swap-api/v3/swap_liquidation_orders";
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["htx"]));
    let htx = doubles.of("htx");
    let at = htx.book().now() - 60_000;
    let linear = htx.imagine_of("BTC-USDT", [at, at + 1, at + 2]);
    htx.record(&linear);
    htx.fault(|faults| faults.broken = vec!["/linear-swap-api/v1/swap_contract_info".to_owned()]);
    let mut settings = quick();
    settings.pace.late = 0.05;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    // Two of them; a request without the others is repeated.
    htx.until(|tally| answered(tally, INVERSE) > 2).await;
    assert!(outcomes(&folder, "htx").is_empty());
    assert_eq!(orders(&folder.archive()).len(), 0);
    htx.mend();
    collecting.until_stored(linear.len()).await;
    collecting
        .until("the backfill is complete", |_| {
            !outcomes(&folder, "htx").is_empty()
        })
        .await;
    collecting.stop().await;
    let outcomes = outcomes(&folder, "htx");
    assert!(
        outcomes
            .iter()
            .all(|one| one.outcome == GapState::Recovered)
    );
    assert_stored(&folder.archive(), &linear);
}

#[tokio::test(start_paused = true)]
async fn orders_of_a_market_before_it_closed_are_not_missing() {
    const LATE: i64 = 4000;
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["dydx"]));
    let dydx = doubles.of("dydx");
    let mut settings = quick();
    settings.pace.late = 4.0;
    settings.pace.instruments = 0.05;
    let begun = Millis(dydx.book().now());
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    dydx.until(|tally| {
        let markets = ["BTC", "ETH", "SOL"];
        let path = |coin| format!("/v4/trades/perpetualMarket/{coin}-USD");
        markets.iter().all(|coin| answered(tally, &path(coin)) > 0)
    })
    .await;
    dydx.book().withdraw("BTC-USD");
    let closed = || {
        let archive = Archive::read(folder.archive()).unwrap();
        let until = Millis(i64::MAX / 2);
        let mut gaps = archive
            .coverage()
            .topic_gaps(Millis(0), until, None)
            .unwrap();
        gaps.retain(|gap| gap.reason.starts_with("the market closed"));
        gaps
    };
    collecting
        .until("the rest of it is missing", |_| !closed().is_empty())
        .await;
    collecting
        .until("the backfill is complete", |_| {
            !outcomes(&folder, "dydx").is_empty()
        })
        .await;
    collecting.stop().await;
    // All but the newest rows, which may come late, of the hour of the backfill.
    let first = begun.back(2 * LATE);
    for gap in closed() {
        assert!(
            gap.topic.contains("BTC-USD") && gap.start >= first,
            "{gap:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn past_rows_of_a_subscription_that_find_no_room_are_no_gap_of_their_time() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["kraken"]));
    let kraken = doubles.of("kraken");
    let mut settings = quick();
    settings.pace.late = 0.05;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings.clone()));
    collecting.until_live().await;
    let now = kraken.book().now();
    let happened = kraken.liquidate_at((0..40).map(|number| now - 4000 + 100 * number));
    let last = happened.iter().map(|truth| truth.time).max().unwrap();
    collecting.until_stored(happened.len()).await;
    collecting
        .until("that is covered", |_| {
            let archive = Archive::read(folder.archive()).unwrap();
            let runs = archive
                .coverage()
                .sessions(Millis(0), Millis(i64::MAX / 2))
                .unwrap();
            runs.iter().any(|run| run.seen.0 >= last)
        })
        .await;
    collecting.stop().await;
    settings.queue_rows = 1;
    settings.pace.patience = 0.02;
    settings.pace.commit = 0.2;
    kraken.fault(|faults| faults.broken = vec!["/history".to_owned()]);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting
        .until_of("kraken", "some of it finds no room", |one| one.lost > 0)
        .await;
    kraken.mend();
    collecting
        .until("that is on record", |_| {
            let gaps = gaps(&folder.archive());
            gaps.iter().any(|gap| gap.reason.contains("orders lost"))
        })
        .await;
    collecting.stop().await;
    for gap in gaps(&folder.archive()) {
        assert!(gap.start.0 >= last, "{gap:?}");
    }
    assert_stored(&folder.archive(), &happened);
}

#[tokio::test(start_paused = true)]
async fn a_new_archive_begins_with_a_backfill_of_one_day() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let okx = doubles.of("okx");
    let hours_ago =
        |hours: i64| okx.imagine_of("BTC-USDT-SWAP", [okx.book().now() - hours * Millis::HOUR]);
    let (older, within) = (hours_ago(25), hours_ago(23));
    okx.record(&older);
    okx.record(&within);
    let mut settings = quick();
    settings.backfill_hours = None;
    let mut plan = doubles.plan(settings);
    plan.once = true;
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting
        .until("the backfill is complete", |_| collecting.is_over())
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &within);
}

/// Orders of the last hour, of which the venue sends a hundred at a time.
fn busy_hour(doubles: &Doubles) -> usize {
    let okx = doubles.of("okx");
    let now = okx.book().now();
    let times = (1..1500).map(|number| now - 2000 * number);
    let happened = okx.imagine_of("BTC-USDT-SWAP", times);
    okx.record(&happened);
    happened.len()
}

/// The settings with so many requests of one back-fill.
fn with_requests(most: u32) -> Settings {
    let mut settings = quick();
    settings.pace.late = 0.05;
    settings.backfill_requests = most;
    settings
}

#[tokio::test(start_paused = true)]
async fn a_backfill_that_needs_too_many_requests_is_split_into_halves() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    let count = busy_hour(&doubles);
    let okx = doubles.of("okx");
    let once = |most| {
        let mut plan = doubles.plan(with_requests(most));
        plan.once = true;
        plan
    };
    let whole = Folder::new();
    let collecting = doubles.collect(&whole.archive(), &once(1000));
    collecting.until_stored(count).await;
    collecting
        .until("the backfill is complete", |_| {
            !outcomes(&whole, "okx").is_empty()
        })
        .await;
    collecting.stop().await;
    let requests = okx.tally().requests_to(OF_OKX);
    let most = u32::try_from(requests).unwrap() - 2;
    let collecting = doubles.collect(&folder.archive(), &once(most));
    collecting.until_stored(count).await;
    collecting
        .until("both halves are complete", |_| {
            outcomes(&folder, "okx").len() == 2
        })
        .await;
    collecting.stop().await;
    let halves = outcomes(&folder, "okx");
    assert!(halves.iter().all(|one| one.outcome == GapState::Recovered));
    let rows: u64 = halves.iter().map(|one| one.rows).sum();
    assert_eq!(rows, count as u64);
    assert_eq!(gaps(&folder.archive()), []);
}

#[tokio::test(start_paused = true)]
async fn a_backfill_that_needs_too_many_requests_in_halves_leaves_an_open_gap() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["okx"]));
    busy_hour(&doubles);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(with_requests(1)));
    let why = "backfill stopped after 1 requests (backfill_requests)";
    // The time before the connection is live is on record as well.
    collecting
        .until("it is on record", |_| {
            let mut gaps = gaps(&folder.archive()).into_iter();
            gaps.any(|gap| gap.reason.starts_with(why))
        })
        .await;
    collecting.stop().await;
    let mut gaps = gaps(&folder.archive());
    gaps.retain(|gap| !gap.reason.starts_with("not heard yet"));
    assert!(
        gaps.iter().all(|gap| gap.reason.starts_with(why)),
        "{gaps:?}"
    );
    // The hour; the time until the first socket was live is short.
    let is_reported = gaps
        .iter()
        .any(|gap| gap.reason.contains("it is not split"));
    assert!(is_reported, "{gaps:?}");
    assert!(have_become(&folder, "okx", 1, GapState::Open));
    assert_eq!(outcomes(&folder, "okx"), []);
}
