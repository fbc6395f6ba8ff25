//! A maliciously prepared archive: nothing outside its folder is read, written, moved or removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use liqdata::archive::{Archive, ArchiveError, Filter};
use liqdata::model::Millis;

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, all_orders, of_orders, order};

/// An archive of one day in a file.
fn rolled() -> Folder {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows = (0..30).map(|key| order(key, START)).collect();
    writer.append(&of_orders(rows)).unwrap();
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    drop(writer);
    folder
}

#[test]
fn an_invalid_segment_path_is_refused_and_its_file_stays() {
    for state in ["pending", "active"] {
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
            with_sums(&journal);
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

/// Lets a connection compute the checksums of lines.
fn with_sums(journal: &rusqlite::Connection) {
    use rusqlite::functions::FunctionFlags;
    use rusqlite::types::ValueRef;
    let sum = |cells: &mut rusqlite::functions::Context<'_>| {
        let mut sum = libdeflater::Crc::new();
        for place in 0..cells.len() {
            let mut add = |kind: u8, bytes: &[u8]| {
                sum.update(&[kind]);
                sum.update(&bytes.len().to_le_bytes());
                sum.update(bytes);
            };
            match cells.get_raw(place) {
                ValueRef::Null => add(0, &[]),
                ValueRef::Integer(value) => add(1, &value.to_le_bytes()),
                ValueRef::Real(value) => add(2, &value.to_bits().to_le_bytes()),
                ValueRef::Text(text) => add(3, text),
                ValueRef::Blob(bytes) => add(4, bytes),
            }
        }
        Ok(i64::from(sum.sum()))
    };
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    journal
        .create_scalar_function("cells_sum", -1, flags, sum)
        .unwrap();
}

#[test]
fn a_path_outside_the_folder_is_refused_despite_valid_checksums() {
    let day = &Millis(START).to_string()[..10];
    let id = "0190163d-8694-739b-aea5-966c26f8ad91";
    for state in ["pending", "active", "quarantined"] {
        for name in [
            "../thesis.parquet".to_owned(),
            format!("orders/date={day}/../../../thesis.parquet"),
            format!("orders/date={day}/part-{id}.parquet/../../../../thesis.parquet"),
            format!("orders/date={day}/part-{id}\0/../../../../thesis.parquet"),
            format!("orders/date={day}/part-../../../../thesis.parquet"),
            format!("orders/date={day}\0/part-{id}.parquet"),
            format!("./orders/date={day}/part-{id}.parquet"),
            format!("orders//date={day}/part-{id}.parquet"),
            format!("orders/date=1999-01-01/part-{id}.parquet"),
            format!("orders/date={day}/part-{}.parquet", id.to_uppercase()),
            String::new(),
            "/".to_owned(),
            "ABSOLUTE".to_owned(),
        ] {
            let folder = rolled();
            let mine = folder.path().join("thesis.parquet");
            // What is stolen would be read as rows: it is a sound file of them.
            let part = files(&folder.archive(), "parquet")[0].clone();
            fs::rename(&part, &mine).unwrap();
            let before = fs::read(&mine).unwrap();
            let name = name.replace("ABSOLUTE", &mine.display().to_string());
            let journal =
                rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
            with_sums(&journal);
            journal.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            let forged = journal.execute(
                "UPDATE manifest SET path = ?1, state = ?2",
                [name.as_str(), state],
            );
            assert_eq!(forged.unwrap(), 1);
            journal
                .execute("UPDATE part_venues SET path = ?1", [name.as_str()])
                .unwrap();
            drop(journal);
            let read = || {
                let archive = Archive::read(folder.archive())?;
                let scan = archive.orders(&Filter::default())?;
                assert!(scan.rows.is_empty(), "{name:?}");
                archive.integrity().damage().map(drop)
            };
            let written = Archive::create_or_open(folder.archive()).map(drop);
            // Whoever reads has no business with what a roll did not finish.
            let opened = if state == "pending" {
                vec![written]
            } else {
                vec![written, read()]
            };
            for opened in opened {
                let refused = opened.unwrap_err();
                assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
                assert!(
                    refused.to_string().contains("is not a valid segment path"),
                    "{name:?}: {refused}"
                );
            }
            assert_eq!(fs::read(&mine).unwrap(), before, "{name:?}");
        }
    }
}

#[test]
fn a_sound_file_behind_a_link_is_not_read() {
    // The file itself, its day, and the folder of its kind.
    for above in 0..3 {
        let folder = rolled();
        let part = files(&folder.archive(), "parquet")[0].clone();
        let linked = part.ancestors().nth(above).unwrap().to_owned();
        let mine = folder.path().join("mine");
        fs::rename(&linked, &mine).unwrap();
        symlink(&mine, &linked).unwrap();
        let reader = Archive::read(folder.archive()).unwrap();
        let scan = reader.orders(&Filter::default()).unwrap();
        assert_eq!((scan.rows.len(), scan.damaged.len()), (0, 1));
        assert!(scan.damaged[0].reason.contains("is a link"), "{scan:?}");
        drop(reader);
        // A repair moves nothing that lies behind it.
        let expected = if above == 0 {
            0
        } else {
            files(&mine, "parquet").len()
        };
        let _ = Archive::repair(folder.archive(), &mut |_, _| true);
        if above == 0 {
            assert!(mine.is_file());
        } else {
            assert_eq!(files(&mine, "parquet").len(), expected);
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
        let refused = writer.compact(Millis(START + Millis::DAY)).unwrap_err();
        assert!(refused.to_string().contains("a link"), "{refused}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
        assert_eq!(all_orders(writer.archive()).len(), 30);
        let verified = writer.archive().integrity().verify().unwrap();
        assert!(
            verified.is_sound() && verified.unlisted.is_empty(),
            "{verified:?}"
        );
    }
}

#[test]
fn a_pipe_in_the_folder_blocks_nothing() {
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
            assert!(scan.damaged[0].reason.contains("regular file"), "{scan:?}");
        } else {
            let refused = Archive::create_or_open(folder.archive()).unwrap_err();
            assert!(refused.to_string().contains("a pipe"), "{name}: {refused}");
        }
    }
}
