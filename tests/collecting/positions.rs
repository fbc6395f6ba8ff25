//! Positions of single accounts: discovery, polling rounds, snapshots.

use std::sync::Arc;
use std::time::Duration;

use liqdata::archive::{Archive, Filter, PositionRow};
use liqdata::collect::{Positions, PositionsStatus, Settings, Status};
use liqdata::model::{Millis, Side};
use rust_decimal::Decimal;
use tokio::time::Instant;

use crate::bench::{Collecting, Doubles, Folder, quick};
use crate::doubles::hyperliquid::{Hyperliquid, position};

fn of(status: &Status) -> &PositionsStatus {
    status.positions.as_ref().unwrap()
}

fn last(archive: &std::path::Path, coin: &str) -> Vec<PositionRow> {
    let archive = Archive::read(archive).unwrap();
    archive.last_positions(coin, None, None).unwrap().rows
}

async fn until_subscribed(collecting: &Collecting) -> Status {
    let live = collecting.until("the trades are live", |status| of(status).live);
    live.await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_of_trading_accounts_are_stored_with_their_share_of_the_open_interest() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["coinex"]).await);
    let venue = Hyperliquid::open().await;
    venue.lists("BTC", "10");
    venue.lists("kPEPE", "5000");
    venue.holds(
        "0xlong",
        vec![position("BTC", "2.0", Some("80.5"), "200.0")],
    );
    venue.holds(
        "0xshort",
        vec![
            position("BTC", "-1.0", None, "100.0"),
            position("kPEPE", "-2500", Some("0.02"), "30.0"),
        ],
    );
    let mut settings = quick();
    settings.coins = vec!["BTC".to_owned()];
    settings.positions.socket = venue.socket();
    settings.positions.rest = venue.rest();
    settings.positions.every = 0.2;
    settings.positions.accounts = 2;
    settings.positions.weight = 1200;
    let mut plan = doubles.plan(settings.clone());
    plan.positions = true;
    // The first question is refused, which is waited out.
    venue.refuse(429, "0");
    let collecting = doubles.collect(&folder.archive(), &plan);
    until_subscribed(&collecting).await;
    assert_eq!(venue.subscribed(), ["BTC"]);
    venue.trades("BTC", "0xlong", "0xshort");
    collecting
        .until("a snapshot is stored", |status| of(status).snapshots > 0)
        .await;
    let archive = folder.archive();
    let rows = last(&archive, "BTC");
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.account.as_str(), row.side, row.liquidation_price))
        .collect();
    assert_eq!(
        found,
        [
            ("0xlong", Side::Long, Some(Decimal::new(805, 1))),
            ("0xshort", Side::Short, None)
        ]
    );
    assert!(
        rows.iter().all(|row| row.seen_share == Some(0.15)),
        "{rows:?}"
    );
    assert!(rows.iter().all(|row| row.observed_at <= row.timestamp));
    // Quantities of a market in thousands are stored in single units.
    assert_eq!(last(&archive, "PEPE")[0].qty, 2_500_000.into());
    // A position that is closed is in no later snapshot, and inactive accounts are still requested.
    venue.holds("0xlong", Vec::new());
    let seen = of(&collecting.status()).snapshots;
    let status = collecting
        .until("two more", |status| of(status).snapshots >= seen + 2)
        .await;
    assert_eq!(last(&archive, "BTC").len(), 1);
    assert_eq!(of(&status).refused, 1, "{status:?}");
    assert!(venue.strange().is_empty(), "{:?}", venue.strange());
    collecting.stop().await;

    // A restart requests the known accounts without any trade.
    let requests = venue.requested_accounts().len();
    let collecting = doubles.collect(&archive, &plan);
    collecting
        .until("a snapshot without a trade", |status| {
            of(status).snapshots > 0
        })
        .await;
    assert!(
        venue.requested_accounts()[requests..]
            .iter()
            .any(|account| account == "0xshort")
    );
    collecting.stop().await;
    assert!(
        Archive::read(&archive)
            .unwrap()
            .integrity()
            .verify()
            .unwrap()
            .is_sound()
    );
}

/// Settings of a collector that requests the trading accounts round after round.
fn looking(venue: &Hyperliquid, coins: &[&str]) -> Settings {
    let mut settings = quick();
    settings.coins = coins.iter().map(|coin| (*coin).to_owned()).collect();
    settings.positions.socket = venue.socket();
    settings.positions.rest = venue.rest();
    settings.positions.every = 0.2;
    settings.positions.weight = 1200;
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_may_be_empty_and_a_round_without_answers_is_no_snapshot() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["coinex"]).await);
    let venue = Hyperliquid::open().await;
    venue.lists("BTC", "10");
    venue.holds(
        "0xlong",
        vec![position("BTC", "2.0", Some("80.5"), "200.0")],
    );
    venue.holds("0xshort", Vec::new());
    let mut plan = doubles.plan(looking(&venue, &["BTC"]));
    plan.positions = true;
    let archive = folder.archive();
    let collecting = doubles.collect(&archive, &plan);
    until_subscribed(&collecting).await;
    venue.trades("BTC", "0xlong", "0xshort");
    collecting
        .until("a snapshot is stored", |status| of(status).positions == 1)
        .await;
    let open = last(&archive, "BTC");
    assert_eq!(open.len(), 1);

    // Everybody closes: the last snapshot has no row, and the closed positions are not open in it.
    venue.holds("0xlong", Vec::new());
    collecting
        .until("a snapshot of nothing", |status| of(status).positions == 0)
        .await;
    assert_eq!(last(&archive, "BTC"), []);
    let before = Archive::read(&archive).unwrap();
    let polled = before.positions_of_day(&Filter {
        start: Some(open[0].timestamp),
        end: Some(open[0].timestamp.on(Millis::DAY)),
        ..Filter::default()
    });
    let polled = polled.unwrap().polled;
    assert!(polled.iter().any(|(_, at)| *at > open[0].timestamp));
    let before = before.last_positions("BTC", None, Some(open[0].timestamp));
    assert_eq!(before.unwrap().rows, open);

    // No account can be requested: that is no snapshot, and it is reported.
    venue.breaks(true);
    let status = collecting
        .until("a round without an answer", |status| {
            let trouble = of(status).trouble.as_deref();
            trouble.is_some_and(|said| said.contains("2 of 2 accounts could not be polled"))
        })
        .await;
    let (snapshots, at) = (of(&status).snapshots, of(&status).last_snapshot);
    assert_eq!(of(&status).missing, 2);
    let status = collecting
        .until("another", |status| of(status).missing == 2)
        .await;
    assert_eq!(
        (of(&status).snapshots, of(&status).last_snapshot),
        (snapshots, at)
    );
    venue.breaks(false);
    collecting
        .until("the next one", |status| of(status).snapshots > snapshots)
        .await;
    collecting.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coins_are_requested_by_their_native_names_and_unlisted_ones_are_reported() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["coinex"]).await);
    let venue = Hyperliquid::open().await;
    venue.lists("BTC", "10");
    venue.lists("kPEPE", "5000");
    let mut plan = doubles.plan(looking(&venue, &["PEPE", "NOPE"]));
    plan.positions = true;
    let collecting = doubles.collect(&folder.archive(), &plan);
    let status = until_subscribed(&collecting).await;
    assert_eq!(venue.subscribed(), ["kPEPE"]);
    assert_eq!(
        of(&status).trouble.as_deref(),
        Some("hyperliquid lists no NOPE")
    );
    collecting.stop().await;
}

/// Where coins are selected, positions of others are not stored; positions above the open interest have no share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_positions_of_selected_coins_are_stored_and_no_share_exceeds_the_open_interest() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["coinex"]).await);
    let venue = Hyperliquid::open().await;
    venue.lists("BTC", "1");
    venue.lists("ETH", "100");
    venue.holds(
        "0xlong",
        vec![
            position("BTC", "2.0", Some("80.5"), "200.0"),
            position("ETH", "3.0", None, "30.0"),
        ],
    );
    venue.holds("0xshort", vec![position("BTC", "-1.0", None, "100.0")]);
    let mut plan = doubles.plan(looking(&venue, &["ETH"]));
    plan.positions = true;
    plan.coins = vec!["BTC".to_owned()];
    let collecting = doubles.collect(&folder.archive(), &plan);
    until_subscribed(&collecting).await;
    assert_eq!(venue.subscribed(), ["BTC"]);
    venue.trades("BTC", "0xlong", "0xshort");
    let status = collecting
        .until("both are looked at", |status| of(status).positions == 2)
        .await;
    let said = of(&status).trouble.as_deref();
    assert_eq!(said, Some("positions exceed the open interest of BTC"));
    collecting.stop().await;
    let rows = last(&folder.archive(), "BTC");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.seen_share.is_none()), "{rows:?}");
    assert_eq!(last(&folder.archive(), "ETH"), []);
}

/// Number of accounts with a liquidation price far from the price.
const FAR: usize = 300;
/// Weight of the requests in a minute.
const BUDGET: u32 = 120;
/// Maximum time between two polls of a near account: a minute, and a request for the open interest, which waits for a
/// sixth of the budget.
const LATEST: Duration = Duration::from_secs(85);

#[tokio::test(start_paused = true)]
async fn near_accounts_are_polled_each_minute_and_the_others_in_turn_within_the_budget() {
    let (folder, mut doubles) = (Folder::new(), Doubles::in_memory(&["coinex"]));
    let venue = Arc::new(Hyperliquid::in_memory());
    doubles.accounts = Some(Arc::clone(&venue));
    venue.lists("BTC", "10000");
    // Liquidation prices 1, 2, 3 and 15 % from the price, and 16 % and more.
    let near = ["0x03", "0x01", "0x02", "0x04"];
    for (account, price) in near.into_iter().zip(["101", "98", "97", "115"]) {
        let size = if price.starts_with('9') { "1" } else { "-1" };
        venue.holds(account, vec![position("BTC", size, Some(price), "100")]);
    }
    let far: Vec<String> = (0..FAR).map(|number| format!("0x1{number:03}")).collect();
    for account in &far {
        venue.holds(account, vec![position("BTC", "1", Some("84"), "100")]);
    }
    let settings = Settings {
        coins: vec!["BTC".to_owned()],
        history_days: 0,
        positions: Positions {
            socket: venue.socket(),
            rest: venue.rest(),
            every: 300.0,
            weight: BUDGET,
            ..Positions::default()
        },
        ..Settings::default()
    };
    let mut plan = doubles.plan(settings);
    plan.positions = true;
    let collecting = doubles.collect(&folder.archive(), &plan);
    until_subscribed(&collecting).await;
    let all: Vec<&str> = near
        .into_iter()
        .chain(far.iter().map(String::as_str))
        .collect();
    for pair in all.chunks(2) {
        venue.trades("BTC", pair[0], pair[1]);
    }
    collecting
        .until("two snapshots", |status| of(status).snapshots == 2)
        .await;
    let requests = venue.requests();
    collecting.stop().await;

    // No minute has more than the budget.
    for (place, (start, ..)) in requests.iter().enumerate() {
        let minute = requests[place..].iter();
        let minute = minute.take_while(|(at, ..)| *at < *start + Duration::from_mins(1));
        let weight: u32 = minute.map(|(_, weight, _)| weight).sum();
        assert!(weight <= BUDGET, "{weight} from request {place}");
    }
    // Once they are known, the near accounts follow each other, nearest first, about once a minute.
    let polls: Vec<(Instant, &str)> = requests
        .iter()
        .filter_map(|(at, _, account)| Some((*at, account.as_deref()?)))
        .collect();
    let firsts: Vec<usize> = (0..polls.len())
        .filter(|place| polls[*place].1 == near[0])
        .collect();
    assert!(firsts.len() > 9, "{firsts:?}");
    for pair in firsts[1..].windows(2) {
        let turn: Vec<&str> = polls[pair[0]..][..4].iter().map(|poll| poll.1).collect();
        assert_eq!(turn, near);
        let apart = polls[pair[1]].0 - polls[pair[0]].0;
        assert!(apart <= LATEST, "{apart:?}");
    }
    // The others are polled in turn: a round is too short for all, and the next one goes on with the rest.
    let others: Vec<&str> = (polls.iter().map(|poll| poll.1))
        .filter(|account| !near.contains(account))
        .collect();
    assert!(others.len() > FAR, "{}", others.len());
    for (place, account) in others.iter().enumerate() {
        assert_eq!(*account, far[place % FAR]);
    }
    // The last snapshot has every account, and the near ones as of the last minute.
    let rows = last(&folder.archive(), "BTC");
    assert_eq!(rows.len(), all.len());
    for row in rows {
        let age = row.timestamp.0 - row.observed_at.0;
        let age = Duration::from_millis(age.try_into().unwrap());
        let most = if near.contains(&row.account.as_str()) {
            LATEST
        } else {
            Duration::from_mins(10)
        };
        assert!(age <= most, "{age:?}");
    }
}
