//! What is wrong with a body, and where.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use serde::de;
use serde_path_to_error::{Path, Segment};

/// How many characters of a value from a body an error message repeats.
const SHOWN: usize = 40;
/// How many characters a message has at most: a hostile body must not come back whole inside an error.
const MESSAGE: usize = 400;
/// Sets the place off from the message inside an error that a reader raises; printed values are escaped, so none
/// contains it.
const MARK: char = '\u{1}';

/// A body that breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", place(.path))]
pub struct Damage {
    /// Where, such as `data[3].price`; empty where the body as a whole is meant.
    pub path: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the body" } else { path }
}

impl Damage {
    /// Damage at `path`, such as `data[3].price`.
    #[must_use]
    pub fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: cut(message.into(), MESSAGE),
        }
    }

    /// This damage, its path below `place`.
    #[must_use]
    pub fn below(self, place: &str) -> Self {
        let mut path = place.to_owned();
        join(&mut path, &self.path);
        Self { path, ..self }
    }

    /// Damage to the body as a whole.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self::at("", message)
    }

    /// This damage as the error of a reader, its path below that reader's own place.
    pub(super) fn raise<E: de::Error>(self) -> E {
        at(self.path, self.message)
    }

    /// The damage that a failed read tells of.
    ///
    /// A cell of a matrix is named in the message and its row in the path: rows are what a service can be asked about.
    pub(super) fn of(path: &Path, error: &serde_json::Error) -> Self {
        let mut place = String::new();
        let mut column = None;
        let mut in_row = false;
        for segment in path {
            match segment {
                Segment::Seq { index } if in_row => column = Some(index),
                Segment::Seq { index } => {
                    in_row = true;
                    // Writing to a string cannot fail.
                    let _ = write!(place, "[{index}]");
                }
                Segment::Map { key } => {
                    in_row = false;
                    join(&mut place, &excerpt(key));
                }
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let text = error.to_string();
        let marked = text.strip_prefix(MARK);
        let (below, message) = marked
            .and_then(|rest| rest.split_once(MARK))
            .unwrap_or(("", &text));
        join(&mut place, below);
        let message = match column {
            Some(column) => format!("cell {column}: {message}"),
            None => message.to_owned(),
        };
        Self::at(place, message)
    }
}

fn join(place: &mut String, below: &str) {
    if !place.is_empty() && !below.is_empty() && !below.starts_with('[') {
        place.push('.');
    }
    place.push_str(below);
}

/// `text` as it may be shown, in a message or a log: what steers a terminal, turns the direction of writing or begins a
/// line of its own is its escape.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |each: char| {
        each.is_control()
            || matches!(
                each,
                '\u{61c}'
                    | '\u{200b}'..='\u{200f}'
                    | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}'
                    | '\u{feff}'
                    | '\u{fff9}'..='\u{fffb}'
                    | '\u{e0000}'..='\u{e007f}'
            )
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for each in text.chars() {
        if steers(each) {
            escaped.extend(each.escape_default());
        } else {
            escaped.push(each);
        }
    }
    Cow::Owned(escaped)
}

/// The error of a reader about what lies at `path` below it.
pub(super) fn at<E: de::Error>(path: impl Display, message: impl Display) -> E {
    E::custom(format_args!("{MARK}{path}{MARK}{message}"))
}

/// `text`, cut behind `most` characters.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A member's name as a path spells it: cut where it is long, without control characters.
pub(super) fn excerpt(name: &str) -> String {
    cut(name.escape_debug().to_string(), SHOWN)
}

/// `text` in quotes, cut where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.split_at(end).0),
        None => format!("{text:?}"),
    }
}
