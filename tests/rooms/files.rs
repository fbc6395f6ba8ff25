//! The files of the house as modules, and which of them names what of which other.
//!
//! Reads tokens, not meaning: paths that begin with `crate`, `super`, `self` or a module's own child, in imports and in
//! code. A name that a module only hands on leads to the file that has it. What is there for tests alone does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module's place below the crate: `["server", "listen"]`.
type Place = Vec<String>;

/// One file of the house.
struct File {
    /// Its path below `src`.
    shown: String,
    tokens: Vec<String>,
    /// The names it hands on or has imported, and where they come from.
    names: BTreeMap<String, Written>,
}

/// A path as it is written, with whether it only hands on what it names.
#[derive(Clone, Debug)]
struct Written {
    segments: Vec<String>,
    hands_on: bool,
}

/// All files by their place.
pub(crate) struct House {
    files: BTreeMap<Place, File>,
}

/// One file that names something of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    /// Who names it.
    pub(crate) from: Place,
    /// Whose it is.
    pub(crate) of: Place,
    /// What is named.
    pub(crate) name: String,
}

impl House {
    /// The house below `src`.
    pub(crate) fn read(src: &Path) -> Self {
        let mut house = Self {
            files: BTreeMap::new(),
        };
        house.enter(src, &src.join("lib.rs"), Vec::new());
        house
    }

    fn enter(&mut self, src: &Path, file: &Path, place: Place) {
        let text =
            fs::read_to_string(file).unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
        let tokens = without_tests(&tokens(&text));
        for child in children(&tokens) {
            let folder = if place.is_empty() || file.ends_with("mod.rs") {
                file.parent().unwrap().to_owned()
            } else {
                file.with_extension("")
            };
            let flat = folder.join(format!("{child}.rs"));
            let nested = folder.join(&child).join("mod.rs");
            let found: PathBuf = if flat.exists() { flat } else { nested };
            let mut inner = place.clone();
            inner.push(child);
            if found.exists() {
                self.enter(src, &found, inner);
            }
        }
        let names = imports(&tokens);
        let shown = file.strip_prefix(src).unwrap().display().to_string();
        self.files.insert(
            place,
            File {
                shown,
                tokens,
                names,
            },
        );
    }

    /// How many files were read.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every file's path below `src` with its words, a blank between any two.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, String)> {
        self.files
            .values()
            .map(|file| (file.shown.as_str(), file.tokens.join(" ")))
    }

    /// The path of the file at `place`.
    pub(crate) fn shown(&self, place: &Place) -> &str {
        &self.files[place].shown
    }

    /// Who names what of whom inside a room, without a parent's handing on of what its children have.
    pub(crate) fn uses(&self) -> BTreeSet<Use> {
        let mut uses = BTreeSet::new();
        for (from, file) in &self.files {
            for path in paths(&file.tokens) {
                let Some((of, name)) = self.home(from, &path.segments, 0) else {
                    continue;
                };
                let inside = !from.is_empty() && from.first() == of.first();
                let handed_on = path.hands_on && of.starts_with(from);
                if inside && !handed_on && *from != of {
                    uses.insert(Use {
                        from: from.clone(),
                        of,
                        name,
                    });
                }
            }
        }
        uses
    }

    /// The place that has what `segments` names when `from` writes it.
    fn home(&self, from: &Place, segments: &[String], depth: usize) -> Option<(Place, String)> {
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

/// Words, `::` and single signs, without comments, texts and lifetimes.
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
            // A letter in quotes, or a lifetime.
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

/// The number of `#` of a raw text that begins here.
fn raw_text(rest: &str) -> Option<usize> {
    let rest = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// The tokens without what stands behind `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().take(MARK.len()).eq(MARK) {
            at += MARK.len();
            at += length(&tokens[at..]);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// How many tokens the item takes that begins here, or the field or arm.
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

/// The modules that a file opens.
fn children(tokens: &[String]) -> Vec<String> {
    tokens
        .windows(3)
        .filter(|three| three[0] == "mod" && three[2] == ";")
        .map(|three| three[1].clone())
        .collect()
}

/// The names that a file imports, by the name they have in it.
fn imports(tokens: &[String]) -> BTreeMap<String, Written> {
    let mut names = BTreeMap::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, word)| *word == "use") {
        let hands_on = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | ")");
        tree(&tokens[at + 1..], Vec::new(), &mut |segments, alias| {
            if let Some(name) = alias.or_else(|| segments.last().cloned()) {
                names.insert(name, Written { segments, hands_on });
            }
        });
    }
    names
}

/// Every path in a file that may lead to another.
fn paths(tokens: &[String]) -> Vec<Written> {
    let mut found: Vec<Written> = imports(tokens).into_values().collect();
    for (at, word) in tokens.iter().enumerate() {
        let begins = matches!(word.as_str(), "crate" | "super" | "self")
            && tokens.get(at + 1).is_some_and(|next| next == "::")
            && (at == 0 || !matches!(tokens[at - 1].as_str(), "::" | "in"));
        if begins {
            tree(&tokens[at..], Vec::new(), &mut |segments, _| {
                let handed = found.iter().any(|known| known.segments == segments);
                if !handed {
                    found.push(Written {
                        segments,
                        hands_on: false,
                    });
                }
            });
        }
    }
    found
}

/// Shows `each` path of an import, or the one path that stands here; answers how many tokens it took.
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
                // `{self, X}` names the module that stands before it.
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

/// Files that name each other in a loop, each loop once.
pub(crate) fn circles(uses: &BTreeSet<Use>) -> Vec<BTreeSet<Place>> {
    let mut next: BTreeMap<&Place, BTreeSet<&Place>> = BTreeMap::new();
    for one in uses {
        next.entry(&one.from).or_default().insert(&one.of);
    }
    let reach = |from: &Place| -> BTreeSet<Place> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Place> = next.get(from).into_iter().flatten().copied().collect();
        while let Some(place) = open.pop() {
            if seen.insert(place.clone()) {
                open.extend(next.get(place).into_iter().flatten().copied());
            }
        }
        seen
    };
    let reached: BTreeMap<&Place, BTreeSet<Place>> =
        next.keys().map(|place| (*place, reach(place))).collect();
    let mut found: Vec<BTreeSet<Place>> = Vec::new();
    for (place, far) in &reached {
        if far.contains(*place) && !found.iter().any(|circle| circle.contains(*place)) {
            let back = |other: &Place| reached.get(other).is_some_and(|far| far.contains(*place));
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
fn what_only_tests_have_does_not_count() {
    let text = "#[cfg(test)]\nmod tests { use super::*; }\n#[cfg(test)]\nmod bodies;\nmod kept;";
    assert_eq!(children(&without_tests(&tokens(text))), ["kept"]);
}

#[test]
fn a_loop_is_found_once_and_a_line_not_at_all() {
    let one = |from: &str, of: &str| Use {
        from: vec![from.to_owned()],
        of: vec![of.to_owned()],
        name: String::new(),
    };
    let uses = [one("a", "b"), one("b", "c"), one("c", "a"), one("c", "d")];
    let found = circles(&uses.into_iter().collect());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 3);
}
