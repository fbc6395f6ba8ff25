//! Damaged files: what is missing from an answer stands in the log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use liqdata::archive::{Archive, Filter};
use liqdata::contract::{Coins, Heatmap, RawModel};
use liqdata::market::Market;
use liqdata::model::{Millis, TimeRange, Window};
use log::{LevelFilter, Log, Metadata, Record};

use crate::archive::folder::{Folder, files};
use crate::archived::world::{START, two_days};

/// The warnings of all tests of this process.
struct Warnings(Mutex<Vec<String>>);

static WARNINGS: Warnings = Warnings(Mutex::new(Vec::new()));

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "liqdata::archive"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Takes the warnings about files in `folder`.
fn said(folder: &Folder) -> Vec<String> {
    let name = folder.archive().display().to_string() + "/";
    let mut said = WARNINGS.0.lock().unwrap_or_else(PoisonError::into_inner);
    let (mine, others) = said.drain(..).partition(|text| text.contains(&name));
    *said = others;
    mine
}

/// An archive of two days, both in the journal.
fn in_journal() -> Folder {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&WARNINGS).unwrap();
        log::set_max_level(LevelFilter::Warn);
    });
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&two_days()).unwrap();
    folder
}

/// An archive of two days, both in files.
fn rolled() -> Folder {
    let folder = in_journal();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    folder
}

/// The file of a day and a kind of rows.
fn file(folder: &Folder, holds: &str, day: usize) -> PathBuf {
    files(&folder.archive().join(holds), "parquet")[day].clone()
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn opened(folder: &Folder) -> Market {
    Market::open(folder.archive(), None).unwrap()
}

/// Asks what needs the first day's rows of a kind.
fn ask(market: &Market, holds: &str) {
    match holds {
        "orders" => {
            let archive = market.archive().unwrap();
            let filter = Filter::default();
            assert!(
                archive
                    .day_of_orders(Millis(START), &filter)
                    .unwrap()
                    .is_empty()
            );
        }
        "bars" => {
            let bars = market.bars_between("BTC", None, TimeRange::ALL, None);
            assert_eq!(bars.unwrap().len(), 1440);
        }
        _ => {
            let readings = market.open_interest("BTC", None, TimeRange::ALL);
            assert_eq!(readings.unwrap().len(), 288);
        }
    }
}

fn estimate(market: &Market) {
    let question = Heatmap::new("BTC", "24h", RawModel::Number(3), None).unwrap();
    market.answer(&question, None).unwrap();
}

#[test]
fn every_read_without_a_damaged_file_warns_of_it_once() {
    let folder = rolled();
    let kinds = [("orders", 301), ("bars", 1440), ("open_interest", 288)];
    let paths = kinds.map(|(holds, _)| file(&folder, holds, 0));
    for path in &paths {
        flip(path);
    }
    let names = |text: &str, place: usize| {
        let (holds, rows) = kinds[place];
        let path = paths[place].display();
        text.starts_with(&format!(
            "{rows} rows of {holds} are missing: {path}: the file's SHA-256 is"
        ))
    };
    for (place, (holds, _)) in kinds.iter().enumerate() {
        let market = opened(&folder);
        // The last day is all that is read of itself.
        assert_eq!(said(&folder), [""; 0]);
        ask(&market, holds);
        let warnings = said(&folder);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(names(&warnings[0], place), "{warnings:?}");
        ask(&market, holds);
        assert_eq!(said(&folder), [""; 0]);
    }
    let market = opened(&folder);
    estimate(&market);
    let warnings = said(&folder);
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    for place in 0..kinds.len() {
        assert!(
            warnings.iter().any(|text| names(text, place)),
            "{warnings:?}"
        );
    }
    for (holds, _) in kinds {
        ask(&market, holds);
    }
    assert_eq!(said(&folder), [""; 0]);
}

#[test]
fn damage_of_the_last_day_is_warned_of_once_at_opening() {
    let folder = rolled();
    flip(&file(&folder, "orders", 1));
    let market = opened(&folder);
    assert_eq!(said(&folder).len(), 1);
    market
        .answer(&Coins::new(Some("24h"), 9).unwrap(), None)
        .unwrap();
    let archive = market.archive().unwrap();
    let day = Millis(START + Millis::DAY);
    archive.day_of_orders(day, &Filter::default()).unwrap();
    assert_eq!(said(&folder), [""; 0]);
}

#[test]
fn other_damage_and_damage_after_repair_are_news() {
    let folder = rolled();
    let path = file(&folder, "orders", 0);
    let whole = fs::read(&path).unwrap();
    let archive = Archive::read(folder.archive()).unwrap();
    let missing = || {
        archive.orders(&Filter::default()).unwrap();
        said(&folder).len()
    };
    assert_eq!(missing(), 0);
    fs::write(&path, &whole[1..]).unwrap();
    assert_eq!((missing(), missing()), (1, 0));
    fs::write(&path, &whole[2..]).unwrap();
    assert_eq!((missing(), missing()), (1, 0));
    fs::write(&path, &whole).unwrap();
    assert_eq!(missing(), 0);
    fs::write(&path, &whole[2..]).unwrap();
    assert_eq!((missing(), missing()), (1, 0));
}

#[test]
fn files_in_quarantine_are_warned_of_as_well() {
    let folder = rolled();
    for holds in ["orders", "bars", "open_interest"] {
        flip(&file(&folder, holds, 0));
    }
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.quarantine().unwrap();
    drop(writer);
    estimate(&opened(&folder));
    assert_eq!(said(&folder).len(), 3);
    // They are named when the archive is opened, whatever is asked then, and not again.
    let archive = Archive::read(folder.archive()).unwrap();
    assert_eq!(said(&folder).len(), 3);
    let filter = Filter {
        start: Some(Millis(START + Millis::DAY)),
        ..Filter::default()
    };
    archive.orders(&filter).unwrap();
    assert_eq!(said(&folder), [""; 0]);
}

#[test]
fn a_file_cut_short_is_named_on_opening_and_a_gap_of_the_newest_day_at_once() {
    let folder = rolled();
    for day in 0..2 {
        let path = file(&folder, "orders", day);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    }
    let market = opened(&folder);
    let warnings = said(&folder);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let covered = market.coverage(None, Window::H24).unwrap();
    assert!(!covered.is_empty());
    for venue in covered {
        assert!(venue.cnt == 0 && venue.gaps > 0, "{venue:?}");
    }
    assert_eq!(said(&folder), [""; 0]);
}

#[test]
fn estimates_from_a_damaged_day_of_bars_or_open_interest_name_it() {
    let folder = rolled();
    let day = (Millis(START), Millis(START + Millis::DAY));
    let bars = file(&folder, "bars", 0);
    let whole = fs::read(&bars).unwrap();
    let market = opened(&folder);
    let question = Heatmap::new("BTC", "3d", RawModel::Number(2), None).unwrap();
    let estimate_damage = || {
        let explain = market.answer(&question, None).unwrap().explain.unwrap();
        let listed = serde_json::to_value(&explain).unwrap()["damaged"].take();
        assert_eq!(listed.is_null(), explain.damaged.is_empty());
        let damaged = explain.damaged.into_iter();
        (
            explain.bars,
            damaged
                .map(|part| (part.holds, part.rows))
                .collect::<Vec<_>>(),
        )
    };
    let (all, none) = estimate_damage();
    assert_eq!(none, []);
    assert_eq!(market.gaps(None, TimeRange::ALL).unwrap(), []);
    flip(&bars);
    flip(&file(&folder, "open_interest", 0));
    // Found by the next read of the files, not by an estimate that was made before.
    for holds in ["bars", "open_interest"] {
        ask(&market, holds);
    }
    let (left, damaged) = estimate_damage();
    assert!(left < all, "{left} of {all}");
    let damaged: Vec<_> = damaged
        .iter()
        .map(|(holds, rows)| (holds.as_str(), *rows))
        .collect();
    assert_eq!(damaged, [("bars", 1440), ("open_interest", 288)]);
    let gaps = market.gaps(None, TimeRange::new(day.0, day.1)).unwrap();
    let named: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.holds.as_deref().unwrap(), gap.reason.as_str()))
        .collect();
    assert!(named.contains(&("bars", "damaged file")), "{named:?}");
    assert!(
        named.contains(&("open_interest", "damaged file")),
        "{named:?}"
    );
    assert!(
        gaps.iter()
            .all(|gap| gap.start >= day.0 && gap.end <= day.1)
    );
    // The last bar of the day goes on until the next one begins.
    let evening = TimeRange::new(day.1.back(1), day.1);
    let gaps = market.gaps(None, evening).unwrap();
    let tables: Vec<_> = gaps.iter().map(|gap| gap.holds.as_deref()).collect();
    assert_eq!(tables, [Some("bars")], "{gaps:?}");
    assert_eq!(gaps[0].end, day.1);
    // No order is missing, so that nothing is less covered.
    for venue in market.coverage(None, Window::H24).unwrap() {
        assert_eq!(venue.gaps, 0);
    }
    // Once the file is as it was again, so is the estimate, after the next read.
    fs::write(&bars, whole).unwrap();
    market
        .archive()
        .unwrap()
        .observed_bars(&Filter::default())
        .unwrap();
    let (again, damaged) = estimate_damage();
    assert_eq!((again, damaged.len()), (all, 1));
    said(&folder);
}

/// A handle on the journal of an archive, to damage it with.
fn journal(folder: &Folder) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap()
}

/// The number of orders of the last day of a market, and of damaged files.
fn orders_and_damage(market: &Market) -> (u64, usize) {
    let coins = market
        .answer(&Coins::new(Some("24h"), 9).unwrap(), None)
        .unwrap();
    let orders = coins.reply.iter().map(|coin| coin.cnt).sum();
    (
        orders,
        market
            .archive()
            .unwrap()
            .integrity()
            .damaged_files()
            .unwrap(),
    )
}

#[test]
fn a_journal_that_is_found_damaged_marks_all_answers_until_it_is_replaced() {
    let folder = in_journal();
    let path = folder.archive().join("journal.sqlite");
    let change = |change: &str| {
        let journal = journal(&folder);
        journal.execute_batch(change).unwrap();
        journal
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
    };
    change("");
    let whole = fs::read(&path).unwrap();
    let market = opened(&folder);
    let (all, damaged) = orders_and_damage(&market);
    assert_eq!(damaged, 0);
    for round in 0..2 {
        change("UPDATE orders SET qty = '9000000' WHERE id = (SELECT max(id) FROM orders)");
        let archive = market.archive().unwrap();
        for _ in 0..3 {
            archive.orders(&Filter::default()).unwrap_err();
            assert_eq!(orders_and_damage(&market), (all, 1), "{round}");
        }
        let mut lines = said(&folder);
        lines.retain(|line| line.contains("journal.sqlite is damaged"));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("has a wrong checksum"), "{lines:?}");

        let copy = folder.archive().join("copy");
        fs::write(&copy, &whole).unwrap();
        fs::rename(&copy, &path).unwrap();
        assert_eq!(orders_and_damage(&market), (all, 0), "{round}");
    }
}
