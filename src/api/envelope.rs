//! The envelope of replies, and the body of refusals.

use serde::{Deserialize, Serialize};

use super::refusal::BadQuery;
use crate::model::shortened;

/// `{"success": true, "data": …}`.
#[derive(Clone, Debug, Serialize)]
pub struct ReplyEnvelope<T> {
    /// Always true in a reply.
    pub success: bool,
    /// The reply.
    pub data: T,
}

impl<T> ReplyEnvelope<T> {
    /// Wraps a reply.
    pub fn around(data: T) -> Self {
        Self {
            success: true,
            data,
        }
    }
}

/// `{"success": false, "error": {…}}`: the body of a refusal of our server.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedBody {
    success: bool,
    error: RefusalBody,
}

#[derive(Clone, Debug, Serialize)]
struct RefusalBody {
    parameter: Option<String>,
    message: String,
    allowed: Option<String>,
}

impl RefusedBody {
    /// A refusal with the parameter at fault and the allowed values, where known.
    #[must_use]
    pub fn new(parameter: Option<&str>, message: impl Into<String>, allowed: Option<&str>) -> Self {
        Self {
            success: false,
            error: RefusalBody {
                parameter: parameter.map(|name| shortened(name).into_owned()),
                message: shortened(&message.into()).into_owned(),
                allowed: allowed.map(str::to_owned),
            },
        }
    }
}

/// The body of a refusal of a value, as a client parses it.
#[derive(Deserialize)]
struct RefusedReply {
    error: RefusedParameter,
}

#[derive(Deserialize)]
struct RefusedParameter {
    parameter: String,
    message: String,
    allowed: String,
}

impl RefusedBody {
    /// Parses a refusal of a value outside the contract; `None` for other refusals.
    #[must_use]
    pub fn bad_query(body: &[u8]) -> Option<BadQuery> {
        let RefusedReply { error } = serde_json::from_slice(body).ok()?;
        Some(BadQuery::new(error.parameter, error.message, error.allowed))
    }
}

impl From<&BadQuery> for RefusedBody {
    fn from(refusal: &BadQuery) -> Self {
        Self::new(
            Some(&refusal.parameter),
            refusal.message.as_str(),
            Some(&refusal.allowed),
        )
    }
}
