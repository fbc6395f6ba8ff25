//! The module tree of the crate, and which file uses which name of which other file.
//!
//! Works on tokens: it finds paths that begin with `crate`, `super`, `self` or a child module, in imports and in code. A
//! re-exported name counts for the file that defines it. Code behind `#[cfg(test)]` is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Path of a module in the crate: `["server", "listen"]`.
pub(crate) type ModulePath = Vec<String>;

/// A source file.
struct File {
    /// Path below `src`.
    path: String,
    tokens: Vec<String>,
    /// Imported and re-exported names, with the paths they stand for.
    names: BTreeMap<String, WrittenPath>,
}

/// A path in the source, and whether it is a re-export.
#[derive(Clone, Debug)]
struct WrittenPath {
    segments: Vec<String>,
    reexports: bool,
}

/// All source files by module path.
pub(crate) struct SourceTree {
    files: BTreeMap<ModulePath, File>,
}

/// A use of a name of another file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependency {
    /// The file that uses it.
    pub(crate) from: ModulePath,
    /// The file that defines it.
    pub(crate) to: ModulePath,
    /// The name.
    pub(crate) name: String,
}

impl SourceTree {
    /// Reads the crate below `src`.
    pub(crate) fn read(src: &Path) -> Self {
        let mut found = Self {
            files: BTreeMap::new(),
        };
        found.enter(src, &src.join("lib.rs"), Vec::new());
        found
    }

    fn enter(&mut self, src: &Path, file: &Path, module: ModulePath) {
        let text =
            fs::read_to_string(file).unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
        let tokens = without_tests(&tokens(&text));
        for child in children(&tokens) {
            let folder = if module.is_empty() || file.ends_with("mod.rs") {
                file.parent().unwrap().to_owned()
            } else {
                file.with_extension("")
            };
            let flat = folder.join(format!("{child}.rs"));
            let nested = folder.join(&child).join("mod.rs");
            let found: PathBuf = if flat.exists() { flat } else { nested };
            let mut inner = module.clone();
            inner.push(child);
            if found.exists() {
                self.enter(src, &found, inner);
            }
        }
        let names = imports(&tokens);
        let path = file.strip_prefix(src).unwrap().display().to_string();
        self.files.insert(
            module,
            File {
                path,
                tokens,
                names,
            },
        );
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Path below `src` and tokens of each file, separated by spaces.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, String)> {
        self.files
            .values()
            .map(|file| (file.path.as_str(), file.tokens.join(" ")))
    }

    /// Path of a module's file below `src`.
    pub(crate) fn path(&self, module: &ModulePath) -> &str {
        &self.files[module].path
    }

    /// Uses between files of one room, without re-exports of child modules.
    pub(crate) fn uses(&self) -> BTreeSet<Dependency> {
        let mut uses = BTreeSet::new();
        for (from, file) in &self.files {
            for path in paths(&file.tokens) {
                let Some((to, name)) = self.home(from, &path.segments, 0) else {
                    continue;
                };
                let inside = !from.is_empty() && from.first() == to.first();
                let reexported = path.reexports && to.starts_with(from);
                if inside && !reexported && *from != to {
                    uses.insert(Dependency {
                        from: from.clone(),
                        to,
                        name,
                    });
                }
            }
        }
        uses
    }

    /// The module that defines what `segments` names in the module `from`.
    fn home(
        &self,
        from: &ModulePath,
        segments: &[String],
        depth: usize,
    ) -> Option<(ModulePath, String)> {
        if depth > 8 {
            return None;
        }
        let mut at = from.clone();
        let mut rest = segments;
        match rest.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            child => {
                let mut inner = at.clone();
                inner.push(child.to_owned());
                if !self.files.contains_key(&inner) {
                    return None;
                }
            }
        }
        while rest.first().is_some_and(|word| word == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        while let Some(next) = rest.first() {
            let mut inner = at.clone();
            inner.push(next.clone());
            if self.files.contains_key(&inner) {
                at = inner;
                rest = &rest[1..];
                continue;
            }
            if let Some(origin) = self.files.get(&at)?.names.get(next)
                && let Some(home) = self.home(&at, &origin.segments, depth + 1)
            {
                return Some(home);
            }
            return Some((at, next.clone()));
        }
        Some((at, "the module".to_owned()))
    }
}

/// Splits source code into words, `::` and single characters, without comments, strings and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else if let Some(hashes) = raw_text(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let inner = &rest[rest.find('"').unwrap() + 1..];
            rest = inner.find(&end).map_or("", |at| &inner[at + end.len()..]);
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|letter| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            rest = end.map_or("", |end| &rest[end + 2..]);
        } else if first == '\'' {
            // A character literal, or a lifetime.
            let after = &rest[1..];
            let letter = after.chars().next().map_or(0, char::len_utf8);
            rest = if after.starts_with('\\') {
                let end = after[2..].find('\'').map_or(after.len(), |end| end + 3);
                &after[end..]
            } else if after[letter..].starts_with('\'') {
                &after[letter + 1..]
            } else {
                after
            };
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest
                .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            rest = &rest[end..];
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            rest = &rest[2..];
        } else {
            if !first.is_whitespace() && first != '$' {
                tokens.push(first.to_string());
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    tokens
}

/// Number of `#` of the raw string that begins here.
fn raw_text(rest: &str) -> Option<usize> {
    let rest = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// Removes items behind `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut remaining = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().take(MARK.len()).eq(MARK) {
            at += MARK.len();
            at += length(&tokens[at..]);
        } else {
            remaining.push(tokens[at].clone());
            at += 1;
        }
    }
    remaining
}

/// Number of tokens of the item, field or arm that begins here.
fn length(tokens: &[String]) -> usize {
    let mut depth = 0_u32;
    for (at, word) in tokens.iter().enumerate() {
        match word.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" | ")" | "]" if depth == 0 => return at,
            "}" | ")" | "]" => depth -= 1,
            ";" | "," if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Child modules that a file declares.
fn children(tokens: &[String]) -> Vec<String> {
    tokens
        .windows(3)
        .filter(|three| three[0] == "mod" && three[2] == ";")
        .map(|three| three[1].clone())
        .collect()
}

/// Imports of a file, by local name.
fn imports(tokens: &[String]) -> BTreeMap<String, WrittenPath> {
    let mut names = BTreeMap::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, word)| *word == "use") {
        let reexports = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | ")");
        tree(&tokens[at + 1..], Vec::new(), &mut |segments, alias| {
            if let Some(name) = alias.or_else(|| segments.last().cloned()) {
                names.insert(
                    name,
                    WrittenPath {
                        segments,
                        reexports,
                    },
                );
            }
        });
    }
    names
}

/// All paths of a file that may name another file.
fn paths(tokens: &[String]) -> Vec<WrittenPath> {
    let mut found: Vec<WrittenPath> = imports(tokens).into_values().collect();
    for (at, word) in tokens.iter().enumerate() {
        let begins = matches!(word.as_str(), "crate" | "super" | "self")
            && tokens.get(at + 1).is_some_and(|next| next == "::")
            && (at == 0 || !matches!(tokens[at - 1].as_str(), "::" | "in"));
        if begins {
            tree(&tokens[at..], Vec::new(), &mut |segments, _| {
                let is_known = found.iter().any(|known| known.segments == segments);
                if !is_known {
                    found.push(WrittenPath {
                        segments,
                        reexports: false,
                    });
                }
            });
        }
    }
    found
}

/// Passes each path of an import, or the single path here, to `each`; returns the number of tokens.
fn tree(
    tokens: &[String],
    before: Vec<String>,
    each: &mut impl FnMut(Vec<String>, Option<String>),
) -> usize {
    let mut segments = before;
    let mut at = 0;
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|word| word != "}") {
                    at += tree(&tokens[at..], segments.clone(), &mut *each).max(1);
                    if tokens.get(at).is_some_and(|word| word == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some("*") => {
                each(segments, None);
                return at + 1;
            }
            Some(word) if word.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                // `{self, X}` names the module before the braces.
                if word != "self" || segments.is_empty() {
                    segments.push(word.to_owned());
                }
                at += 1;
            }
            _ => return at,
        }
        match tokens.get(at).map(String::as_str) {
            Some("::") => at += 1,
            Some("as") => {
                each(segments, tokens.get(at + 1).cloned());
                return at + 2;
            }
            _ => {
                each(segments, None);
                return at;
            }
        }
    }
}

/// Groups of files that depend on each other in a circle.
pub(crate) fn circles(uses: &BTreeSet<Dependency>) -> Vec<BTreeSet<ModulePath>> {
    let mut next: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = BTreeMap::new();
    for one in uses {
        next.entry(&one.from).or_default().insert(&one.to);
    }
    let reach = |from: &ModulePath| -> BTreeSet<ModulePath> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&ModulePath> = next.get(from).into_iter().flatten().copied().collect();
        while let Some(module) = open.pop() {
            if seen.insert(module.clone()) {
                open.extend(next.get(module).into_iter().flatten().copied());
            }
        }
        seen
    };
    let reached: BTreeMap<&ModulePath, BTreeSet<ModulePath>> =
        next.keys().map(|module| (*module, reach(module))).collect();
    let mut found: Vec<BTreeSet<ModulePath>> = Vec::new();
    for (module, far) in &reached {
        if far.contains(*module) && !found.iter().any(|circle| circle.contains(*module)) {
            let back =
                |other: &ModulePath| reached.get(other).is_some_and(|far| far.contains(*module));
            found.push(far.iter().filter(|other| back(other)).cloned().collect());
        }
    }
    found
}

#[test]
fn paths_are_found_in_imports_and_in_code() {
    let text = "use super::{a::{B, self}, c as d};\n// use crate::no;\nfn f() { crate::e::g(\"use crate::no\", '\"'); }";
    let mut found: Vec<String> = paths(&tokens(text))
        .into_iter()
        .map(|path| path.segments.join("::"))
        .collect();
    found.sort();
    assert_eq!(
        found,
        ["crate::e::g", "super::a", "super::a::B", "super::c"]
    );
}

#[test]
fn code_behind_cfg_test_is_ignored() {
    let text = "#[cfg(test)]\nmod tests { use super::*; }\n#[cfg(test)]\nmod bodies;\nmod inner;";
    assert_eq!(children(&without_tests(&tokens(text))), ["inner"]);
}

#[test]
fn a_circle_is_found_once() {
    let one = |from: &str, to: &str| Dependency {
        from: vec![from.to_owned()],
        to: vec![to.to_owned()],
        name: String::new(),
    };
    let uses = [one("a", "b"), one("b", "c"), one("c", "a"), one("c", "d")];
    let found = circles(&uses.into_iter().collect());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 3);
}

/// Writes source files into a new folder and returns the circles among them.
fn circles_of(name: &str, files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let src = std::env::temp_dir().join(format!("liqdata-rooms-{name}-{}", std::process::id()));
    for (path, text) in files {
        let path = src.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = circles(&SourceTree::read(&src).uses()).into_iter();
    let found = found.map(|circle| circle.into_iter().map(|path| path.join("/")).collect());
    let found = found.collect();
    fs::remove_dir_all(&src).unwrap();
    found
}

#[test]
fn a_circle_across_nested_folders_is_found() {
    let files = [
        ("lib.rs", "mod room;"),
        (
            "room/mod.rs",
            "mod left;\nmod right;\npub use right::inner::thing::Thing;",
        ),
        ("room/left/mod.rs", "pub(super) mod part;"),
        (
            "room/left/part.rs",
            "use crate::room::Thing;\npub(crate) struct Part(Thing);",
        ),
        ("room/right/mod.rs", "pub(super) mod inner;"),
        ("room/right/inner/mod.rs", "pub(super) mod thing;"),
        (
            "room/right/inner/thing.rs",
            "use super::super::super::left::part::Part;\npub struct Thing(Vec<Part>);",
        ),
    ];
    assert_eq!(
        circles_of("circle", &files),
        [["room/left/part", "room/right/inner/thing"]]
    );
    assert!(circles_of("line", &files[..6]).is_empty());
}
