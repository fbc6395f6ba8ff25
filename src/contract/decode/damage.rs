//! Decoding errors with their place in the body.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use serde::de;
use serde_path_to_error::{Path, Segment};

/// Maximum length of a body value that a message quotes, in characters.
const SHOWN: usize = 40;
/// Maximum length of a message, in characters, so that a hostile body is not echoed in full.
const MESSAGE: usize = 400;
/// Separates path and message inside a serde error. Quoted values are escaped, so they never contain this character.
const MARK: char = '\u{1}';

/// An error in a body that breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", place(.path))]
pub struct DecodeError {
    /// The place, such as `data[3].price`; empty for the whole body.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the body" } else { path }
}

impl DecodeError {
    /// An error at `path`, such as `data[3].price`.
    #[must_use]
    pub fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: cut(message.into(), MESSAGE),
        }
    }

    /// Returns the error with `place` prepended to its path.
    #[must_use]
    pub fn below(self, place: &str) -> Self {
        let mut path = place.to_owned();
        join(&mut path, &self.path);
        Self { path, ..self }
    }

    /// An error about the whole body.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self::at("", message)
    }

    /// Converts this error to a serde error; the path is relative to the value that is being read.
    pub(in crate::contract) fn raise<E: de::Error>(self) -> E {
        at(self.path, self.message)
    }

    /// Converts a serde error at `path`.
    ///
    /// For a matrix cell, the path ends at the row, and the message starts with the index of the cell.
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

impl de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> Self {
        let text = message.to_string();
        let marked = text.strip_prefix(MARK);
        let (path, message) = marked
            .and_then(|rest| rest.split_once(MARK))
            .unwrap_or(("", &text));
        Self::at(path, message)
    }
}

fn join(place: &mut String, below: &str) {
    if !place.is_empty() && !below.is_empty() && !below.starts_with('[') {
        place.push('.');
    }
    place.push_str(below);
}

/// `text` with control characters, bidirectional marks and line breaks escaped, safe for a message or a log.
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

/// A serde error with a path relative to the value that is being read.
pub(in crate::contract) fn at<E: de::Error>(path: impl Display, message: impl Display) -> E {
    E::custom(format_args!("{MARK}{path}{MARK}{message}"))
}

/// `text`, cut after `most` characters.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A member name for use in a path: control characters escaped, shortened if long.
pub(in crate::contract) fn excerpt(name: &str) -> String {
    cut(name.escape_debug().to_string(), SHOWN)
}

/// `text` in quotes, shortened if long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.split_at(end).0),
        None => format!("{text:?}"),
    }
}
