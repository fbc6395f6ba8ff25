//! Decides whether a body is a refusal, and finds the reason.

use serde::Deserializer;
use serde_json::Value;

use super::damage::{DecodeError, cut, printable, shown};
use super::token::{Read, Skip, object};

/// Maximum length of a service's reason, in characters.
const REASON: usize = 1000;
/// Values of `code` that mean success.
const SUCCESS_CODES: [f64; 3] = [0.0, 1.0, 200.0];
/// Texts that mean success and are therefore not a reason of a refusal.
const SUCCESS_WORDS: [&str; 2] = ["success", "ok"];

/// The members that say whether and why a body is a refusal.
pub(super) struct Verdict {
    success: Option<Value>,
    code: Option<Value>,
    error: Option<Value>,
    message: Option<Value>,
    msg: Option<Value>,
    data: Option<Skip>,
}

object!(Verdict, "an object", { success, code, error, message, msg, data });

impl<'de> Read<'de> for Value {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

/// Whether a code says that the request succeeded: 0, 1, 200 or `success`, as a number or as text.
pub(super) fn is_success(code: &Value) -> bool {
    let number = match code {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.eq_ignore_ascii_case("success") => return true,
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.is_some_and(|number| SUCCESS_CODES.contains(&number))
}

impl Verdict {
    /// The reason of a refusal; `None` for other bodies.
    ///
    /// A body with `success: false` is a refusal. A body with a reason is also a refusal if neither `success` nor `code`
    /// means success, if its `code` means failure, or if it has no data.
    pub(super) fn refusal(&self, enveloped: bool, reply: ReplyState) -> Option<String> {
        if self.success == Some(Value::Bool(false)) {
            return Some(self.reason());
        }
        let succeeded = match (&self.success, self.succeeds()) {
            (Some(success), code) => *success == Value::Bool(true) && code != Some(false),
            // A reply without an envelope needs neither `success` nor `code`.
            (None, code) => code.unwrap_or(!enveloped),
        };
        let lacks_data = match reply {
            ReplyState::Complete => false,
            ReplyState::Damaged => enveloped && self.data.is_none(),
            ReplyState::Missing => true,
        };
        self.words().filter(|_| !succeeded || lacks_data)
    }

    /// The error about the `success` member of a body that is not a refusal, if any.
    pub(super) fn fault(&self, enveloped: bool) -> Option<DecodeError> {
        match &self.success {
            None if enveloped && self.succeeds() != Some(true) => {
                Some(DecodeError::at("success", "is missing"))
            }
            None | Some(Value::Bool(_)) => None,
            Some(other) => Some(DecodeError::at(
                "success",
                format!("{} is not true or false", shown(&other.to_string())),
            )),
        }
    }

    /// The reason in the body, even if the body has data or states success.
    pub(super) fn stated(&self) -> Option<String> {
        let refused = self.success == Some(Value::Bool(false));
        self.words().or_else(|| refused.then(|| self.reason()))
    }

    /// Whether `code` means success; `None` if the body has no `code`.
    fn succeeds(&self) -> Option<bool> {
        self.code.as_ref().map(is_success)
    }

    fn reason(&self) -> String {
        self.words()
            .unwrap_or_else(|| "the service gives no reason".to_owned())
    }

    /// The most specific reason in the body.
    fn words(&self) -> Option<String> {
        let error = self.error.as_ref();
        let inside = |key: &str| error.and_then(|error| error.get(key));
        let first = error.and_then(|error| error.get(0));
        [
            error,
            inside("message"),
            inside("msg"),
            first,
            self.message.as_ref(),
            self.msg.as_ref(),
        ]
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .find(|reason| {
            let reason = reason.trim();
            let says = |word: &&str| reason.eq_ignore_ascii_case(word);
            !reason.is_empty() && !SUCCESS_WORDS.iter().any(says)
        })
        .map(|reason| printable(&cut(reason.to_owned(), REASON)).into_owned())
    }
}

/// How much of a reply a body contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyState {
    /// The whole reply.
    Complete,
    /// A reply that cannot be decoded.
    Damaged,
    /// No reply: a required member is missing.
    Missing,
}

impl ReplyState {
    /// The state of a reply that cannot be read because of `damage`.
    pub(super) fn of(damage: &DecodeError, enveloped: bool) -> Self {
        let outer = damage.path.is_empty() || damage.path.contains(['.', '[']);
        let is_reply = if enveloped {
            damage.path == "data"
        } else {
            !outer
        };
        if is_reply && damage.message.starts_with("is missing") {
            Self::Missing
        } else {
            Self::Damaged
        }
    }
}
