//! What a body gives, in a form that can be compared; and the same body in a form that only tolerant readers take.

use std::fmt::Debug;

use liqdata::contract::decode::{Decode, DecodeError, Reading, read};

/// What a body gives.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// The reply as it prints, which tells NaN from nothing and zero from minus zero.
    Reply(String),
    /// The service refuses, for this reason.
    Refused(String),
    /// The body breaks the contract.
    Damaged(DecodeError),
}

/// What `body` gives, read whole.
#[must_use]
pub fn verdict<R: Decode + Debug>(body: &[u8], enveloped: bool) -> Verdict {
    Verdict::from(read::<R>(body, enveloped))
}

impl<R: Debug> From<Result<Reading<R>, DecodeError>> for Verdict {
    fn from(read: Result<Reading<R>, DecodeError>) -> Self {
        match read {
            Ok(Reading::Reply(reply) | Reading::Converted { reply, .. }) => {
                Self::Reply(format!("{reply:?}"))
            }
            Ok(Reading::Refused { message }) => Self::Refused(message),
            Err(damage) => Self::Damaged(damage),
        }
    }
}

impl Verdict {
    /// Whether the two are one, where counts of bytes, lines and columns may differ.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Damaged(one), Self::Damaged(other)) => {
                one.path == other.path && unplaced(&one.message) == unplaced(&other.message)
            }
            (one, other) => one == other,
        }
    }
}

/// A message up to where it names a place by counts.
fn unplaced(message: &str) -> &str {
    let end = [" at line ", " from byte "]
        .into_iter()
        .filter_map(|words| message.rfind(words))
        .min();
    message
        .get(..end.unwrap_or(message.len()))
        .unwrap_or_default()
}

/// The same JSON with one more member in front of its first object, which nobody asks for and whose name is escaped: the
/// quick readers leave it to the tolerant ones, which pass over it.
///
/// `None` where there is no such place: where the text does not begin with an object that has members, or with a list
/// of them.
#[must_use]
pub fn surprising(json: &[u8]) -> Option<Vec<u8>> {
    const MEMBER: &[u8] = b"\"\\u0070lain\":false,";
    let next = |from: usize| {
        let behind = json.get(from..)?;
        let blanks = behind.iter().take_while(|byte| b" \n\r\t".contains(byte));
        let at = from + blanks.count();
        Some((at, *json.get(at)?))
    };
    let mut place = next(0)?;
    while place.1 == b'[' {
        place = next(place.0 + 1)?;
    }
    let (open, b'{') = place else { return None };
    let (_, b'"') = next(open + 1)? else {
        return None;
    };
    let (head, tail) = json.split_at(open + 1);
    Some([head, MEMBER, tail].concat())
}
