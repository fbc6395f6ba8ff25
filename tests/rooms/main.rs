//! Which room of the house may use which, and how files stand inside one: reads the sources and fails on a forbidden use,
//! on a file that takes from the module above it what that has of its own, and on a circle of files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod files;

use std::fs;
use std::path::{Path, PathBuf};

use files::{House, circles};

/// Each room with the rooms it may use; a room may always use itself, and its tests whatever they need.
const ROOMS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("api", &["model"]),
    ("wire", &["model"]),
    ("net", &[]),
    ("client", &["model", "api", "wire", "net"]),
    ("archive", &["model"]),
    ("feeds", &["model", "wire"]),
    ("collect", &["model", "feeds", "net", "archive"]),
    ("engine", &["model"]),
    ("simulate", &["model"]),
    ("market", &["model", "api", "archive", "engine"]),
    ("server", &["model", "api", "net", "market"]),
    (
        "python",
        &[
            "model", "api", "wire", "net", "client", "archive", "feeds", "collect", "engine",
            "simulate", "market", "server",
        ],
    ),
];

/// Crates that only the binding room names.
const BINDING: &[&str] = &[
    "pyo3",
    "numpy",
    "pyo3_arrow",
    "arrow_buffer",
    "arrow_cast",
    "arrow_select",
];

/// Crates that one room names for all: how rows are stored, how TLS is done; and what else may name them.
const OWNED: &[(&str, &[&str])] = &[
    ("rusqlite", &["archive"]),
    ("parquet", &["archive"]),
    ("sha2", &["archive", "engine", "server"]),
    ("uuid", &["archive"]),
    ("csv", &["feeds"]),
    ("zip", &["collect"]),
    ("arrow_array", &["archive", "python"]),
    ("arrow_schema", &["archive", "python"]),
    ("tokio_rustls", &["net", "server"]),
    ("rustls_platform_verifier", &["net"]),
];

/// A source without its line comments, doc links among them.
fn code(source: &str) -> String {
    source
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where `word` stands in `code` as a whole word, as the byte index behind it.
fn ends_of<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).filter_map(move |(start, _)| {
        let end = start + word.len();
        let before = code[..start].chars().next_back();
        let after = code[end..].chars().next();
        (!before.is_some_and(is_word) && !after.is_some_and(is_word)).then_some(end)
    })
}

/// The first names of every path below `crate::`, groups in braces included.
fn below_crate(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for end in ends_of(code, "crate") {
        let Some(rest) = code[end..].trim_start().strip_prefix("::") else {
            continue;
        };
        let rest = rest.trim_start();
        let Some(group) = rest.strip_prefix('{') else {
            names.push(rest.chars().take_while(|&c| is_word(c)).collect());
            continue;
        };
        let mut depth = 0;
        let mut name = String::new();
        let mut seen = false;
        for c in group.chars() {
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    names.push(std::mem::take(&mut name));
                    seen = false;
                }
                c if depth == 0 && !seen && is_word(c) => name.push(c),
                _ => seen = seen || !name.is_empty(),
            }
        }
        names.push(name);
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Whether `code` names the crate `name`, in a path or an import.
fn names_crate(code: &str, name: &str) -> bool {
    ends_of(code, name).any(|end| {
        let before = code[..end - name.len()].trim_end();
        code[end..].trim_start().starts_with("::")
            || before.ends_with("use")
            || before.ends_with("extern crate")
    })
}

/// What a source of `room` uses and may not.
fn faults(room: &str, source: &str) -> Vec<String> {
    let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        return vec![format!(
            "`{room}` is not a room of the house; name it in tests/rooms.rs with what it may use"
        )];
    };
    let code = code(source);
    let rooms = below_crate(&code)
        .into_iter()
        .filter(|used| used != room && !allowed.contains(&used.as_str()))
        .map(|used| format!("uses `crate::{used}`; `{room}` may use {allowed:?}"));
    let binding = BINDING.iter().map(|name| (*name, &["python"][..]));
    let owned = OWNED.iter().map(|(name, rooms)| (*name, *rooms));
    let crates = binding
        .chain(owned)
        .filter(|(name, rooms)| !rooms.contains(&room) && names_crate(&code, name))
        .map(|(name, rooms)| format!("names the crate `{name}`; only {rooms:?} may"));
    rooms.chain(crates).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_room_uses_a_room_it_may_not() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut complaints = Vec::new();
    for (shown, source) in House::read(&src).sources() {
        match shown.split_once('/') {
            Some((room, _)) => complaints.extend(
                faults(room, &source)
                    .into_iter()
                    .map(|fault| format!("src/{shown} {fault}")),
            ),
            None => assert_eq!(shown, "lib.rs", "a file that is in no room"),
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn no_file_takes_from_the_module_above_it() {
    let house = House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(house.len() > 100, "too few files were read");
    let upward: Vec<String> = house
        .uses()
        .into_iter()
        .filter(|one| one.from.starts_with(&one.of))
        .map(|one| {
            let (from, of) = (house.shown(&one.from), house.shown(&one.of));
            format!("src/{from} takes {:?} from src/{of} above it", one.name)
        })
        .collect();
    assert!(upward.is_empty(), "\n{}", upward.join("\n"));
}

#[test]
fn no_files_name_each_other_in_a_circle() {
    let house = House::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let uses = house.uses();
    let told: Vec<String> = circles(&uses)
        .into_iter()
        .map(|circle| {
            let inside = |place: &Vec<String>| circle.contains(place);
            let lines = uses
                .iter()
                .filter(|one| inside(&one.from) && inside(&one.of));
            let lines = lines.map(|one| {
                let (from, of) = (house.shown(&one.from), house.shown(&one.of));
                format!("  src/{from} -> src/{of}: {}", one.name)
            });
            format!(
                "a circle of {}:\n{}",
                circle.len(),
                lines.collect::<Vec<_>>().join("\n")
            )
        })
        .collect();
    assert!(told.is_empty(), "\n{}", told.join("\n"));
}

#[test]
fn only_the_map_of_the_house_asks_for_the_python_feature() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let asking: Vec<_> = files
        .iter()
        .filter(|file| code(&fs::read_to_string(file).unwrap()).contains("feature = \"python\""))
        .map(|file| file.strip_prefix(&src).unwrap().to_owned())
        .collect();
    assert_eq!(asking, [PathBuf::from("lib.rs")]);
}

#[test]
fn a_forbidden_use_is_found_in_every_spelling() {
    for source in [
        "use crate::client::Client;",
        "use crate::{\n    model::Millis,\n    client,\n};",
        "use crate::{model::{Millis, Side}, client::{Client, Config}};",
        "fn f() -> crate::client::Client { todo!() }",
        "pub(super) use crate :: client;",
    ] {
        assert_eq!(faults("engine", source).len(), 1, "{source}");
    }
    for source in [
        "use pyo3::prelude::*;",
        "fn f(_: numpy::Element) {}",
        "use numpy;",
    ] {
        assert_eq!(faults("engine", source).len(), 1, "{source}");
        assert_eq!(faults("python", source).len(), 0, "{source}");
    }
    for source in [
        "use rusqlite::Connection;",
        "use arrow_array::Array;",
        "fn f(_: uuid::Uuid) {}",
    ] {
        assert_eq!(faults("feeds", source).len(), 1, "{source}");
        assert_eq!(faults("archive", source).len(), 0, "{source}");
    }
    assert_eq!(faults("python", "use arrow_array::Array;").len(), 0);
    assert_eq!(faults("utils", "").len(), 1);
}

#[test]
fn an_allowed_use_and_a_comment_pass() {
    for source in [
        "use crate::model::{Millis, client};",
        "//! See [`client`](crate::client).",
        "use crate::engine::ledger;",
        "pub(crate) fn numpy_free() {}",
        "let a_crate = 1;",
    ] {
        assert_eq!(faults("engine", source), Vec::<String>::new(), "{source}");
    }
}
