//! A reader during writes.

use std::fs;
use std::path::Path;

use liqdata::archive::{Archive, Batch};
use liqdata::contract::Overview;
use liqdata::market::{ArrivalId, Arrivals, Market};
use liqdata::model::Millis;

use crate::archive::folder::Folder;
use crate::archived::world::{START, bar, everything, order, some_days, two_days};

/// Hands `batch` over in the order in which its rows were received, in `parts` parts.
fn parts(batch: Batch, parts: usize) -> Vec<Batch> {
    let end = START + 2 * Millis::DAY + 1_000;
    let mut made: Vec<Batch> = vec![Batch::default(); parts];
    let place = |received: Millis| {
        let share = i128::from(received.0 - START) * i128::try_from(parts).unwrap()
            / i128::from(end - START);
        usize::try_from(share).unwrap().min(parts - 1)
    };
    for row in batch.orders {
        made[place(row.received_at)].orders.push(row);
    }
    for row in batch.bars {
        made[place(row.received_at)].bars.push(row);
    }
    for row in batch.open_interest {
        made[place(row.received_at)].open_interest.push(row);
    }
    made
}

#[test]
fn a_reader_of_a_growing_archive_answers_as_a_new_one() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    assert_eq!(market.now(), Millis(0));
    for (number, part) in parts(two_days(), 7).into_iter().enumerate() {
        let before = market.revision();
        writer.append(&part).unwrap();
        assert_ne!(market.revision(), before);
        if number % 3 == 1 {
            // A day that is over leaves the journal; nothing has changed by that.
            let now = market.now();
            let seen = market.revision();
            writer.compact(now).unwrap();
            assert_eq!(market.revision(), seen);
        }
        let fresh = Market::open(folder.archive(), None).unwrap();
        assert_eq!(market.now(), fresh.now());
        assert_eq!(everything(&market, None), everything(&fresh, None));
        let at = Some(market.now().back(3 * Millis::HOUR));
        assert_eq!(everything(&market, at), everything(&fresh, at));
    }
}

#[test]
fn a_reader_reads_all_again_after_a_missed_compaction() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    writer.append(&two_days()).unwrap();
    writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    let fresh = Market::open(folder.archive(), None).unwrap();
    assert_eq!(everything(&market, None), everything(&fresh, None));
}

#[test]
fn rows_that_cannot_be_read_for_a_while_are_counted_once_when_they_can() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut batch = two_days();
    let later = batch.orders.split_off(batch.orders.len() / 2);
    writer.append(&batch).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    everything(&market, None);
    let orders = later;
    writer
        .append(&Batch {
            orders,
            ..Batch::default()
        })
        .unwrap();
    let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
    let change = |price: &str| {
        let sql =
            format!("UPDATE orders SET price = {price} WHERE id = (SELECT max(id) FROM orders)");
        assert_eq!(journal.execute(&sql, []).unwrap(), 1);
    };
    change("'?' || price");
    for _ in 0..3 {
        assert!(market.answer(&Overview::default(), None).is_err());
    }
    change("substr(price, 2)");
    // The journal counts as damaged until the damage is checked again.
    market.answer(&Overview::default(), None).unwrap();
    let archive = market.archive().unwrap();
    assert_eq!(archive.integrity().damaged_files().unwrap(), 1);
    archive.integrity().recheck_damage().unwrap();
    assert_eq!(archive.integrity().damaged_files().unwrap(), 0);
    let fresh = Market::open(folder.archive(), None).unwrap();
    assert_eq!(everything(&market, None), everything(&fresh, None));
}

#[test]
fn a_reader_far_behind_reads_all_again() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&two_days()).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    everything(&market, None);
    let start = START + 2 * Millis::DAY;
    let orders = (0..100_500)
        .map(|key| order(key, start + key.cast_signed(), start + key.cast_signed()))
        .collect();
    writer
        .append(&Batch {
            orders,
            ..Batch::default()
        })
        .unwrap();
    let fresh = Market::open(folder.archive(), None).unwrap();
    assert_eq!(everything(&market, None), everything(&fresh, None));
}

#[test]
fn late_rows_change_the_estimates_they_belong_to_and_no_others() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut batch = two_days();
    let missing: Vec<_> = batch.bars.extract_if(100..130, |_| true).collect();
    writer.append(&batch).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    let before = everything(&market, None);
    let (btc, other) = (
        market.estimate_revision("BTC"),
        market.estimate_revision("ETH"),
    );

    // A bar that is not over changes nothing yet.
    let minute = 2 * 24 * 60;
    writer
        .append(&Batch {
            bars: vec![bar("binance", minute, START)],
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(market.estimate_revision("BTC"), btc);
    writer
        .append(&Batch {
            bars: missing,
            ..Batch::default()
        })
        .unwrap();
    assert_ne!(market.estimate_revision("BTC"), btc);
    assert_eq!(market.estimate_revision("ETH"), other);
    let fresh = Market::open(folder.archive(), None).unwrap();
    assert_eq!(everything(&market, None), everything(&fresh, None));
    assert_ne!(everything(&market, None), before);
}

fn arrived(market: &Market, after: Option<ArrivalId>, limit: usize) -> Vec<(ArrivalId, String)> {
    match market.arrivals(after, limit).unwrap() {
        Arrivals::Known(orders) => orders
            .into_iter()
            .map(|(id, order)| (id, format!("{} {}", order.timestamp, order.value_usd)))
            .collect(),
        Arrivals::Gone => panic!("{after:?} is gone"),
    }
}

#[test]
fn returning_readers_get_orders_in_arrival_order() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let batch = |keys: std::ops::Range<u64>| Batch {
        orders: keys
            .map(|key| {
                // Event times run backwards, and over a day.
                let at = START + 40 * Millis::HOUR - i64::try_from(key).unwrap() * Millis::HOUR;
                order(key, at, at + 5)
            })
            .collect(),
        ..Batch::default()
    };
    writer.append(&batch(0..10)).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    let start = market.newest().unwrap();
    assert_eq!(arrived(&market, Some(start), 10), []);
    let all = arrived(&market, None, 100);
    assert_eq!(all.len(), 10);
    writer.append(&batch(5..30)).unwrap();
    let first = arrived(&market, Some(start), 7);
    let rest = arrived(&market, Some(first[6].0), 100);
    assert_eq!(first.len() + rest.len(), 20);
    assert_eq!(rest.last().unwrap().0, market.newest().unwrap());
    let fresh = Market::open(folder.archive(), None).unwrap();
    let mut wanted = first.clone();
    wanted.extend(rest.clone());
    assert_eq!(arrived(&fresh, Some(start), 100), wanted);

    // Compacted orders have no number any more; an earlier reader continues, a later one gets an error.
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    writer.append(&batch(30..31)).unwrap();
    assert_eq!(arrived(&market, Some(start), 100).len(), 21);
    let fresh = Market::open(folder.archive(), None).unwrap();
    assert_eq!(fresh.arrivals(Some(start), 5).unwrap(), Arrivals::Gone);
    let last = rest.last().unwrap().0;
    assert_eq!(arrived(&fresh, Some(last), 5).len(), 1);

    for stranger in [
        ArrivalId {
            number: market.newest().unwrap().number + 1,
            ..start
        },
        ArrivalId {
            series: start.series + 1,
            ..start
        },
        ArrivalId {
            number: u64::MAX,
            ..start
        },
    ] {
        assert_eq!(market.arrivals(Some(stranger), 5).unwrap(), Arrivals::Gone);
    }
}

#[tokio::test]
async fn a_change_wakes_waiting_readers() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    let seen = market.revision();
    let (changed, ()) = tokio::join!(market.changed(seen), async {
        tokio::task::yield_now().await;
        writer.append(&two_days()).unwrap();
    });
    let () = changed;
    assert_ne!(market.revision(), seen);
}

#[test]
fn an_open_market_switches_to_a_restored_archive() {
    let folder = Folder::new();
    let other = folder.path().join("other");
    let put = |days: i64, path: &Path| {
        let mut writer = Archive::create_or_open(path).unwrap();
        writer.append(&some_days(days)).unwrap();
        writer.compact(Millis(START + Millis::DAY)).unwrap();
    };
    put(2, &folder.archive());
    put(3, &other);
    let growing = Market::open(folder.archive(), None).unwrap();
    let at = Some(Millis(START + Millis::DAY));
    let still = Market::open(folder.archive(), at).unwrap();
    let answers = |market: &Market| {
        let bars = market.bars("BTC", None).unwrap().len();
        (market.now(), bars, everything(market, None))
    };
    let before = (answers(&growing), answers(&still));
    let numbers = || {
        (
            growing.revision().number,
            growing.estimate_revision("BTC").number,
        )
    };
    let numbered = numbers();

    // Gone it is refused; put back it is answered from without having been opened again.
    fs::rename(folder.archive(), folder.path().join("old")).unwrap();
    let gone = growing.bars("BTC", None).unwrap_err().to_string();
    assert!(gone.contains("was deleted"), "{gone}");
    fs::rename(&other, folder.archive()).unwrap();
    let now = Market::open(folder.archive(), None).unwrap();
    assert_eq!(answers(&growing), answers(&now));
    assert_eq!(
        answers(&still),
        answers(&Market::open(folder.archive(), at).unwrap())
    );
    assert_ne!(answers(&growing), before.0);
    let (all, coin) = numbers();
    assert!(all > numbered.0 && coin > numbered.1);

    // The one before comes back, and goes on growing.
    fs::rename(folder.archive(), &other).unwrap();
    fs::rename(folder.path().join("old"), folder.archive()).unwrap();
    assert_eq!((answers(&growing), answers(&still)), before);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&some_days(3)).unwrap();
    drop(writer);
    assert_eq!(
        answers(&growing),
        answers(&Market::open(folder.archive(), None).unwrap())
    );
    assert_ne!(answers(&growing), before.0);
}
