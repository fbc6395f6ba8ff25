//! The live tape of Hyperliquid: liquidations found by watching makers, against a double with known liquidations.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use liqdata::archive::{Archive, Completeness, OrderRow};
use liqdata::collect::{Files, VenueState, ingest};
use liqdata::model::{GapState, Millis, Side};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::bench::{Doubles, Folder, gaps, orders, quick};
use crate::doubles::hyperliquid::{Hyperliquid, MarketOrder};

const DELEVERAGED: &str = "Auto-Deleveraging";

fn now() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// An order that liquidates its taker, or an ordinary one.
fn order<'a>(
    hash: &'a str,
    trades: &'a [(u64, &'a str, &'a str)],
    is_liquidation: bool,
) -> MarketOrder<'a> {
    MarketOrder {
        coin: "BTC",
        taker: "0xtaker",
        is_buy: false,
        hash,
        time: now(),
        trades,
        liquidation: is_liquidation.then_some(("0xtaker", "Close Short")),
    }
}

fn sorted(mut rows: Vec<OrderRow>) -> Vec<OrderRow> {
    rows.sort_by(|one, other| one.dedupe_key.cmp(&other.dedupe_key));
    rows
}

async fn until(wanted: impl Fn() -> bool) {
    let waiting = async {
        while !wanted() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(30), waiting).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_liquidation_with_a_watched_maker_is_stored_once_with_the_estimated_total() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&[]).await);
    let venue = Hyperliquid::open().await;
    venue.lists("BTC", "10");
    venue.lists("kPEPE", "5000");
    // A liquidation of which the trades are not known.
    let past = json!({"hash": "0x0b", "time": now() - 1000, "dir": "Close Short",
        "liquidation": {"liquidatedUser": "0xbefore", "markPx": "100.0", "method": "market"}});
    venue.filled("0xmaker12", past);
    let mut settings = quick();
    settings.positions.socket = venue.socket();
    settings.positions.rest = venue.rest();
    settings.positions.weight = 1200;
    let mut plan = doubles.plan(settings);
    plan.venues = vec!["Hyperliquid".to_owned()];
    let collecting = doubles.collect(&folder.archive(), &plan);
    until(|| venue.subscribed().len() == 2).await;

    // Twelve makers trade, the ten most active ones are watched.
    for maker in 1..=12_u64 {
        let (name, size) = (format!("0xmaker{maker:02}"), format!("{maker}0"));
        let hash = format!("0xa{maker}");
        venue.takes(&order(&hash, &[(maker, &name, &size)], false));
    }
    let is_live = |venue: &liqdata::collect::VenueStatus| venue.state == VenueState::Live;
    collecting
        .until_of("hyperliquid", "makers are watched", is_live)
        .await;
    let watched: BTreeSet<_> = (3..=12).map(|maker| format!("0xmaker{maker:02}")).collect();
    until(|| venue.users() == watched).await;

    // Of two equal liquidations one has a watched maker; deleveraging is none.
    let (one, other) = ("0xmaker01", "0xmaker02");
    venue.takes(&order(
        "0x1",
        &[(101, one, "1.5"), (102, "0xmaker12", "0.50")],
        true,
    ));
    venue.takes(&order("0x2", &[(103, one, "1"), (104, other, "1")], true));
    venue.takes(&order("0x3", &[(105, "0xmaker12", "1")], false));
    venue.takes(&MarketOrder {
        liquidation: Some(("0xtaker", DELEVERAGED)),
        ..order("0x4", &[(106, "0xmaker11", "1")], true)
    });
    let short = MarketOrder {
        coin: "kPEPE",
        is_buy: true,
        ..order("0x5", &[(107, "0xmaker10", "2000")], true)
    };
    venue.takes(&short);
    collecting.until_stored(3).await;

    // A new connection repeats trades and fills. While it is lost, nothing is received.
    venue.closes();
    collecting
        .until_of("hyperliquid", "the loss is noticed", |venue| {
            venue.state == VenueState::Down
        })
        .await;
    collecting
        .until_of("hyperliquid", "the makers are watched again", is_live)
        .await;
    venue.takes(&order(
        "0x6",
        &[(108, "0xmaker12", "1"), (109, other, "1")],
        true,
    ));
    collecting.until_stored(5).await;
    collecting.stop().await;
    assert_eq!(venue.strange(), Vec::<String>::new());

    let archive = folder.archive();
    let rows = sorted(orders(&archive));
    let expected = [
        "BTC|101|A",
        "BTC|102|A",
        "BTC|108|A",
        "BTC|109|A",
        "kPEPE|107|B",
    ];
    let expected = expected.map(|key| format!("hyperliquid|{key}"));
    let keys: Vec<&str> = rows.iter().map(|row| row.dedupe_key.as_str()).collect();
    assert_eq!(keys, expected);
    assert!(
        rows.iter()
            .all(|row| row.completeness == Completeness::Sampled)
    );
    let of_short = rows.iter().find(|row| row.coin == "PEPE").unwrap();
    assert_eq!(of_short.order.side, Side::Short);
    let lost = gaps(&archive);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost[0].reason.starts_with("lost: "), "{lost:?}");
    let read = Archive::read(&archive).unwrap();
    let covered = read
        .coverage()
        .by_exchange(Millis(now() - Millis::HOUR), Millis(now() + Millis::HOUR));
    let covered = covered.unwrap().remove(0);
    assert_eq!(covered.exchange, "hyperliquid");
    assert_eq!(covered.completeness, Completeness::Sampled);
    // Of the orders of two trades, a watched maker is in 400 of 600 USD. Of those of one trade, in all but the 3,000 USD
    // of the first two makers.
    assert_eq!(covered.compared_usd, Some(200_400.0));
    let estimated = 400.0 * 600.0 / 400.0 + 200_000.0 * 278_200.0 / 275_200.0;
    let difference = covered.exchange_usd.unwrap() - estimated;
    assert!(difference.abs() < 0.02, "{covered:?} {estimated}");
    let statuses = read
        .coverage()
        .gap_statuses(Millis(0), Millis(now() + Millis::HOUR), None);
    let mut statuses = statuses.unwrap().into_iter();
    assert!(statuses.all(|gap| gap.state == GapState::Lost));

    are_as_in_a_file_of_a_node(&archive, &rows);
}

/// Ingests the fills of the liquidated accounts as a node writes them: the same rows.
fn are_as_in_a_file_of_a_node(archive: &Path, rows: &[OrderRow]) {
    let mut lines = String::new();
    for row in rows {
        let (coin, id) = match row.dedupe_key.split('|').collect::<Vec<_>>()[..] {
            [_, coin, id, _] => (coin.to_owned(), id.parse::<u64>().unwrap()),
            _ => panic!("{row:?}"),
        };
        let (side, before) = match row.order.side {
            Side::Long => ("A", "9000"),
            Side::Short => ("B", "-9000"),
        };
        let fill = json!({"coin": coin, "px": row.order.price.to_string(), "sz": row.order.qty.to_string(), "side": side,
            "time": row.order.timestamp.0, "startPosition": before, "dir": "Close Long", "tid": id,
            "liquidation": {"liquidatedUser": "0xtaker", "markPx": "100.0", "method": "market"}});
        lines += &json!(["0xtaker", fill]).to_string();
        lines.push('\n');
    }
    let file = archive.with_file_name("node_fills-0");
    std::fs::write(&file, lines).unwrap();
    let files = Files {
        paths: vec![file],
        ..Files::default()
    };
    let ingested = ingest(archive, &files, &mut |_| true, &mut drop, &mut |_, _, _| {
        Ok(None)
    });
    let ingested = ingested.unwrap();
    assert_eq!((ingested.new, ingested.repeated), (0, 5), "{ingested:?}");
    // A file alone gives the same rows, but for what no file says.
    let other = archive.with_file_name("of_files");
    ingest(&other, &files, &mut |_| true, &mut drop, &mut |_, _, _| {
        Ok(None)
    })
    .unwrap();
    for (of_tape, of_file) in rows.iter().zip(sorted(orders(&other))) {
        let same = OrderRow {
            received_at: of_tape.received_at,
            completeness: of_tape.completeness,
            ..of_file
        };
        assert_eq!(*of_tape, same);
    }
}
