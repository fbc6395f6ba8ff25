//! What stands around a reply, and the shape of a refusal.

use serde::Serialize;

use super::BadQuery;

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
    /// A refusal that no single parameter is to blame for.
    #[must_use]
    pub fn plain(message: impl Into<String>) -> Self {
        Self {
            success: false,
            error: Fault {
                parameter: None,
                message: message.into(),
                allowed: None,
            },
        }
    }

    /// A refusal that names a parameter.
    #[must_use]
    pub fn about(parameter: &str, message: impl Into<String>) -> Self {
        Self {
            success: false,
            error: Fault {
                parameter: Some(parameter.to_owned()),
                message: message.into(),
                allowed: None,
            },
        }
    }
}

impl From<&BadQuery> for RefusedBody {
    fn from(refusal: &BadQuery) -> Self {
        Self {
            success: false,
            error: Fault {
                parameter: Some(refusal.parameter.clone().into_owned()),
                message: refusal.message.clone(),
                allowed: Some(refusal.allowed.clone()),
            },
        }
    }
}
