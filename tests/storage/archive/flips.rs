//! Flipped bits: an archive returns the values that were written, or an error.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use liqdata::archive::{
    Archive, ArchiveError, Batch, DayCorrection, Filter, Gap, OrderRow, RawLine, RawLineKind,
    RawQueue, RawRetention, Writer,
};
use liqdata::model::{Completeness, Millis, PeriodLength};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::archive::folder::{Folder, files};
use crate::archive::maps::map;
use crate::archive::rows::{START, bar, of_orders, order, position, reading};

/// All rows, gaps and sessions of an archive.
fn contents(archive: &Archive) -> Result<impl PartialEq + std::fmt::Debug + use<>, ArchiveError> {
    let (start, end) = (Millis(START), Millis(START + 9 * Millis::DAY));
    let mut orders: Vec<OrderRow> = archive.orders(&Filter::default())?.rows;
    orders.sort_by(|a, b| a.dedupe_key.cmp(&b.dedupe_key));
    Ok((
        orders,
        archive
            .bars(&Filter::default(), PeriodLength::Fixed(Millis::MINUTE))?
            .rows,
        archive.open_interest(&Filter::default())?.rows,
        archive.coverage().gaps(start, end)?,
        archive.coverage().sessions(start, end)?,
        archive.integrity().damage()?.len(),
    ))
}

fn fill(writer: &mut Writer) {
    let run = writer
        .begin_session("binance", Completeness::Sampled, Millis(START))
        .unwrap();
    for some in 0..8_u64 {
        let at = |key: u64| START + i64::try_from(some * 100 + key).unwrap() * 200_000;
        let rows = (0..100).map(|key| order(some * 100 + key, at(key)));
        let minutes = i64::try_from(some).unwrap() * 60;
        writer
            .append(&Batch {
                bars: (minutes..minutes + 60)
                    .map(|minute| bar("BTC", minute, 100 + minute))
                    .collect(),
                open_interest: vec![reading("BTC", at(0))],
                gaps: vec![Gap {
                    exchange: "okx".to_owned(),
                    start: Millis(at(0)),
                    end: Millis(at(1)),
                    reason: "a test".to_owned(),
                    recorded_at: Millis(at(1)),
                    ..Gap::default()
                }],
                seen: vec![(run, Millis(at(99)))],
                ..of_orders(rows.collect())
            })
            .unwrap();
    }
}

pub(crate) fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Flips one bit of a file in each of many copies, and counts those of which nothing was noticed because nothing had
/// changed.
fn flips(
    whole: &Path,
    folder: &Folder,
    file: &Path,
    rounds: u32,
    within: std::ops::Range<usize>,
) -> u32 {
    let relative = file.strip_prefix(whole).unwrap();
    let right = contents(&Archive::read(whole).unwrap()).unwrap();
    let mut chance = ChaCha8Rng::seed_from_u64(13);
    let mut unharmed = 0;
    for round in 0..rounds {
        let copy = folder.path().join(format!("copy-{round}"));
        copied(whole, &copy);
        let mut bytes = fs::read(copy.join(relative)).unwrap();
        let place = chance.random_range(within.start..within.end.min(bytes.len()));
        let bit = chance.random_range(0..8);
        bytes[place] ^= 1 << bit;
        fs::write(copy.join(relative), bytes).unwrap();
        let found = Archive::read(&copy).and_then(|archive| contents(&archive));
        match found {
            Ok(found) => {
                assert_eq!(
                    found,
                    right,
                    "bit {bit} of byte {place} of {}",
                    relative.display()
                );
                unharmed += 1;
            }
            Err(
                ArchiveError::Damaged { .. }
                | ArchiveError::NotAnArchive { .. }
                | ArchiveError::ReadOnly { .. },
            ) => {}
            Err(fault) => panic!("bit {bit} of byte {place}: {fault}"),
        }
        fs::remove_dir_all(copy).unwrap();
    }
    unharmed
}

/// Whether the long forms run.
fn is_soak() -> bool {
    std::env::var_os("LIQDATA_SOAK").is_some()
}

#[test]
fn a_flipped_bit_of_the_journal_changes_nothing_or_is_an_error() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    fill(&mut Archive::create_or_open(folder.path().join("other")).unwrap());
    drop(writer);
    let rounds = if is_soak() { 200 } else { 60 };
    // One with a day in files, one with all of it in the journal.
    let mut unharmed = 0;
    for archive in [folder.archive(), folder.path().join("other")] {
        let journal = archive.join("journal.sqlite");
        unharmed += flips(&archive, &folder, &journal, rounds, 0..usize::MAX);
    }
    assert!(
        unharmed < rounds * 7 / 4,
        "{unharmed} of {rounds} flips in each changed nothing: too few were of anything that counts"
    );
}

/// Times of rows, their kind unless they are orders, and their content.
type Rows = BTreeSet<(Millis, Option<&'static str>, String)>;

fn rows(archive: &Archive) -> Rows {
    let orders = archive.orders(&Filter::default()).unwrap().rows;
    let orders = orders
        .into_iter()
        .map(|row| (row.order.timestamp, None, format!("{row:?}")));
    let bars = archive.observed_bars(&Filter::default()).unwrap().rows;
    let bars = bars
        .into_iter()
        .map(|row| (row.timestamp, Some("bars"), format!("{row:?}")));
    let readings = archive.open_interest(&Filter::default()).unwrap().rows;
    let readings = readings
        .into_iter()
        .map(|row| (row.timestamp, Some("open_interest"), format!("{row:?}")));
    orders.chain(bars).chain(readings).collect()
}

/// An archive as a kill leaves it: all of it is in the log of its journal.
fn killed(folder: &Folder) -> PathBuf {
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    let killed = folder.path().join("killed");
    copied(&folder.archive(), &killed);
    fs::remove_file(killed.join("journal.sqlite-shm")).unwrap();
    killed
}

#[test]
fn a_truncated_log_leaves_whole_transactions() {
    let folder = Folder::new();
    let killed = killed(&folder);
    let right = rows(&Archive::read(folder.archive()).unwrap());
    let whole = fs::read(killed.join("journal.sqlite-wal")).unwrap();
    // The first of the seven parts is the creation of the tables.
    for (part, is_zeros) in [(2, true), (3, false), (4, true), (5, false), (6, true)] {
        let copy = folder.path().join("copy");
        copied(&killed, &copy);
        let mut log = whole.clone();
        let end = whole.len() * part / 7;
        if is_zeros {
            log[end..].fill(0);
        } else {
            log.truncate(end);
        }
        fs::write(copy.join("journal.sqlite-wal"), log).unwrap();
        let left = rows(&Archive::read(&copy).unwrap());
        assert!(left.is_subset(&right) && left.len() < right.len());
        let orders = left.iter().filter(|(_, kind, _)| kind.is_none()).count();
        assert_eq!(left.len(), orders / 100 * 161, "orders, bars and a reading");
        fs::remove_dir_all(copy).unwrap();
    }
}

#[test]
fn a_flipped_bit_of_the_log_leaves_the_transactions_before_it() {
    let folder = Folder::new();
    let killed = killed(&folder);
    let right = rows(&Archive::read(folder.archive()).unwrap());
    let whole = fs::read(killed.join("journal.sqlite-wal")).unwrap();
    let mut chance = ChaCha8Rng::seed_from_u64(13);
    for _ in 0..30 {
        let copy = folder.path().join("copy");
        copied(&killed, &copy);
        let mut log = whole.clone();
        let place = chance.random_range(0..log.len());
        log[place] ^= 1 << chance.random_range(0..8);
        fs::write(copy.join("journal.sqlite-wal"), log).unwrap();
        // Without any transaction there is no archive yet.
        if let Ok(reader) = Archive::read(&copy) {
            let left = rows(&reader);
            assert!(left.is_subset(&right), "byte {place}");
            let orders = left.iter().filter(|(_, kind, _)| kind.is_none()).count();
            assert_eq!(left.len(), orders / 100 * 161, "orders, bars and a reading");
        }
        fs::remove_dir_all(copy).unwrap();
    }
}

#[test]
fn a_flipped_bit_of_a_file_is_found_and_named() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    drop(writer);
    for file in files(&folder.archive(), "parquet") {
        let mut bytes = fs::read(&file).unwrap();
        let whole = bytes.clone();
        let mut chance = ChaCha8Rng::seed_from_u64(31);
        for _ in 0..30 {
            let place = chance.random_range(0..bytes.len());
            bytes[place] ^= 1 << chance.random_range(0..8);
            fs::write(&file, &bytes).unwrap();
            let verified = Archive::to_verify(folder.archive())
                .unwrap()
                .integrity()
                .verify()
                .unwrap();
            assert_eq!(verified.damaged.len(), 1);
            assert_eq!(verified.damaged[0].path, file);
            bytes.clone_from(&whole);
        }
        fs::write(&file, &whole).unwrap();
    }
}

/// An archive that has a file of every kind: of each sort of rows, some of them superseded since, frames as they came, and what
/// lies in the journal.
pub(crate) fn of_all_kinds(folder: &Folder) {
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    for day in 0..2 {
        let bars = (day * 288)..(day * 288 + 20);
        let at = START + day * Millis::DAY;
        let rows = Batch {
            maps: bars.map(|bar| map("heatmap", "BTC", bar)).collect(),
            positions: vec![position("a", "BTC", at), position("b", "ETH", at)],
            ..Batch::default()
        };
        writer.append(&rows).unwrap();
    }
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    let mut corrected = order(3, START + 3 * 200_000);
    corrected.order.qty += rust_decimal::Decimal::ONE;
    let revision = DayCorrection {
        corrected: vec![corrected],
        ..DayCorrection::default()
    };
    writer.supersede(Millis(START), &revision).unwrap();
    drop(writer);
    let plenty = RawRetention {
        days: 36_500,
        bytes: 1 << 30,
    };
    let inbox = RawQueue::start(&folder.archive(), plenty, || false).unwrap();
    for number in 0..50 {
        let at = Millis(START + number);
        inbox.offer(RawLine {
            frame: format!("{{\"number\":{number}}}"),
            ..RawLine::new("okx", at, RawLineKind::Socket)
        });
    }
    inbox.stop();
}

/// Every row of every kind as text, and whether it is said that something is missing.
struct Everything {
    rows: Vec<String>,
    is_marked: bool,
}

fn everything(archive: &Archive) -> Result<Everything, ArchiveError> {
    fn texts<R: std::fmt::Debug>(kind: &str, rows: &[R]) -> Vec<String> {
        rows.iter().map(|row| format!("{kind} {row:?}")).collect()
    }
    let all = Filter::default();
    let before = Filter {
        as_of: Some(Millis(START + 9 * Millis::DAY)),
        ..Filter::default()
    };
    let (start, end) = (Millis(START), Millis(START + 9 * Millis::DAY));
    let (orders, earlier) = (archive.orders(&all)?, archive.orders(&before)?);
    let bars = archive.observed_bars(&all)?;
    let readings = archive.open_interest(&all)?;
    let maps = archive.maps(&all, None)?;
    let positions = archive.positions(&all)?;
    let mut rows = texts("now", &orders.rows);
    rows.extend(texts("before", &earlier.rows));
    rows.extend(texts("bar", &bars.rows));
    rows.extend(texts("reading", &readings.rows));
    rows.extend(texts("map", &maps.rows));
    rows.extend(texts("position", &positions.rows));
    let gaps = archive.coverage().gaps(start, end)?;
    let is_damage = |gap: &Gap| gap.reason == "damaged file";
    rows.extend(texts("run", &archive.coverage().sessions(start, end)?));
    let mut is_marked = !archive.integrity().damage()?.is_empty() || gaps.iter().any(is_damage);
    let others: Vec<_> = gaps.into_iter().filter(|gap| !is_damage(gap)).collect();
    rows.extend(texts("gap", &others));
    for part in archive.raw().files()? {
        let mut lines = archive.raw().lines(&part)?;
        let read: Vec<RawLine> = lines.by_ref().collect();
        // What has no checksum behind it is never taken for what came.
        if lines.fault().is_some() || lines.is_cut() {
            is_marked = true;
        } else {
            rows.extend(texts("frame", &read));
        }
    }
    rows.sort();
    Ok(Everything { rows, is_marked })
}

#[test]
fn a_flipped_bit_of_any_file_leaves_equal_values_a_mark_or_an_error() {
    let folder = Folder::new();
    of_all_kinds(&folder);
    let whole = folder.archive();
    let right = everything(&Archive::read(&whole).unwrap()).unwrap();
    assert!(!right.is_marked);
    for kind in [
        "now", "before", "bar", "reading", "map", "position", "run", "gap", "frame",
    ] {
        let of_kind = |row: &&String| row.starts_with(kind);
        assert!(right.rows.iter().find(of_kind).is_some(), "{kind}");
    }
    let all = files(&whole, "");
    for kind in [
        "orders/",
        "bars/",
        "open_interest/",
        "maps/",
        "positions/",
        "raw/",
        "journal.sqlite",
    ] {
        let is_there = |file: &&std::path::PathBuf| file.to_string_lossy().contains(kind);
        assert!(all.iter().find(is_there).is_some(), "{kind}");
    }
    let mut chance = ChaCha8Rng::seed_from_u64(47);
    let (mut equal, mut marked, mut refused) = (0, 0, 0);
    let rounds = if is_soak() { 20 } else { 7 };
    for file in &all {
        let bytes = fs::read(file).unwrap();
        for _ in 0..rounds {
            if bytes.is_empty() {
                continue;
            }
            let mut flipped = bytes.clone();
            let place = chance.random_range(0..flipped.len());
            let bit = chance.random_range(0..8);
            flipped[place] ^= 1 << bit;
            let copy = folder.path().join("flipped");
            copied(&whole, &copy);
            fs::write(copy.join(file.strip_prefix(&whole).unwrap()), flipped).unwrap();
            let at = format!("bit {bit} of byte {place} of {}", file.display());
            match Archive::read(&copy).and_then(|archive| everything(&archive)) {
                Ok(found) if found.rows == right.rows => equal += 1,
                Ok(found) => {
                    assert!(found.is_marked, "{at}: something is missing without a word");
                    let foreign = |row: &&String| right.rows.binary_search(row).is_err();
                    assert_eq!(found.rows.iter().find(foreign), None, "{at}");
                    marked += 1;
                }
                Err(
                    ArchiveError::Damaged { .. }
                    | ArchiveError::NotAnArchive { .. }
                    | ArchiveError::ReadOnly { .. },
                ) => refused += 1,
                Err(fault) => panic!("{at}: {fault}"),
            }
            fs::remove_dir_all(copy).unwrap();
        }
    }
    println!(
        "{} files: {equal} equal, {marked} marked, {refused} refused",
        all.len()
    );
    assert!(
        marked > 2 * rounds && refused > 0,
        "{marked} {refused} of {rounds}"
    );
}
