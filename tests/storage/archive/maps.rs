//! Estimated maps: stored as they were served, once each, and added to archives without maps.

use liqdata::archive::{Archive, ArchiveError, Batch, Filter, MapRow};
use liqdata::model::Millis;

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, sound};

/// A map with all fields derived from the number of its bar.
pub(crate) fn map(kind: &str, symbol: &str, bar: i64) -> MapRow {
    let closed = START + bar * 5 * Millis::MINUTE;
    MapRow {
        kind: kind.to_owned(),
        symbol: symbol.to_owned(),
        params: "range=24h&model=2".to_owned(),
        timestamp: Millis(closed),
        computed_at: Millis(closed + 1_300),
        reply: format!("{{\"symbol\":\"{symbol}\",\"matrix\":[[0.1,{bar}],[1e-7,\"ö\"]]}}"),
        explain: (bar % 2 == 0).then(|| format!("{{\"bars\":{bar}}}")),
        version: (bar % 4 == 0).then(|| format!("2-{}", bar / 288)),
    }
}

pub(crate) fn of_maps(maps: Vec<MapRow>) -> Batch {
    Batch {
        maps,
        ..Batch::default()
    }
}

fn read(archive: &Archive, filter: &Filter, kind: Option<&str>) -> Vec<MapRow> {
    sound(archive.maps(filter, kind).unwrap())
}

#[test]
fn maps_come_back_to_the_last_byte_from_the_journal_and_from_files() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    // Three days of two coins, four an hour, of two kinds.
    let mut maps: Vec<MapRow> = (0..3 * 24)
        .flat_map(|hour| {
            ["BTC", "ETH"].into_iter().flat_map(move |symbol| {
                ["heatmap", "levels"].map(|kind| map(kind, symbol, hour * 12))
            })
        })
        .collect();
    let acknowledged = writer.append(&of_maps(maps.clone())).unwrap();
    assert_eq!((acknowledged.maps, acknowledged.repeated), (maps.len(), 0));
    maps.sort_by_key(|map| (map.timestamp, map.symbol.clone(), map.kind.clone()));
    let day = |day: i64| Millis(START + day * Millis::DAY);
    let only = |wanted: &dyn Fn(&MapRow) -> bool| -> Vec<MapRow> {
        maps.iter().filter(|map| wanted(map)).cloned().collect()
    };
    let all = Filter::default();
    let coin = Filter {
        coin: Some("ETH".to_owned()),
        start: Some(day(1).back(Millis::HOUR)),
        end: Some(day(2)),
        ..Filter::default()
    };
    let then = Filter {
        as_of: Some(day(1).on(1_300)),
        ..Filter::default()
    };
    let none = Filter {
        exchange: Some("okx".to_owned()),
        ..Filter::default()
    };
    let check = |archive: &Archive| {
        assert_eq!(read(archive, &all, None), maps);
        assert_eq!(
            read(archive, &all, Some("levels")),
            only(&|map| map.kind == "levels")
        );
        let wanted = only(&|map| {
            map.symbol == "ETH" && (day(1).back(Millis::HOUR)..day(2)).contains(&map.timestamp)
        });
        assert_eq!(wanted.len(), 50);
        assert_eq!(read(archive, &coin, None), wanted);
        // What was computed later is not seen, to the millisecond.
        let wanted = only(&|map| map.timestamp <= day(1));
        assert_eq!(read(archive, &then, None), wanted);
        let before = Filter {
            as_of: then.as_of.map(|at| at.back(1)),
            ..Filter::default()
        };
        let wanted = only(&|map| map.timestamp < day(1));
        assert_eq!(read(archive, &before, None), wanted);
        assert_eq!(read(archive, &none, None), []);
        let verified = archive.integrity().verify().unwrap();
        assert!(verified.is_sound() && verified.unlisted.is_empty());
        verified.rows
    };
    assert_eq!(check(writer.archive()), 0);
    assert_eq!(writer.compact(day(2)).unwrap().rows, 2 * 24 * 4);
    assert_eq!(check(writer.archive()), 2 * 24 * 4);
    assert_eq!(files(&folder.archive().join("maps"), "parquet").len(), 2);
    writer.compact(day(3)).unwrap();
    assert_eq!(check(writer.archive()), 3 * 24 * 4);
    assert_eq!(check(&Archive::read(folder.archive()).unwrap()), 3 * 24 * 4);
    assert!(writer.archive().catalog().map_bytes(day(1)).unwrap() > 0);
    assert_eq!(writer.archive().catalog().map_bytes(day(4)).unwrap(), 0);
}

#[test]
fn a_repeated_map_is_stored_once_and_another_reply_is_another_map() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let first = map("heatmap", "BTC", 1);
    // Computed again, and nothing had changed: the first time counts.
    let again = MapRow {
        computed_at: first.computed_at.on(60_000),
        ..first.clone()
    };
    // Computed again after an older bar had come in.
    let other = MapRow {
        computed_at: first.computed_at.on(90_000),
        reply: "{}".to_owned(),
        ..first.clone()
    };
    writer.append(&of_maps(vec![first.clone()])).unwrap();
    let acknowledged = writer
        .append(&of_maps(vec![again.clone(), other.clone()]))
        .unwrap();
    assert_eq!((acknowledged.maps, acknowledged.repeated), (1, 1));
    let wanted = vec![first, other];
    assert_eq!(read(writer.archive(), &Filter::default(), None), wanted);
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    writer.append(&of_maps(vec![again])).unwrap();
    assert_eq!(read(writer.archive(), &Filter::default(), None), wanted);
    let rolled = writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!((rolled.rows, rolled.repeated), (0, 1));
    assert_eq!(read(writer.archive(), &Filter::default(), None), wanted);
}

#[test]
fn maps_that_say_nothing_or_too_much_are_refused_by_name() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let good = map("heatmap", "BTC", 1);
    for (bad, wanted) in [
        (
            MapRow {
                kind: " ".to_owned(),
                ..good.clone()
            },
            "kind",
        ),
        (
            MapRow {
                reply: String::new(),
                ..good.clone()
            },
            "reply",
        ),
        (
            MapRow {
                reply: "x".repeat((16 << 20) + 1),
                ..good.clone()
            },
            "reply",
        ),
        (
            MapRow {
                computed_at: Millis(-1),
                ..good.clone()
            },
            "computed_at",
        ),
    ] {
        match writer.append(&of_maps(vec![good.clone(), bad])) {
            Err(ArchiveError::BadRow {
                table: "maps",
                column,
                row: 1,
                ..
            }) => assert_eq!(column, wanted),
            other => panic!("{wanted}: {other:?}"),
        }
    }
    assert_eq!(read(writer.archive(), &Filter::default(), None), []);
    // The longest that may be kept comes back.
    let long = MapRow {
        reply: "x".repeat(16 << 20),
        ..good
    };
    writer.append(&of_maps(vec![long.clone()])).unwrap();
    assert_eq!(
        read(writer.archive(), &Filter::default(), None),
        std::slice::from_ref(&long)
    );
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!(read(writer.archive(), &Filter::default(), None), [long]);
}

#[test]
fn maps_are_filtered_by_the_version_of_the_model() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let explained = r#"{"bars":1,"modelVersion":"2-of-old"}"#;
    let of = |bar: i64, version: Option<&str>, explain: Option<&str>| MapRow {
        version: version.map(str::to_owned),
        explain: explain.map(str::to_owned),
        ..map("liqmap", "BTC", bar)
    };
    let stored = [
        of(1, Some("2-one"), Some(explained)),
        of(2, Some("2-two"), None),
        of(3, None, Some(explained)),
        of(4, None, Some("{\"bars\":1}")),
        of(5, None, None),
    ];
    writer.append(&of_maps(stored.to_vec())).unwrap();
    for rolled in [false, true] {
        if rolled {
            writer.compact(Millis(START + Millis::DAY)).unwrap();
        }
        let versions = |version: Option<&str>| -> Vec<Option<String>> {
            let filter = Filter {
                version: version.map(str::to_owned),
                ..Filter::default()
            };
            let rows = read(writer.archive(), &filter, Some("liqmap"));
            rows.into_iter().map(|row| row.version).collect()
        };
        let named = |name: &str| Some(name.to_owned());
        let all = ["2-one", "2-two"].map(named);
        assert_eq!(versions(None), [&all[..], &[None, None, None]].concat());
        for (place, version) in all.iter().enumerate() {
            assert_eq!(versions(version.as_deref()), [all[place].clone()]);
        }
        assert_eq!(versions(Some(Filter::UNKNOWN)), [None, None, None]);
        assert_eq!(versions(Some("2-none")), []);
    }
}

#[test]
fn an_archive_of_another_format_is_refused_with_the_one_that_is_known() {
    let folder = Folder::new();
    drop(Archive::create_or_open(folder.archive()).unwrap());
    let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
    let version = journal.query_row("PRAGMA user_version", [], |row| row.get::<_, i32>(0));
    assert_eq!(version.unwrap(), 1);
    drop(journal);
    for (version, hint) in [
        (0, "open it once"),
        (2, "use the liqdata version"),
        (9, "use the"),
    ] {
        let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
        journal
            .pragma_update(None, "user_version", version)
            .unwrap();
        drop(journal);
        let fault = Archive::read(folder.archive()).unwrap_err();
        assert!(
            matches!(fault, ArchiveError::OtherVersion { .. }),
            "{fault}"
        );
        let known = format!("has archive format {version}; this build reads format 1: {hint}");
        assert!(fault.to_string().contains(&known), "{fault}");
    }
}

#[test]
fn a_damaged_file_of_maps_is_named_and_no_gap_of_an_exchange() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let maps = vec![map("heatmap", "BTC", 1), map("heatmap", "BTC", 300)];
    writer.append(&of_maps(maps.clone())).unwrap();
    writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    let file = files(&folder.archive().join("maps"), "parquet").remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();

    let found = writer.archive().maps(&Filter::default(), None).unwrap();
    assert_eq!(found.rows, maps[1..]);
    let named: Vec<_> = found
        .damaged
        .iter()
        .map(|part| (part.holds.as_str(), part.rows))
        .collect();
    assert_eq!(named, [("maps", 1)]);
    assert_eq!(
        writer.archive().integrity().verify().unwrap().damaged.len(),
        1
    );
    writer.quarantine().unwrap();
    assert_eq!(
        writer
            .archive()
            .coverage()
            .gaps(Millis(0), Millis(i64::MAX))
            .unwrap(),
        []
    );
    assert_eq!(
        writer
            .archive()
            .maps(&Filter::default(), None)
            .unwrap()
            .rows,
        maps[1..]
    );
}

#[test]
fn a_day_of_large_maps_is_rolled_into_several_files() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut wanted = Vec::new();
    for bar in 0..10 {
        let one = MapRow {
            reply: format!("[{}]", vec![bar.to_string(); 7_000_000].join(",")),
            ..map("heatmap", "BTC", bar)
        };
        writer.append(&of_maps(vec![one.clone()])).unwrap();
        wanted.push(one);
    }
    let rolled = writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!((rolled.rows, rolled.parts.len()), (10, 2));
    let found = read(writer.archive(), &Filter::default(), None);
    assert!(found == wanted, "{} maps", found.len());
}
