//! Removes secrets from texts: the values of request headers, tokens included.
//!
//! A service may repeat a secret in a refusal, and errors end up in logs, pickles and reports.

use crate::model::sort_small;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

use crate::client::error::Error;

/// The characters that are written with a percent sign in a URL.
const IN_URLS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
/// The text that replaces a secret.
const VEIL: &str = "***";
/// Secrets of at least this many bytes are redacted wherever they occur, shorter ones only as whole words.
///
/// A truncated text may end with the beginning of a secret. A beginning of at least this many bytes is redacted too.
const TELLING: usize = 8;
/// Short words that messages contain. A secret that equals one of them, or a number of up to three digits, is redacted
/// only where it is a value: in quotes or after `=`.
const COMMON: [&str; 60] = [
    "a", "all", "an", "and", "any", "api", "are", "as", "at", "be", "but", "by", "can", "csv",
    "did", "do", "for", "get", "had", "has", "how", "i", "id", "if", "in", "ip", "is", "it", "its",
    "key", "may", "ms", "new", "no", "not", "now", "of", "off", "ok", "old", "on", "one", "or",
    "out", "own", "per", "s", "set", "so", "the", "to", "too", "up", "url", "use", "via", "was",
    "we", "you", "yes",
];

/// Texts to redact, longest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Collects values, values after a scheme such as `Bearer`, and their forms in JSON and in URLs.
    pub(crate) fn named<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut known = Vec::new();
        for value in values {
            let value = value.as_ref();
            for text in [
                value.trim(),
                value.split_whitespace().next_back().unwrap_or_default(),
            ] {
                let written = serde_json::to_string(text).unwrap_or_default();
                known.push(text.to_owned());
                known.push(written.trim_matches('"').to_owned());
                known.push(utf8_percent_encode(text, IN_URLS).to_string());
                known.push(form_urlencoded::byte_serialize(text.as_bytes()).collect());
            }
        }
        known.retain(|text| !text.is_empty());
        sort_small(&mut known, |one, other| other.len().cmp(&one.len()));
        known.dedup();
        Self(known)
    }

    /// Returns `text` without secrets and without beginnings of secrets.
    pub(crate) fn veiled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if secret.len() < TELLING {
                text = without_word(&text, secret);
                continue;
            }
            text = text.replace(secret, VEIL);
            let Some(start) = secret.get(..TELLING) else {
                continue;
            };
            while let Some(at) = text.find(start) {
                let rest = text.get(at..).unwrap_or_default();
                let alike = rest.bytes().zip(secret.bytes());
                let mut end = at + alike.take_while(|(one, other)| one == other).count();
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                text.replace_range(at..end, VEIL);
            }
        }
        text
    }

    /// Returns `error` without secrets in its texts.
    pub(crate) fn redact(&self, mut error: Error) -> Error {
        match &mut error {
            Error::NoAnswer { message, .. } | Error::TooSlow { message, .. } => {
                *message = self.veiled(message);
            }
            Error::Refused { message, body, .. } => {
                *message = self.veiled(message);
                *body = self.veiled(body);
            }
            Error::UnexpectedReply { message, path } => {
                *message = self.veiled(message);
                *path = self.veiled(path);
            }
            Error::BadQuery(_) => {}
        }
        error
    }
}

/// Returns `text` without `secrets`, and without beginnings of them at its end.
#[must_use]
pub fn without_secrets(text: &str, secrets: &[String]) -> String {
    Secrets::named(secrets).veiled(text)
}

/// Returns `text` without those occurrences of `secret` that are whole words.
fn without_word(text: &str, secret: &str) -> String {
    let is_short_number = secret.len() <= 3 && secret.bytes().all(|sign| sign.is_ascii_digit());
    let is_common = is_short_number || COMMON.contains(&secret.to_ascii_lowercase().as_str());
    let is_of_word =
        |sign: Option<char>| sign.is_some_and(|one| one.is_alphanumeric() || one == '_');
    let mut left = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(end..).and_then(|tail| tail.chars().next());
        let is_value = matches!(before, Some('=' | '"' | '\''));
        if is_of_word(before) || is_of_word(after) || (is_common && !is_value) {
            continue;
        }
        left.push_str(text.get(copied..at).unwrap_or_default());
        left.push_str(VEIL);
        copied = end;
    }
    left.push_str(text.get(copied..).unwrap_or_default());
    left
}

#[cfg(test)]
mod tests {
    use crate::client::call::secrets::*;

    fn secrets(values: &[&'static str]) -> Secrets {
        Secrets::named(values)
    }

    #[test]
    fn a_short_secret_is_veiled_as_a_whole_word_and_no_word_loses_a_part() {
        for (key, message, veiled) in [
            (
                "k1",
                "key k1 is unknown, k10 is not",
                "key *** is unknown, k10 is not",
            ),
            (
                "abc",
                r#"{"key":"abc","word":"abcess"}"#,
                r#"{"key":"***","word":"abcess"}"#,
            ),
            ("key", "Invalid/Missing API key", "Invalid/Missing API key"),
            ("key", "?api_key=key&limit=1", "?api_key=***&limit=1"),
            ("4", "404: key '4' is refused", "404: key '***' is refused"),
            ("demo", "demo is a demonstration", "*** is a demonstration"),
            ("ä", "näher: ä", "näher: ***"),
        ] {
            assert_eq!(secrets(&[key]).veiled(message), veiled, "{key}");
        }
    }

    #[test]
    fn a_secret_is_veiled_alone_with_its_scheme_as_json_and_where_it_is_cut() {
        let secrets = secrets(&["Bearer abcdefgh-123456", "a\"quoted\\one", "hunter2", "1"]);
        for (message, veiled) in [
            ("no Bearer abcdefgh-123456!", "no ***!"),
            ("no abcdefgh-123456!", "no ***!"),
            ("cut: abcdefgh-12", "cut: ***"),
            ("cut: abcdefgh…", "cut: ***…"),
            (r#"{"key": "a\"quoted\\one"}"#, r#"{"key": "***"}"#),
            ("hunter2 hunter2", "*** ***"),
            ("1 of 11 Bearers", "1 of 11 Bearers"),
            ("?key=a%22quoted%5Cone&limit=20", "?key=***&limit=20"),
        ] {
            assert_eq!(secrets.veiled(message), veiled);
        }
    }
}
