//! Bits that flip while nobody looks: whatever is read of an archive afterwards is what was written, or an error.

use std::fs;
use std::path::Path;

use liqdata::archive::{Archive, ArchiveError, Batch, Filter, Gap, OrderRow, Writer};
use liqdata::model::{Completeness, Millis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::place::{Folder, files};
use crate::rows::{START, bar, of_orders, order, reading};

/// All that an archive tells.
fn told(archive: &Archive) -> Result<impl PartialEq + std::fmt::Debug + use<>, ArchiveError> {
    let (start, end) = (Millis(START), Millis(START + 9 * Millis::DAY));
    let mut orders: Vec<OrderRow> = archive.orders(&Filter::default())?.rows;
    orders.sort_by(|a, b| a.dedupe_key.cmp(&b.dedupe_key));
    Ok((
        orders,
        archive.bars(&Filter::default(), Millis::MINUTE)?.rows,
        archive.open_interest(&Filter::default())?.rows,
        archive.gaps(start, end)?,
        archive.runs(start, end)?,
        archive.damage()?.len(),
    ))
}

fn fill(writer: &mut Writer) {
    let run = writer
        .begin_run("binance", Completeness::Sampled, Millis(START))
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
                }],
                seen: vec![(run, Millis(at(99)))],
                ..of_orders(rows.collect())
            })
            .unwrap();
    }
}

fn copied(from: &Path, to: &Path) {
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
    let right = told(&Archive::read(whole).unwrap()).unwrap();
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
        let found = Archive::read(&copy).and_then(|archive| told(&archive));
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

#[test]
fn a_flipped_bit_of_the_journal_changes_nothing_or_is_an_error() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    writer.roll(Millis(START + Millis::DAY)).unwrap();
    fill(&mut Archive::create_or_open(folder.path().join("other")).unwrap());
    drop(writer);
    // One with a day in files, one with all of it in the journal.
    let mut unharmed = 0;
    for archive in [folder.archive(), folder.path().join("other")] {
        let journal = archive.join("journal.sqlite");
        unharmed += flips(&archive, &folder, &journal, 200, 0..usize::MAX);
    }
    assert!(
        unharmed < 350,
        "{unharmed} of 400 flips changed nothing: too few were of anything that counts"
    );
}

#[test]
fn a_flipped_bit_of_the_log_is_an_error_but_in_its_last_transaction() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    let log = folder.archive().join("journal.sqlite-wal");
    let length = usize::try_from(fs::metadata(&log).unwrap().len()).unwrap();
    // As a kill leaves it.
    let killed = folder.path().join("killed");
    copied(&folder.archive(), &killed);
    fs::remove_file(killed.join("journal.sqlite-shm")).unwrap();
    let log = killed.join("journal.sqlite-wal");
    // What the last transaction may lose cannot be told from one that was never finished.
    flips(&killed, &folder, &log, 100, 0..length * 3 / 4);
    drop(writer);
}

#[test]
fn a_flipped_bit_of_a_file_is_found_and_named() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    fill(&mut writer);
    writer.roll(Millis(START + 2 * Millis::DAY)).unwrap();
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
                .verify()
                .unwrap();
            assert_eq!(verified.damaged.len(), 1);
            assert_eq!(verified.damaged[0].path, file);
            bytes.clone_from(&whole);
        }
        fs::write(&file, &whole).unwrap();
    }
}
