//! Files that are not what was written: found, named, set aside, and the rest served.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use liqdata::archive::{
    Archive, ArchiveError, ArrivalPosition, Batch, Filter, OrderFold, OrderRow, Writer,
};
use liqdata::model::{Completeness, Millis, OrderBrief};

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, all_orders, bar, of_orders, order, sorted};

/// An archive of three days, one file each, and the rows of the second and the others.
fn three_days(folder: &Folder) -> (Writer, Vec<OrderRow>, Vec<OrderRow>) {
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<OrderRow> = (0..90)
        .map(|key| order(key, START + i64::try_from(key / 30).unwrap() * Millis::DAY))
        .collect();
    writer.append(&of_orders(rows.clone())).unwrap();
    writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    let second = Millis(START + Millis::DAY);
    let (hit, rest) = rows
        .into_iter()
        .partition(|row| row.order.timestamp == second);
    (writer, hit, sorted(rest))
}

fn truncate(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length / 2).unwrap();
}

fn flip(path: &Path) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let place = file.metadata().unwrap().len() / 2;
    let mut byte = [0];
    file.read_exact_at(&mut byte, place).unwrap();
    file.write_all_at(&[byte[0] ^ 1], place).unwrap();
}

fn lose(path: &Path) {
    fs::remove_file(path).unwrap();
}

fn second(folder: &Folder) -> PathBuf {
    files(&folder.archive(), "parquet")[1].clone()
}

#[test]
fn a_damaged_file_is_named_and_the_rest_is_served() {
    for (damage, word) in [
        (truncate as fn(&Path), "bytes"),
        (flip, "SHA-256"),
        (lose, "missing"),
    ] {
        let folder = Folder::new();
        let (writer, hit, rest) = three_days(&folder);
        let path = second(&folder);
        drop(writer);
        damage(&path);
        let reader = Archive::read(folder.archive()).unwrap();
        let scan = reader.orders(&Filter::default()).unwrap();
        assert_eq!(scan.rows, rest, "{word}");
        assert_eq!(scan.damaged.len(), 1, "{word}");
        let named = &scan.damaged[0];
        assert_eq!((named.path.as_path(), named.rows), (path.as_path(), 30));
        assert_eq!(named.first, hit[0].order.timestamp);
        assert!(named.reason.contains(word), "{}", named.reason);

        // Without a writer a reader reports the gap at once, as of any instant.
        let (start, end) = (Millis(START), Millis(START + 3 * Millis::DAY));
        for as_of in [None, Some(named.first)] {
            let gaps = reader.coverage().gaps_known(start, end, as_of).unwrap();
            let exchanges: Vec<_> = gaps.iter().map(|gap| gap.exchange.as_str()).collect();
            assert_eq!(exchanges, ["binance", "bybit", "okx"], "{word}");
            assert!(
                gaps.iter()
                    .all(|gap| gap.start == named.first && gap.reason == "damaged file")
            );
        }
        let day = reader
            .coverage()
            .by_exchange(named.first, named.last.on(1))
            .unwrap();
        let counts: Vec<_> = day.iter().map(|venue| (venue.cnt, venue.gaps)).collect();
        assert_eq!(counts, [(0, 1); 3], "{word}");

        let verified = reader.integrity().verify().unwrap();
        assert!(!verified.is_sound());
        assert_eq!(verified.damaged, scan.damaged);
        assert_eq!((verified.sound, verified.rows), (2, 60));
        drop(reader);

        // The writer takes it out of the tree, so that no other engine reads it either.
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.quarantine().unwrap();
        assert!(!path.exists());
        let quarantined = files(&folder.archive().join("damaged"), "parquet");
        assert_eq!(quarantined.len(), usize::from(word != "missing"));
        assert_eq!(writer.archive().orders(&Filter::default()).unwrap(), scan);
        assert_eq!(
            writer.archive().integrity().verify().unwrap().damaged,
            scan.damaged
        );

        // What is missing is on record as a gap of every exchange the file had rows of.
        let gaps = writer
            .archive()
            .coverage()
            .gaps(Millis(START), Millis(START + 3 * Millis::DAY))
            .unwrap();
        assert_eq!(gaps.len(), 3, "{gaps:?}");
        assert!(gaps.iter().all(|gap| gap.reason == "damaged file"));
        assert!(gaps.iter().all(|gap| gap.start == named.first));

        // And rows that are sent again are kept again.
        let again = writer.append(&of_orders(hit.clone())).unwrap();
        assert_eq!(again.orders, 30);
        writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
        let mut all = rest.clone();
        all.extend(hit);
        assert_eq!(
            writer.archive().orders(&Filter::default()).unwrap().rows,
            sorted(all)
        );
    }
}

#[test]
fn a_file_damaged_under_an_open_reader_is_found() {
    let folder = Folder::new();
    let (writer, ..) = three_days(&folder);
    assert_eq!(all_orders(writer.archive()).len(), 90);
    truncate(&second(&folder));
    let scan = writer.archive().orders(&Filter::default()).unwrap();
    assert_eq!((scan.rows.len(), scan.damaged.len()), (60, 1));
}

#[test]
fn a_compaction_quarantines_a_damaged_file_of_its_day() {
    let folder = Folder::new();
    let (mut writer, hit, _) = three_days(&folder);
    let path = second(&folder);
    flip(&path);
    // Ten of the lost rows come again, late.
    writer.append(&of_orders(hit[..10].to_vec())).unwrap();
    let rolled = writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    assert_eq!((rolled.rows, rolled.repeated), (10, 0));
    assert!(!path.exists());
    let scan = writer.archive().orders(&Filter::default()).unwrap();
    assert_eq!((scan.rows.len(), scan.damaged.len()), (70, 1));
}

#[test]
fn a_damaged_file_overwrites_no_other_in_quarantine() {
    let folder = Folder::new();
    let (mut writer, ..) = three_days(&folder);
    let damaged = second(&folder);
    truncate(&damaged);
    let below = damaged.strip_prefix(folder.archive()).unwrap();
    let theirs = folder.archive().join("damaged").join(below);
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    fs::write(&theirs, "another file").unwrap();
    writer.quarantine().unwrap();
    assert!(!damaged.exists());
    assert_eq!(fs::read(&theirs).unwrap(), b"another file");
    assert_eq!(fs::read_dir(theirs.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn a_file_that_someone_else_put_there_is_reported_and_left_alone() {
    let folder = Folder::new();
    let (mut writer, ..) = three_days(&folder);
    let stranger = second(&folder).with_file_name("mine.parquet");
    fs::copy(second(&folder), &stranger).unwrap();
    assert_eq!(
        writer.archive().integrity().verify().unwrap().unlisted,
        std::slice::from_ref(&stranger)
    );
    assert_eq!(all_orders(writer.archive()).len(), 90);
    writer.quarantine().unwrap();
    drop(writer);
    drop(Archive::create_or_open(folder.archive()).unwrap());
    assert!(stranger.exists());
}

#[test]
fn a_damaged_journal_is_an_error_and_no_answer() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..2000).map(|key| order(key, START)).collect();
    writer.append(&of_orders(rows)).unwrap();
    drop(writer);
    let journal = folder.archive().join("journal.sqlite");
    let file = OpenOptions::new().write(true).open(&journal).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    // The tables are listed on the first pages, the rows lie behind.
    for page in pages / 2..pages {
        file.write_all_at(&[0xAB; 4096], page * 4096).unwrap();
    }
    let fault = Archive::read(folder.archive()).unwrap_err();
    assert!(matches!(fault, ArchiveError::Damaged { .. }), "{fault}");
    let verified = Archive::to_verify(folder.archive())
        .unwrap()
        .integrity()
        .verify();
    assert!(!verified.unwrap().is_sound());
}

#[test]
fn a_damaged_row_is_refused_by_reads_compaction_and_repair() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..60)
        .map(|key| order(key, START + i64::try_from(key).unwrap() * 1000))
        .collect();
    writer
        .append(&Batch {
            bars: vec![bar("BTC", 0, 100)],
            ..of_orders(rows.clone())
        })
        .unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, Millis(START))
        .unwrap();
    writer
        .append(&Batch {
            seen: vec![(run, Millis(START + 60_000))],
            ..Batch::default()
        })
        .unwrap();
    drop(writer);
    let path = folder.archive().join("journal.sqlite");
    let journal = rusqlite::Connection::open(&path).unwrap();
    journal
        .execute_batch("UPDATE orders SET price = '1' WHERE id = 31; UPDATE bars SET close = '7'")
        .unwrap();
    drop(journal);

    let fault = Archive::read(folder.archive()).unwrap_err().to_string();
    assert!(fault.contains("row 31 of table orders"), "{fault}");
    assert!(fault.contains("1 more"), "{fault}");
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let refused = writer.compact(Millis(START + Millis::DAY)).unwrap_err();
    assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
    drop(writer);
    let before = fs::read(&path).unwrap();
    let refused = repair_refused(&folder);
    assert!(refused.contains("row 31 of table orders"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_row_that_changes_under_an_open_reader_is_refused_and_the_check_names_it() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..10).map(|key| order(key, START)).collect();
    writer.append(&of_orders(rows)).unwrap();
    drop(writer);
    let reader = Archive::read(folder.archive()).unwrap();
    let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
    journal
        .execute_batch("UPDATE orders SET value_usd = '9e9' WHERE id = 4")
        .unwrap();
    drop(journal);
    let fault = reader.orders(&Filter::default()).unwrap_err();
    assert!(
        fault.to_string().contains("row 4 of table orders"),
        "{fault}"
    );
    let another = Archive::read(folder.archive()).unwrap_err();
    assert!(
        another.to_string().contains("row 4 of table orders"),
        "{another}"
    );
    // What a read has met, a look meets again.
    for _ in 0..2 {
        assert_eq!(reader.integrity().damaged_files().unwrap(), 1);
        let damage = reader.integrity().damage().unwrap();
        assert_eq!((damage.len(), damage[0].holds.as_str()), (1, "journal"));
        assert!(!reader.integrity().verify().unwrap().is_sound());
    }
}

#[derive(Default)]
struct Counted(u64);

impl OrderFold for Counted {
    fn take(&mut self, _: OrderBrief<'_>) {
        self.0 += 1;
    }
}

fn count(archive: &Archive, filter: &Filter) -> Result<u64, ArchiveError> {
    let (shares, _) = archive.fold_orders(filter, Counted::default)?;
    Ok(shares.iter().map(|share| share.0).sum())
}

/// The error of a repair of an archive with a damaged journal: it names the remedies.
fn repair_refused(folder: &Folder) -> String {
    let refused = Archive::repair(folder.archive(), &mut |_, _| true).unwrap_err();
    assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
    let refused = refused.to_string();
    for way_out in [
        "from a copy",
        "sqlite3 journal.sqlite .recover",
        "verify --repair",
    ] {
        assert!(refused.contains(way_out), "{refused}");
    }
    refused
}

/// An archive with so many orders in a journal too large for a check at its opening, and a connection to that journal.
fn large(folder: &Folder, orders: u64) -> rusqlite::Connection {
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows = (0..orders).map(|key| order(key, START + i64::try_from(key).unwrap() * 1000));
    writer.append(&of_orders(rows.collect())).unwrap();
    drop(writer);
    let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
    journal
        .execute_batch(
            "CREATE TABLE large (bytes BLOB); INSERT INTO large VALUES (zeroblob(70000000));
             PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
    journal
}

/// Where the pages of a table of a journal lie in its file: that of pages, and the first of lines.
fn pages(journal: &rusqlite::Connection, bytes: &[u8], table: &str) -> (usize, usize) {
    let number = |query: &str| -> u32 { journal.query_row(query, [], |row| row.get(0)).unwrap() };
    let page = usize::try_from(number("PRAGMA page_size")).unwrap();
    let root = number(&format!(
        "SELECT rootpage FROM sqlite_master WHERE name = '{table}'"
    ));
    let at = |number: u32| usize::try_from(number - 1).unwrap() * page;
    let root = at(root);
    assert_eq!(bytes[root], 5, "a page of pages");
    let cell = root + usize::from(u16::from_be_bytes([bytes[root + 12], bytes[root + 13]]));
    let leaf = at(u32::from_be_bytes(
        bytes[cell..cell + 4].try_into().unwrap(),
    ));
    assert_eq!(bytes[leaf], 13, "a page of lines");
    (page, leaf)
}

/// Damages the first page of lines of a table of an archive's journal, and gives where the journal lies.
fn damage_first(
    folder: &Folder,
    journal: rusqlite::Connection,
    table: &str,
    damage: impl FnOnce(&mut [u8]),
) -> PathBuf {
    let path = folder.archive().join("journal.sqlite");
    let mut bytes = fs::read(&path).unwrap();
    let (page, leaf) = pages(&journal, &bytes, table);
    drop(journal);
    damage(&mut bytes[leaf..leaf + page]);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn rows_behind_a_damaged_page_are_never_summed() {
    // One line less than the page has, a page of nothing, and one with nothing sound in it.
    let damages: [fn(&mut [u8]); 3] = [
        |page| page[4] -= 1,
        |page| page.fill(0),
        |page| page.fill(0xA5),
    ];
    for damage in damages {
        let folder = Folder::new();
        let journal = large(&folder, 400);
        damage_first(&folder, journal, "orders", damage);

        let everything = Filter::default();
        let reader = Archive::read(folder.archive()).unwrap();
        let refused = count(&reader, &everything).unwrap_err();
        assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
        let refused = reader
            .visit_orders(&everything, || (), |(), _| ())
            .unwrap_err();
        assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
        drop(reader);

        repair_refused(&folder);
    }
}

#[test]
fn a_last_row_id_below_an_assigned_one_is_damage() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..10).map(|key| order(key, START)).collect();
    writer.append(&of_orders(rows)).unwrap();
    writer.compact(Millis(START + 9 * Millis::DAY)).unwrap();
    drop(writer);
    let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
    journal
        .execute_batch("UPDATE sqlite_sequence SET seq = 3 WHERE name = 'orders'")
        .unwrap();
    let refused = Archive::read(folder.archive()).unwrap_err().to_string();
    assert!(
        refused.contains("the last row id of table orders is 10, but the journal records 3"),
        "{refused}"
    );
    drop(journal);
    repair_refused(&folder);
}

#[test]
fn a_changed_column_name_costs_no_row() {
    let folder = Folder::new();
    drop(large(&folder, 400));
    let path = folder.archive().join("journal.sqlite");
    // It may stand where nothing counts any more, too.
    let renamed = |mut bytes: Vec<u8>, from: &[u8; 16], to: &[u8; 16]| {
        let places = bytes.windows(from.len()).enumerate();
        let places = places.filter(|(_, some)| some == from);
        let places: Vec<_> = places.map(|(at, _)| at).collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
        fs::write(&path, bytes).unwrap();
    };
    let (name, other) = (b"\"qty\" TEXT NOT N", b"\"quy\" TEXT NOT N");
    renamed(fs::read(&path).unwrap(), name, other);
    let refused = repair_refused(&folder);
    assert!(refused.contains("qty"), "{refused}");
    let refused =
        Archive::read(folder.archive()).and_then(|reader| reader.orders(&Filter::default()));
    assert!(refused.is_err());
    // Nothing was made of it: with its name every row is there.
    renamed(fs::read(&path).unwrap(), other, name);
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(count(&reader, &Filter::default()).unwrap(), 400);
}

#[test]
fn bars_hidden_by_a_damaged_page_are_an_error_for_every_read() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let bars = (0..400).map(|minute| bar("BTC", minute, 100)).collect();
    writer
        .append(&Batch {
            bars,
            ..Batch::default()
        })
        .unwrap();
    drop(writer);
    let journal = large(&folder, 1);
    damage_first(&folder, journal, "bars", |page| page[4] -= 1);
    let reader = Archive::read(folder.archive()).unwrap();
    let of_coin = Filter {
        coin: Some("BTC".to_owned()),
        ..Filter::default()
    };
    for filter in [Filter::default(), of_coin] {
        let read = reader.observed_bars(&filter);
        assert!(
            matches!(read, Err(ArchiveError::Damaged { .. })),
            "{filter:?}"
        );
    }
}

#[test]
fn an_order_with_an_unassigned_row_id_is_refused() {
    let folder = Folder::new();
    let journal = large(&folder, 60);
    for number in [1_000_000_000_000, i64::MAX] {
        journal
            .execute("UPDATE orders SET id = ?1 WHERE id > 59", [number])
            .unwrap();
        let reader = Archive::read(folder.archive()).unwrap();
        let refused = count(&reader, &Filter::default()).unwrap_err().to_string();
        let wanted = format!("row {number} of table orders has an id above the last assigned one");
        assert!(refused.contains(&wanted), "{refused}");
    }
}

#[test]
fn a_changed_row_of_a_large_journal_is_refused_by_every_read() {
    let folder = Folder::new();
    let journal = large(&folder, 60);
    let everything = Filter::default();
    let whole = Archive::read(folder.archive()).unwrap();
    assert_eq!(count(&whole, &everything).unwrap(), 60);

    // A number that would be another one, and a name by which it would not be found.
    for change in ["qty = '9000000'", "coin = 'WRONG'"] {
        journal
            .execute_batch(&format!("UPDATE orders SET {change} WHERE id = 31"))
            .unwrap();
        let reader = Archive::read(folder.archive()).unwrap();
        let of_coin = Filter {
            coin: Some("BTC".to_owned()),
            ..Filter::default()
        };
        let results = [
            count(&reader, &everything).map(drop),
            count(&reader, &of_coin).map(drop),
            reader
                .visit_orders(&everything, || (), |(), _| ())
                .map(drop),
            reader.arrivals(0, 100, &mut |_| ()).map(drop),
            reader
                .tail(ArrivalPosition::default(), 100, &mut |_| ())
                .map(drop),
        ];
        for refused in results {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
            let refused = refused.to_string();
            assert!(
                refused.contains("row 31 of table orders"),
                "{change}: {refused}"
            );
        }
    }
}
