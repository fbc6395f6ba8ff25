//! Rebuild from raw frames: rows in a wrong unit are corrected, and earlier answers stay.

use std::path::Path;

use liqdata::archive::{Archive, Batch, Filter, OrderRow};
use liqdata::collect::{RebuildCounts, RebuildOptions, RebuildReport, rebuild};
use liqdata::model::Millis;
use rust_decimal::Decimal;

use crate::bench::{Doubles, Folder, assert_stored, orders, quick};
use crate::doubles::{Act, Ending};

const VENUES: [&str; 4] = ["okx", "gate", "bitfinex", "binance"];

/// What the archive's orders come to, and how many they are: by the rows, and as totals are made.
fn total(archive: &Path, as_of: Option<Millis>) -> (Decimal, usize) {
    let reader = Archive::read(archive).unwrap();
    let filter = Filter {
        as_of,
        ..Filter::default()
    };
    let rows = reader.orders(&filter).unwrap().rows;
    let sum = rows.iter().map(|row| row.order.value_usd).sum();
    let none = || (Decimal::ZERO, 0);
    let (briefly, _) = reader
        .visit_orders(&filter, none, |briefly, brief| {
            briefly.0 += brief.value_usd;
            briefly.1 += 1;
        })
        .unwrap();
    assert_eq!(briefly, (sum, rows.len()));
    briefly
}

fn again(archive: &Path, again: &RebuildOptions) -> RebuildReport {
    rebuild(archive, again, &mut |_, _| true).unwrap().unwrap()
}

/// What became of the rows: same, corrected, new, gone.
fn counts(done: &RebuildReport) -> [u64; 4] {
    assert!(done.damaged.is_empty(), "{done:?}");
    let sum = |of: fn(&RebuildCounts) -> u64| done.exchanges.values().map(of).sum();
    let others = sum(|one| one.unread + one.doubtful);
    assert_eq!(others, 0, "{done:?}");
    [
        sum(|one| one.same),
        sum(|one| one.corrected),
        sum(|one| one.new),
        sum(|one| one.gone),
    ]
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Takes the end off every file below.
fn cut(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            cut(&entry.path());
        } else {
            let file = std::fs::File::options()
                .write(true)
                .open(entry.path())
                .unwrap();
            let length = file.metadata().unwrap().len();
            file.set_len(length - 6).unwrap();
        }
    }
}

fn of_orders(orders: &[OrderRow]) -> Batch {
    Batch {
        orders: orders.to_vec(),
        ..Batch::default()
    }
}

/// Frames with a cut end have no checksum: they correct nothing, and the damage is reported.
fn assert_an_end_corrects_nothing(raw: &Path, wrong: &[OrderRow], before: (Decimal, usize)) {
    let third = Folder::new();
    let path = third.archive();
    let mut writer = Archive::create_or_open(&path).unwrap();
    writer.append(&of_orders(wrong)).unwrap();
    drop(writer);
    copy(raw, &path.join("raw"));
    cut(&path.join("raw"));
    let done = again(&path, &RebuildOptions::default());
    assert!(!done.damaged.is_empty(), "{done:?}");
    assert_eq!(total(&path, None), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_corrects_wrong_units_and_earlier_answers_stay() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&VENUES).await);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut truths = Vec::new();
    for venue in VENUES {
        truths.extend(doubles.of(venue).liquidate(30));
    }
    collecting.until_stored(truths.len()).await;
    // Orders of a backfill that came by WebSocket are known already.
    doubles.of("okx").act(Act::Disconnect(Ending::Close));
    collecting
        .until_of("okx", "it is backfilled", |one| one.repeated >= 30)
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &truths);
    let all = u64::try_from(truths.len()).unwrap();
    let dry = RebuildOptions {
        dry_run: true,
        ..RebuildOptions::default()
    };
    assert_eq!(counts(&again(&folder.archive(), &dry)), [all, 0, 0, 0]);

    // As a decoder would have stored it that took a contract for ten; one row it did not know, another it made up.
    let right = orders(&folder.archive());
    let mut wrong = right.clone();
    for row in wrong.iter_mut().filter(|row| row.order.exchange == "okx") {
        row.order.qty *= Decimal::TEN;
        row.order.value_usd *= Decimal::TEN;
    }
    let lost = wrong.iter().position(|row| row.order.exchange == "gate");
    wrong.remove(lost.unwrap());
    let made_up = OrderRow {
        dedupe_key: "binance|made up".to_owned(),
        ..wrong
            .iter()
            .find(|row| row.order.exchange == "binance")
            .unwrap()
            .clone()
    };
    wrong.push(made_up);
    // A row without a stored frame is left alone.
    let mut other = wrong
        .iter()
        .find(|row| row.order.exchange == "bitfinex")
        .unwrap()
        .clone();
    other.dedupe_key = "bitfinex|of old".to_owned();
    other.received_at = Millis(other.received_at.0 - 3_600_000);
    wrong.push(other);

    let second = Folder::new();
    let path = second.archive();
    let mut writer = Archive::create_or_open(&path).unwrap();
    copy(&folder.archive().join("raw"), &path.join("raw"));
    let (filed, journaled) = wrong.split_at(wrong.len() / 2);
    writer.append(&of_orders(filed)).unwrap();
    writer.compact(Millis(i64::MAX / 2)).unwrap();
    writer.append(&of_orders(journaled)).unwrap();
    let position = writer.archive().catalog().summary().unwrap().end;
    drop(writer);
    let before = total(&path, None);
    let now = orders(&path).iter().map(|row| row.received_at).max();

    assert_eq!(counts(&again(&path, &dry)), [all - 31, 30, 1, 1]);
    assert_eq!(total(&path, None), before);
    let done = again(&path, &RebuildOptions::default());
    assert_eq!(counts(&done), [all - 31, 30, 1, 1]);
    let (sum, count) = total(&folder.archive(), None);
    let old = wrong.last().unwrap().order.value_usd;
    assert_eq!(total(&path, None), (sum + old, count + 1));
    assert_eq!(total(&path, now), before);
    let mut stored = orders(&path);
    stored.retain(|row| row.dedupe_key != "bitfinex|of old");
    assert_eq!(stored, right);
    // A reader that continues from before reads all of it again.
    let reader = Archive::read(&path).unwrap();
    assert!(
        reader
            .tail(position, i64::MAX / 2, &mut |_| ())
            .unwrap()
            .incomplete
    );
    assert!(reader.integrity().verify().unwrap().is_sound());
    drop(reader);

    // Once more changes nothing, and neither does it in part.
    let listed = Archive::read(&path).unwrap().catalog().lists().unwrap();
    assert_eq!(
        counts(&again(&path, &RebuildOptions::default())),
        [all, 0, 0, 0]
    );
    let part = RebuildOptions {
        venues: vec!["okx".to_owned()],
        start: Some(Millis(0)),
        ..RebuildOptions::default()
    };
    assert_eq!(counts(&again(&path, &part)), [30, 0, 0, 0]);
    assert_eq!(
        Archive::read(&path).unwrap().catalog().lists().unwrap(),
        listed
    );
    // Days are compacted as before, and earlier answers stay the same.
    let mut writer = Archive::create_or_open(&path).unwrap();
    writer.compact(Millis(i64::MAX / 2)).unwrap();
    drop(writer);
    assert_eq!(total(&path, now), before);
    assert_eq!(total(&path, None), (sum + old, count + 1));
    assert_an_end_corrects_nothing(&folder.archive().join("raw"), &wrong, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_of_a_retired_topic_become_rows() {
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&["bybit"]).await);
    let bybit = doubles.of("bybit");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let truths = bybit.imagine_of("BTCUSDT", [bybit.book().now()]);
    let (at, price, size) = (truths[0].time, truths[0].price, truths[0].size);
    let order = truths[0].word("Buy", "Sell");
    bybit.say(&format!(
        r#"{{"topic":"liquidation.BTCUSDT","type":"snapshot","ts":{at},"data":{{"updatedTime":{at},"symbol":"BTCUSDT","side":"{order}","size":"{size}","price":"{price}"}}}}"#
    ));
    collecting.until_stored(1).await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &truths);
    assert_eq!(
        counts(&again(&folder.archive(), &RebuildOptions::default())),
        [1, 0, 0, 0]
    );
    // An archive that has the frames and not the row, as of a decoder that did not know the topic.
    let second = Folder::new();
    let path = second.archive();
    drop(Archive::create_or_open(&path).unwrap());
    copy(&folder.archive().join("raw"), &path.join("raw"));
    assert_eq!(
        counts(&again(&path, &RebuildOptions::default())),
        [0, 0, 1, 0]
    );
    assert_eq!(orders(&path), orders(&folder.archive()));
}
