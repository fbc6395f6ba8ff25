//! One writer, any number of readers.

use std::fs;

use liqdata::archive::{Archive, ArchiveError, Filter};

use crate::archive::child::Process;
use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, all_orders, of_orders, order};

#[test]
fn a_second_writer_is_refused_with_the_process_id_of_the_first() {
    let folder = Folder::new();
    let mut process = Process::start(&folder.archive(), "append");
    process.read_report("open").unwrap();
    let refused = Archive::create_or_open(folder.archive()).unwrap_err();
    let ArchiveError::Locked { pid, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(*pid, Some(process.id()));
    let message = refused.to_string();
    assert!(
        message.contains(&format!("process {} since 20", process.id())),
        "{message}"
    );
    assert_eq!(refused.path(), Some(folder.archive().as_path()));

    // A dead writer has no lock, although its lock file exists.
    process.kill();
    assert!(
        fs::read_to_string(folder.archive().join("writer.lock"))
            .unwrap()
            .contains("pid")
    );
    drop(Archive::create_or_open(folder.archive()).unwrap());
}

#[test]
fn a_second_writer_in_one_process_is_refused_until_the_first_is_gone() {
    let folder = Folder::new();
    let first = Archive::create_or_open(folder.archive()).unwrap();
    let refused = Archive::create_or_open(folder.archive()).unwrap_err();
    assert!(
        matches!(refused, ArchiveError::Locked { pid: Some(pid), .. } if pid == std::process::id())
    );
    drop(first);
    Archive::create_or_open(folder.archive()).unwrap();
}

#[test]
fn a_concurrent_reader_sees_acknowledged_rows() {
    let folder = Folder::new();
    let mut process = Process::start(&folder.archive(), "append");
    process.read_report("open").unwrap();
    let reader = Archive::read(folder.archive()).unwrap();
    let other = Archive::read(folder.archive()).unwrap();
    assert!(all_orders(&reader).is_empty());
    let mut version = reader.version().unwrap();
    for count in 1..=20 {
        process.send_line("one more");
        process.read_report("durable").unwrap();
        assert_eq!(all_orders(&reader).len(), count);
        assert_eq!(all_orders(&other).len(), count);
        let now = reader.version().unwrap();
        assert_ne!(now, version);
        version = now;
    }
    assert_eq!(reader.version().unwrap(), version);
}

#[test]
fn a_missing_or_foreign_folder_is_not_read_as_an_archive() {
    let folder = Folder::new();
    for (name, make) in [
        ("missing", None),
        ("empty", Some("")),
        (
            "foreign",
            Some(
                "a file of something else, long enough to be read as a database header, which it is not",
            ),
        ),
    ] {
        let archive = folder.path().join(name);
        if let Some(text) = make {
            fs::create_dir(&archive).unwrap();
            fs::write(archive.join("journal.sqlite"), text).unwrap();
        }
        let refused = Archive::read(&archive).unwrap_err();
        assert!(
            matches!(refused, ArchiveError::NotAnArchive { .. }),
            "{name}: {refused}"
        );
    }
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let database = rusqlite::Connection::open(other.join("journal.sqlite")).unwrap();
    database.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(database);
    for refused in [
        Archive::read(&other).unwrap_err(),
        Archive::create_or_open(&other).unwrap_err(),
    ] {
        assert!(refused.to_string().contains("another program"), "{refused}");
    }
}

#[test]
fn a_folder_in_use_is_not_made_an_archive() {
    let folder = Folder::new();
    fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    let refused = Archive::create_or_open(folder.path()).unwrap_err();
    assert!(refused.to_string().contains("thesis.txt"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(0, START)])).unwrap();
    writer.compact(liqdata::model::Millis(i64::MAX)).unwrap();
    drop(writer);
    fs::remove_file(folder.archive().join("journal.sqlite")).unwrap();
    let refused = Archive::create_or_open(folder.archive()).unwrap_err();
    for way_out in ["restore that file", "`liqdata verify --repair`"] {
        assert!(refused.to_string().contains(way_out), "{refused}");
    }
}

#[test]
fn a_writer_with_a_deleted_or_replaced_lock_file_commits_nothing() {
    for replaced in [false, true] {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.append(&of_orders(vec![order(0, START)])).unwrap();
        let lock = folder.archive().join("writer.lock");
        fs::remove_file(&lock).unwrap();
        let second = replaced.then(|| Archive::create_or_open(folder.archive()).unwrap());
        let refused = writer
            .append(&of_orders(vec![order(1, START)]))
            .unwrap_err();
        assert!(
            matches!(refused, ArchiveError::Replaced { .. }),
            "{refused}"
        );
        let word = if replaced { "replaced" } else { "deleted" };
        assert!(refused.to_string().contains(word), "{refused}");
        drop((writer, second));
        let reader = Archive::read(folder.archive()).unwrap();
        assert_eq!(all_orders(&reader).len(), 1);
    }
}

#[test]
fn a_writer_with_a_deleted_lock_file_moves_no_damaged_file() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(0, START)])).unwrap();
    writer.compact(liqdata::model::Millis(i64::MAX)).unwrap();
    let file = files(&folder.archive(), "parquet").remove(0);
    fs::write(&file, "short").unwrap();
    fs::remove_file(folder.archive().join("writer.lock")).unwrap();
    let refused = writer.quarantine().unwrap_err();
    assert!(
        matches!(refused, ArchiveError::Replaced { .. }),
        "{refused}"
    );
    assert!(file.exists());
    // Whoever has the lock may.
    let mut second = Archive::create_or_open(folder.archive()).unwrap();
    assert_eq!(second.quarantine().unwrap().damaged.len(), 1);
    assert!(!file.exists());
}

#[test]
fn a_writer_with_a_deleted_or_replaced_journal_acknowledges_nothing() {
    for replaced in [false, true] {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.append(&of_orders(vec![order(0, START)])).unwrap();
        let journal = folder.archive().join("journal.sqlite");
        let before = fs::read(&journal).unwrap();
        fs::remove_file(&journal).unwrap();
        if replaced {
            fs::write(&journal, before).unwrap();
        }
        // Rows written to the deleted file would be lost.
        let refused = writer
            .append(&of_orders(vec![order(1, START)]))
            .unwrap_err();
        assert!(
            matches!(refused, ArchiveError::Replaced { .. }),
            "{refused}"
        );
        let word = if replaced { "replaced" } else { "deleted" };
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

#[test]
fn a_reader_notices_that_a_restore_replaced_its_archive() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(0, START)])).unwrap();
    drop(writer);
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(all_orders(&reader).len(), 1);
    let other = folder.path().join("restored");
    let mut writer = Archive::create_or_open(&other).unwrap();
    writer
        .append(&of_orders(vec![order(1, START), order(2, START)]))
        .unwrap();
    drop(writer);
    fs::rename(folder.archive(), folder.path().join("old")).unwrap();
    fs::rename(&other, folder.archive()).unwrap();
    let fault = reader.orders(&Filter::default()).unwrap_err();
    assert!(matches!(fault, ArchiveError::Replaced { .. }), "{fault}");
    assert!(
        fault.to_string().contains("open the archive again"),
        "{fault}"
    );
    assert_eq!(
        all_orders(&Archive::read(folder.archive()).unwrap()).len(),
        2
    );
}
