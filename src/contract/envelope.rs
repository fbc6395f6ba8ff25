//! The envelope of successful replies, and the JSON body of errors.

use serde::{Deserialize, Serialize};

use super::refusal::BadQuery;
use crate::model::shortened;

/// Envelope of a successful reply: `{"success": true, "data": …}`.
#[derive(Clone, Debug, Serialize)]
pub struct ReplyEnvelope<T> {
    /// Always true for a successful reply.
    pub success: bool,
    /// The reply.
    pub data: T,
}

impl<T> ReplyEnvelope<T> {
    /// Puts a reply in its envelope.
    pub fn around(data: T) -> Self {
        Self {
            success: true,
            data,
        }
    }
}

/// Body of an error that liqdata's server returns: `{"success": false, "error": {…}}`.
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
    /// Creates an error body; parameter and allowed values are optional.
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

/// Body of an error about an invalid value, as a client parses it.
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
    /// Parses an error about a value outside the contract; `None` for other errors.
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
