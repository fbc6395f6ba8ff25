//! What stands around a reply, and the shape of a refusal.

use serde::Serialize;

use super::refusal::BadQuery;

/// `{"success": true, "data": …}`.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope<T> {
    /// Always true around data.
    pub success: bool,
    /// The reply.
    pub data: T,
}

impl<T> Envelope<T> {
    /// The envelope of a good reply.
    pub fn around(data: T) -> Self {
        Self {
            success: true,
            data,
        }
    }
}

/// `{"success": false, "error": {…}}`: how our server refuses, with any status.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedBody {
    success: bool,
    error: Fault,
}

#[derive(Clone, Debug, Serialize)]
struct Fault {
    parameter: Option<String>,
    message: String,
    allowed: Option<String>,
}

impl RefusedBody {
    /// A refusal, with the parameter to blame and what is allowed where there is something to name.
    #[must_use]
    pub fn new(parameter: Option<&str>, message: impl Into<String>, allowed: Option<&str>) -> Self {
        Self {
            success: false,
            error: Fault {
                parameter: parameter.map(str::to_owned),
                message: message.into(),
                allowed: allowed.map(str::to_owned),
            },
        }
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
