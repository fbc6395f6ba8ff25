//! The error for a value outside the contract.
//!
//! It is raised before a query is sent or computed.

use std::borrow::Cow;

use crate::model::shortened;

/// An argument with a name or value that the contract does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {message}; allowed: {allowed}")]
pub struct BadQuery {
    /// Name of the invalid parameter.
    pub parameter: Cow<'static, str>,
    /// What is wrong, including the given value.
    pub message: String,
    /// Description of the allowed values.
    pub allowed: String,
}

impl BadQuery {
    /// Creates an error for `parameter`; long values are shortened in the middle.
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
