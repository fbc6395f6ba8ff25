//! Checks the structure of the source tree.
//!
//! Fails if a room uses a room that it may not use, if a file uses a definition of the module above it, if files or
//! the folders of a room depend on each other in a circle, and if a folder has too many files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod files;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use files::{Dependency, ModulePath, SourceTree, circles};

/// Each room with the rooms that it may use besides itself; tests may use everything.
const ROOMS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("contract", &["model"]),
    ("net", &[]),
    ("client", &["model", "contract", "net"]),
    ("archive", &["model"]),
    ("feeds", &["model", "contract", "tables"]),
    ("tables", &["model", "contract", "archive"]),
    ("collect", &["model", "feeds", "net", "archive", "tables"]),
    ("engine", &["model"]),
    ("simulate", &["model"]),
    ("market", &["model", "contract", "archive", "engine"]),
    ("server", &["model", "contract", "net", "market"]),
    (
        "python",
        &[
            "model", "contract", "net", "client", "archive", "feeds", "collect", "engine",
            "simulate", "market", "server", "tables",
        ],
    ),
];

/// Crates that only the room `python` may use.
const PYTHON_CRATES: &[&str] = &["pyo3", "numpy", "pyo3_arrow", "arrow_buffer", "arrow_cast"];

/// Crates with the rooms that may use them.
const RESTRICTED: &[(&str, &[&str])] = &[
    ("rusqlite", &["archive"]),
    ("parquet", &["archive", "collect"]),
    ("sha2", &["archive", "engine", "server"]),
    ("uuid", &["archive"]),
    ("csv", &["contract", "feeds"]),
    ("zip", &["collect"]),
    (
        "arrow_array",
        &["archive", "tables", "feeds", "collect", "python"],
    ),
    ("arrow_schema", &["archive", "tables", "collect", "python"]),
    ("arrow_select", &["tables", "python"]),
    ("tokio_rustls", &["net", "server"]),
    ("rustls_platform_verifier", &["net"]),
];

/// Rooms with layered folders: no folder depends on a folder that depends on it.
const LAYERED: &[&str] = &["archive", "collect", "net"];

/// Most source files in a folder, besides `mod.rs`.
const MAX_FILES: usize = 14;

/// Source code without line comments.
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

/// End positions of `word` in `code`, as a whole word.
fn ends_of<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).filter_map(move |(start, _)| {
        let end = start + word.len();
        let before = code[..start].chars().next_back();
        let after = code[end..].chars().next();
        (!before.is_some_and(is_word) && !after.is_some_and(is_word)).then_some(end)
    })
}

/// First segment of every path below `crate::`, including groups in braces.
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

/// Whether `code` uses the crate `name` in a path or an import.
fn names_crate(code: &str, name: &str) -> bool {
    ends_of(code, name).any(|end| {
        let before = code[..end - name.len()].trim_end();
        code[end..].trim_start().starts_with("::")
            || before.ends_with("use")
            || before.ends_with("extern crate")
    })
}

/// Forbidden uses in a source file of `room`.
fn faults(room: &str, source: &str) -> Vec<String> {
    let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        return vec![format!(
            "`{room}` is not a known room; add it to ROOMS in tests/rooms with the rooms that it may use"
        )];
    };
    let code = code(source);
    let rooms = below_crate(&code)
        .into_iter()
        .filter(|used| used != room && !allowed.contains(&used.as_str()))
        .map(|used| format!("uses `crate::{used}`; `{room}` may use {allowed:?}"));
    let python_crates = PYTHON_CRATES.iter().map(|name| (*name, &["python"][..]));
    let restricted = RESTRICTED.iter().map(|(name, rooms)| (*name, *rooms));
    let crates = python_crates
        .chain(restricted)
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
    for (path, source) in SourceTree::read(&src).sources() {
        match path.split_once('/') {
            Some((room, _)) => complaints.extend(
                faults(room, &source)
                    .into_iter()
                    .map(|fault| format!("src/{path} {fault}")),
            ),
            None => assert_eq!(path, "lib.rs", "a file outside of all rooms"),
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn no_file_uses_a_definition_of_the_module_above_it() {
    let tree = SourceTree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(tree.len() > 100, "too few files were read");
    let upward: Vec<String> = tree
        .uses()
        .into_iter()
        .filter(|one| one.from.starts_with(&one.to))
        .map(|one| {
            let (from, to) = (tree.path(&one.from), tree.path(&one.to));
            format!("src/{from} uses {:?} of src/{to} above it", one.name)
        })
        .collect();
    assert!(upward.is_empty(), "\n{}", upward.join("\n"));
}

/// The circles among `uses`, with the uses that they consist of.
fn described(tree: &SourceTree, uses: &BTreeSet<Dependency>, part: Part) -> Vec<String> {
    let parts = uses.iter().map(|one| Dependency {
        from: part(&one.from),
        to: part(&one.to),
        ..one.clone()
    });
    let between = parts.filter(|one| one.from != one.to).collect();
    let describe = |circle: BTreeSet<ModulePath>| {
        let is_inside = |one: &&Dependency| {
            let (from, to) = (part(&one.from), part(&one.to));
            from != to && circle.contains(&from) && circle.contains(&to)
        };
        let lines = uses.iter().filter(is_inside).map(|one| {
            let (from, to) = (tree.path(&one.from), tree.path(&one.to));
            format!("  src/{from} -> src/{to}: {}", one.name)
        });
        let lines: Vec<String> = lines.collect();
        format!("a circle of {}:\n{}", circle.len(), lines.join("\n"))
    };
    circles(&between).into_iter().map(describe).collect()
}

/// The part of the source tree that a module belongs to.
type Part = fn(&ModulePath) -> ModulePath;

#[test]
fn no_files_depend_on_each_other_in_a_circle() {
    let tree = SourceTree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let found = described(&tree, &tree.uses(), Clone::clone);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_folders_of_a_room_are_layers() {
    let tree = SourceTree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let mut uses = tree.uses();
    uses.retain(|one| LAYERED.contains(&one.from[0].as_str()));
    // The folder of a room that a file is in, or the file if it is in none.
    let found = described(&tree, &uses, |path| path.iter().take(2).cloned().collect());
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Folders below `folder` with more than [`MAX_FILES`] source files.
fn crowded(folder: &Path, found: &mut Vec<String>) {
    let entries: Vec<PathBuf> = (fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    let is_source = |path: &&PathBuf| {
        path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("mod.rs")
    };
    let files = entries.iter().filter(is_source).count();
    if files > MAX_FILES {
        found.push(format!("{} has {files} files", folder.display()));
    }
    for path in entries.iter().filter(|path| path.is_dir()) {
        crowded(path, found);
    }
}

#[test]
fn no_folder_has_too_many_files() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for (room, _) in ROOMS {
        crowded(&src.join(room), &mut found);
    }
    assert!(
        found.is_empty(),
        "at most {MAX_FILES} besides mod.rs; nest them by subject:\n{}",
        found.join("\n")
    );
}

#[test]
fn only_lib_rs_depends_on_the_python_feature() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let found: Vec<_> = files
        .iter()
        .filter(|file| code(&fs::read_to_string(file).unwrap()).contains("feature = \"python\""))
        .map(|file| file.strip_prefix(&src).unwrap().to_owned())
        .collect();
    assert_eq!(found, [PathBuf::from("lib.rs")]);
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
        "use parquet::file::reader::FileReader;",
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
