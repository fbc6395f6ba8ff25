//! Errors of a client.

use std::error::Error as StdError;

use url::Url;

use crate::contract::BadQuery;
use crate::contract::decode::{DecodeError, printable};

/// The source of an error.
pub type Cause = Box<dyn StdError + Send + Sync + 'static>;

/// Why a question has no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The service could not be reached, or its answer broke off.
    #[error("{message}")]
    NoAnswer {
        /// What failed and where.
        message: String,
        /// The underlying error.
        source: Option<Cause>,
    },
    /// The deadline passed.
    #[error("{message}")]
    TooSlow {
        /// The deadline of the call, in seconds.
        seconds: f64,
        /// What the client was waiting for.
        message: String,
        /// The failure of the attempt before the last, if any.
        source: Option<Cause>,
    },
    /// The service refused the question.
    #[error("{message}")]
    Refused {
        /// The HTTP status; 200 for `success: false`.
        status: u16,
        /// The first 2 kB of the body.
        body: String,
        /// The seconds after which the service accepts a retry, if it says so.
        retry_after: Option<f64>,
        /// What was refused, with the service's reason if it gives one.
        message: String,
    },
    /// The answer breaks the contract.
    #[error("{message}")]
    UnexpectedReply {
        /// The path in the reply, as in `data[3].price`; empty for the whole body.
        path: String,
        /// What is wrong at that path.
        message: String,
    },
    /// The question is outside the contract.
    #[error(transparent)]
    BadQuery(#[from] BadQuery),
}

impl Error {
    pub(crate) fn no_answer(message: impl Into<String>) -> Self {
        Self::NoAnswer {
            message: message.into(),
            source: None,
        }
    }
}

impl From<DecodeError> for Error {
    fn from(damage: DecodeError) -> Self {
        Self::UnexpectedReply {
            message: damage.to_string(),
            path: damage.path,
        }
    }
}

/// Maximum length of an excerpt from the body of a refusal, in bytes.
const EXCERPT: usize = 2048;
/// Maximum length of a bad value in a message, in characters.
const SHOWN: usize = 200;

/// The beginning of `body` as text, at most 2 kB.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let head = body.get(..EXCERPT.min(body.len())).unwrap_or(body);
    let mut text = String::from_utf8_lossy(head).into_owned();
    // The text may be longer than the bytes, because an invalid byte becomes a character of three bytes.
    let mut end = EXCERPT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    // Drops a character that the cut has split.
    if body.len() > EXCERPT && text.ends_with(char::REPLACEMENT_CHARACTER) {
        text.pop();
    }
    text
}

/// The reason in the body of a refusal that does not follow the contract: its first line, unless it is markup or
/// binary.
pub(crate) fn plain(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let line = text.trim().lines().next()?.trim_end();
    let says = line.chars().any(char::is_alphanumeric) && !line.starts_with('<');
    says.then(|| shortened(line))
}

/// An address for messages, without parts that may be secret. The address may be malformed.
pub(crate) fn masked(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = text.split_at(start);
    let user_info = if Url::parse(text).is_ok_and(|url| url.has_host()) {
        let authority = rest.split(['/', '\\', '?', '#']).next();
        authority.and_then(|authority| authority.rfind('@'))
    } else {
        // In a malformed address a password may contain any character.
        rest.rfind('@')
    };
    let (user, rest) = match user_info {
        Some(at) => ("***", rest.get(at..).unwrap_or_default()),
        None => ("", rest),
    };
    let address = rest.split(['?', '#']).next().unwrap_or_default();
    let cut = if address.len() < rest.len() {
        "?***"
    } else {
        ""
    };
    shortened(&format!("{scheme}{user}{address}{cut}"))
}

/// Printable text, truncated after [`SHOWN`] characters.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", printable(text.get(..end).unwrap_or_default())),
        None => printable(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refusal_says_is_its_first_line_and_no_markup() {
        assert_eq!(plain(b" slow down\r\nplease"), Some("slow down".to_owned()));
        assert_eq!(
            plain(br#"{"detail": "no"}"#),
            Some(r#"{"detail": "no"}"#.to_owned())
        );
        assert_eq!(plain(&vec![b'x'; 5000]).map(|said| said.len()), Some(203));
        for nothing in [&b""[..], b" \n ", b"<html>no</html>", b"{}", b"\xff"] {
            assert_eq!(plain(nothing), None);
        }
    }

    #[test]
    fn an_excerpt_is_at_most_2_kb_and_never_cuts_a_character() {
        assert_eq!(excerpt(b"no"), "no");
        assert_eq!(excerpt(&vec![b'x'; 5000]).len(), 2048);
        let euros = "€".repeat(1000);
        assert_eq!(excerpt(euros.as_bytes()), "€".repeat(682));
        assert!(excerpt(&vec![0xff; 5000]).len() <= 2048);
    }
}
