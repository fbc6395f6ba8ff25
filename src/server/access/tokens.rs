//! Bearer tokens. Only their digests are stored.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::net::plain_length;
use crate::server::access::reload::Reloaded;

/// Prefix of a digest, in a token file or instead of a token.
const DIGEST: &str = "sha256:";

/// Minimum length of a token in characters. Shorter tokens could be guessed.
const SHORTEST: usize = 16;

/// Maximum size of a token file, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The SHA-256 digest of a token.
pub(crate) type TokenDigest = [u8; 32];

/// A token that is accepted: its digest, and its owner, which may be empty.
type Known = (TokenDigest, String);

/// Accepted bearer tokens: those of a file, which is read again when it changes, and fixed ones.
#[derive(Clone, Default)]
pub struct Tokens {
    fixed: Vec<TokenDigest>,
    files: Vec<Arc<Reloaded<Vec<Known>>>>,
}

impl Tokens {
    /// Adds a token of at least sixteen visible ASCII characters, or `sha256:` with its hexadecimal digest.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for any other text. The message does not repeat it.
    pub fn with(mut self, token: &str) -> io::Result<Self> {
        self.fixed.push(match token.strip_prefix(DIGEST) {
            Some(digest) => hash(digest).ok_or_else(|| invalid(NO_DIGEST.to_owned()))?,
            None if token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Sha256::digest(token).into()
            }
            None => {
                return Err(invalid(format!(
                    "token: a text of {} characters; allowed: at least {SHORTEST} visible ASCII characters",
                    token.chars().count()
                )));
            }
        });
        Ok(self)
    }

    /// Adds the tokens of a file: one `sha256:` digest a line, and after `#` its owner.
    ///
    /// # Errors
    ///
    /// I/O errors of the file, and [`InvalidInput`](io::ErrorKind::InvalidInput) for a line that is not a digest.
    pub fn with_file(mut self, file: PathBuf) -> io::Result<Self> {
        self.files.push(Arc::new(Reloaded::new(vec![file], read)?));
        Ok(self)
    }

    /// The digest of a token in the form of a token file.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::server::Tokens;
    ///
    /// let line = Tokens::digest("correct-horse-battery");
    /// assert!(line.starts_with("sha256:") && line.len() == 71);
    /// assert!(Tokens::default().with(&line).is_ok());
    /// ```
    #[must_use]
    pub fn digest(token: &str) -> String {
        let mut text = DIGEST.to_owned();
        for byte in Sha256::digest(token) {
            for digit in [byte >> 4, byte & 15] {
                text.extend(char::from_digit(u32::from(digit), 16));
            }
        }
        text
    }

    /// Whether a token is required. A token file without tokens admits no request.
    pub(crate) fn asked_for(&self) -> bool {
        !self.fixed.is_empty() || !self.files.is_empty()
    }

    /// The digest of `token` if it is accepted.
    pub(crate) fn accepted(&self, token: &[u8]) -> Option<TokenDigest> {
        let given: TokenDigest = Sha256::digest(token).into();
        self.accepts(&given).then_some(given)
    }

    /// Whether the token with this digest is accepted now.
    pub(crate) fn accepts(&self, digest: &TokenDigest) -> bool {
        // The client chooses the token but not its digest, so the comparison time discloses no stored digest.
        self.fixed.contains(digest)
            || self
                .files
                .iter()
                .any(|file| file.current().iter().any(|(known, _)| known == digest))
    }

    /// The owner of a token, as one word for the access log. A token without a name has the first digits of its digest.
    /// `None` for a token that is not accepted.
    pub(crate) fn owner(&self, token: &[u8]) -> Option<String> {
        let digest = self.accepted(token)?;
        let named = self.files.iter().find_map(|file| {
            let known = file.current();
            let found = known.iter().find(|(known, _)| *known == digest);
            found.map(|(_, owner)| owner.clone())
        });
        Some(named.filter(|owner| !owner.is_empty()).unwrap_or_else(|| {
            let start = digest
                .iter()
                .take(4)
                .fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
            format!("{DIGEST}{start:08x}")
        }))
    }

    /// Reads the files that have changed. Returns whether any was read.
    pub(crate) fn reload_if_changed(&self) -> bool {
        let mut changed = false;
        for file in &self.files {
            changed |= file.reload_if_changed();
        }
        changed
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("fixed", &self.fixed.len())
            .field("files", &self.files)
            .finish()
    }
}

const NO_DIGEST: &str =
    "token: the text after \"sha256:\" is not a digest; allowed: 64 hexadecimal digits";

fn read(files: &[PathBuf]) -> io::Result<Vec<Known>> {
    let mut hashes = Vec::new();
    for file in files {
        let named = |failure: io::Error| {
            io::Error::new(
                failure.kind(),
                format!("token: {}: {failure}", file.display()),
            )
        };
        let length = plain_length(file).map_err(named)?;
        if length > LONGEST_FILE {
            return Err(invalid(format!(
                "token: {}: the token file has {length} bytes; allowed: at most {LONGEST_FILE}",
                file.display()
            )));
        }
        let text = fs::read_to_string(file).map_err(named)?;
        for (number, line) in (1..).zip(text.lines()) {
            let (digest, owner) = line.split_once('#').unwrap_or((line, ""));
            let digest = digest.trim();
            if digest.is_empty() {
                continue;
            }
            let found = digest.strip_prefix(DIGEST).and_then(hash);
            let digest = found.ok_or_else(|| {
                invalid(format!(
                    "token: {}, line {number}: not a token digest; allowed: sha256: and 64 hexadecimal digits, as the \
                     command `liqdata token` prints them",
                    file.display()
                ))
            })?;
            hashes.push((digest, word(owner)));
        }
    }
    Ok(hashes)
}

/// An owner as one word, so that a line of the access log has the same number of fields for every owner.
fn word(owner: &str) -> String {
    let odd = |one: char| one.is_whitespace() || one.is_control() || one == '"';
    owner.trim().replace(odd, "_")
}

fn hash(digits: &str) -> Option<TokenDigest> {
    let digits: Option<Vec<u8>> = digits
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let bytes: Vec<u8> = digits?
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    bytes.try_into().ok()
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::server::access::tokens::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn a_token_opens_by_itself_and_by_its_digest() {
        for written in [TOKEN.to_owned(), Tokens::digest(TOKEN)] {
            let tokens = Tokens::default().with(&written).unwrap();
            assert!(tokens.asked_for());
            assert!(tokens.accepted(TOKEN.as_bytes()).is_some());
            assert!(tokens.accepted(b"0123456789abcdeF").is_none());
            assert!(tokens.accepted(Tokens::digest(TOKEN).as_bytes()).is_none());
        }
    }

    #[test]
    fn what_could_be_guessed_or_is_no_digest_is_refused_untold() {
        let odd = format!("{}0", Tokens::digest(TOKEN));
        for text in [
            "",
            "short",
            "0123456789abcde ",
            "pässwörter-sind-lang",
            "sha256:12",
            &odd,
        ] {
            let refused = Tokens::default().with(text).unwrap_err().to_string();
            assert!(refused.starts_with("token: "), "{refused}");
            assert!(text.is_empty() || !refused.contains(text), "{refused}");
        }
    }
}
