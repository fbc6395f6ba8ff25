//! The refusal of a value outside the contract, before a query is sent or computed.

use std::borrow::Cow;

use crate::model::shortened;

/// A value outside the vocabulary or bounds of the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {message}; allowed: {allowed}")]
pub struct BadQuery {
    /// The parameter at fault.
    pub parameter: Cow<'static, str>,
    /// What is wrong, with the value.
    pub message: String,
    /// The allowed values.
    pub allowed: String,
}

impl BadQuery {
    /// A refusal of `parameter`; long values are shortened in the middle.
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
