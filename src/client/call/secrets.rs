//! Removes secrets from texts: the values of request headers, tokens included.
//!
//! A service may repeat a secret in a refusal, and errors end up in logs, pickles and reports.

use crate::model::sort_small;
use reqwest::header::HeaderMap;

use crate::client::error::Error;

/// The text that replaces a secret.
const VEIL: &str = "***";
/// Minimum length in bytes of a redacted value. Shorter values occur in ordinary text.
const SHORTEST: usize = 4;
/// A truncated text may end with the beginning of a secret. A beginning of at least this many bytes is redacted too.
const TELLING: usize = 8;

/// Texts to redact, longest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Collects header values, values after a scheme such as `Bearer`, and their JSON forms.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut known = Vec::new();
        for value in headers.values() {
            let value = String::from_utf8_lossy(value.as_bytes());
            for text in [
                value.trim(),
                value.split_whitespace().next_back().unwrap_or_default(),
            ] {
                let written = serde_json::to_string(text).unwrap_or_default();
                known.push(text.to_owned());
                known.push(written.trim_matches('"').to_owned());
            }
        }
        known.retain(|text| text.len() >= SHORTEST);
        sort_small(&mut known, |one, other| other.len().cmp(&one.len()));
        known.dedup();
        Self(known)
    }

    /// Returns `text` without secrets and without beginnings of secrets.
    pub(crate) fn veiled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use reqwest::header::HeaderValue;

    use crate::client::call::secrets::*;

    fn secrets(values: &[&'static str]) -> Secrets {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("x-key", HeaderValue::from_str(value).unwrap());
        }
        Secrets::of(&headers)
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
        ] {
            assert_eq!(secrets.veiled(message), veiled);
        }
    }
}
