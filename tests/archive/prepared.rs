//! An archive that somebody prepared: nothing outside its folder is read, written, moved or removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use liqdata::archive::{Archive, ArchiveError, Filter};
use liqdata::model::Millis;

use crate::place::{Folder, files};
use crate::rows::{START, all_orders, of_orders, order, without_sums};

/// An archive of one day in a file.
fn rolled() -> Folder {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows = (0..30).map(|key| order(key, START)).collect();
    writer.append(&of_orders(rows)).unwrap();
    writer.roll(Millis(START + Millis::DAY)).unwrap();
    drop(writer);
    folder
}

#[test]
fn a_listed_name_that_no_roll_gives_is_refused_and_its_file_left_alone() {
    for state in ["pending", "kept"] {
        for outside in [false, true] {
            let folder = rolled();
            let mine = folder.path().join("thesis.parquet");
            fs::write(&mine, "years of work").unwrap();
            let name = if outside {
                "../thesis.parquet".to_owned()
            } else {
                mine.display().to_string()
            };
            let journal =
                rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
            journal.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            without_sums(&journal);
            journal.pragma_update(None, "user_version", 4).unwrap();
            journal
                .execute(
                    "UPDATE manifest SET path = ?1, state = ?2",
                    [name.as_str(), state],
                )
                .unwrap();
            drop(journal);
            let refused = Archive::create_or_open(folder.archive()).unwrap_err();
            assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
            assert!(refused.to_string().contains("thesis.parquet"), "{refused}");
            assert_eq!(fs::read_to_string(&mine).unwrap(), "years of work");
        }
    }
}

#[test]
fn no_link_is_followed() {
    // A folder of rows that lies elsewhere: its files are not served, and stay.
    let folder = rolled();
    let (inside, elsewhere) = (
        folder.archive().join("orders"),
        folder.path().join("elsewhere"),
    );
    fs::rename(&inside, &elsewhere).unwrap();
    symlink(&elsewhere, &inside).unwrap();
    let reader = Archive::read(folder.archive()).unwrap();
    let scan = reader.orders(&Filter::default()).unwrap();
    assert_eq!((scan.rows.len(), scan.damaged.len()), (0, 1));
    assert!(scan.damaged[0].reason.contains("link"), "{scan:?}");
    drop(reader);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    assert!(writer.quarantine().is_err());
    drop(writer);
    assert_eq!(files(&elsewhere, "parquet").len(), 1);

    // The lock and the journal.
    for name in ["writer.lock", "journal.sqlite"] {
        let folder = rolled();
        let mine = folder.path().join("thesis.txt");
        fs::rename(folder.archive().join(name), &mine).unwrap();
        let before = fs::read(&mine).unwrap();
        symlink(&mine, folder.archive().join(name)).unwrap();
        let refused = Archive::create_or_open(folder.archive()).unwrap_err();
        assert!(refused.to_string().contains("a link"), "{name}: {refused}");
        assert_eq!(fs::read(&mine).unwrap(), before);
    }
}

#[test]
fn nothing_is_written_or_listed_behind_a_link() {
    for inner in [false, true] {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let rows = (0..30).map(|key| order(key, START)).collect();
        writer.append(&of_orders(rows)).unwrap();
        let (inside, elsewhere) = (
            folder.archive().join("orders"),
            folder.path().join("elsewhere"),
        );
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("mine.parquet"), "years of work").unwrap();
        if inner {
            fs::create_dir(&inside).unwrap();
            let day = &Millis(START).to_string()[..10];
            symlink(&elsewhere, inside.join(format!("date={day}"))).unwrap();
        } else {
            symlink(&elsewhere, &inside).unwrap();
        }
        let refused = writer.roll(Millis(START + Millis::DAY)).unwrap_err();
        assert!(refused.to_string().contains("a link"), "{refused}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
        assert_eq!(all_orders(&writer).len(), 30);
        let verified = writer.verify().unwrap();
        assert!(
            verified.is_sound() && verified.unlisted.is_empty(),
            "{verified:?}"
        );
    }
}

#[test]
fn nobody_waits_for_a_pipe() {
    for name in [
        "writer.lock",
        "journal.sqlite",
        "journal.sqlite-journal",
        "journal.sqlite-wal",
        "journal.sqlite-shm",
        "part",
    ] {
        let folder = rolled();
        let path = match name {
            "part" => files(&folder.archive(), "parquet")[0].clone(),
            name => folder.archive().join(name),
        };
        let _ = fs::remove_file(&path);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        if name == "part" {
            let reader = Archive::read(folder.archive()).unwrap();
            let scan = reader.orders(&Filter::default()).unwrap();
            assert!(scan.damaged[0].reason.contains("plain file"), "{scan:?}");
        } else {
            let refused = Archive::create_or_open(folder.archive()).unwrap_err();
            assert!(refused.to_string().contains("a pipe"), "{name}: {refused}");
        }
    }
}
