//! A question outside the contract, refused before it is asked.

use std::borrow::Cow;

use crate::model::shortened;

/// A value outside the contract's vocabulary or bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {message}; allowed: {allowed}")]
pub struct BadQuery {
    /// The parameter at fault.
    pub parameter: Cow<'static, str>,
    /// What is wrong, with the value.
    pub message: String,
    /// What is allowed.
    pub allowed: String,
}

impl BadQuery {
    /// A refusal of `parameter`; a value that is long is shown by its ends.
    pub fn new(
        parameter: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let parameter = match parameter.into() {
            Cow::Owned(name) => Cow::Owned(shortened(&name).into_owned()),
            known @ Cow::Borrowed(_) => known,
        };
        Self {
            parameter,
            message: shortened(&message.into()).into_owned(),
            allowed: allowed.into(),
        }
    }
}
