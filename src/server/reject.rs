//! From an error to its status and body: one table.

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::api::{BadQuery, Endpoint, RefusedBody};
use crate::engine::EngineError;
use crate::market::ArchivedError;
use crate::model::coin_of_pair;

/// The methods every path takes.
const METHODS: &str = "GET, HEAD";

/// Why a request gets no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// A value outside the contract.
    #[error(transparent)]
    BadQuery(#[from] BadQuery),
    /// The observations cannot carry the estimate.
    #[error("{error}{hint}")]
    Engine {
        /// What the engine says.
        error: EngineError,
        /// The parameter to blame.
        parameter: &'static str,
        /// What might help, ready to be appended; empty where nothing is known to.
        hint: String,
    },
    /// The archive behind the market has no answer.
    #[error("{}", told(.0))]
    Archived(#[from] ArchivedError),
    /// No page lives at this path.
    #[error("{path:?} is no path of this service; GET /api lists them")]
    NoSuchPath {
        /// The path.
        path: String,
    },
    /// Something other than reading was asked.
    #[error("{method} is not allowed here; allowed: {METHODS}")]
    ReadOnly {
        /// The method.
        method: Method,
    },
    /// No encoding that the client takes is one the server has.
    #[error("no encoding of the answer is acceptable; available: gzip, br, zstd and identity")]
    NotAcceptable,
    /// The query string is too long.
    #[error("the query is {length} bytes long; allowed: {allowed}")]
    QueryTooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest that is read.
        allowed: usize,
    },
    /// The header fields are too long.
    #[error("the header fields are {length} bytes long; allowed: {allowed}")]
    HeadersTooLong {
        /// Their length in bytes.
        length: usize,
        /// The longest that are read.
        allowed: usize,
    },
    /// More connections than the server carries.
    #[error("the server is busy; try again in a second")]
    Busy,
    /// The server is at fault.
    #[error("the server failed to answer; this is a defect of the server, not of the request")]
    Defect,
}

impl Rejection {
    /// What the engine refuses to an endpoint.
    pub(crate) fn engine<E: Endpoint>(error: EngineError) -> Self {
        let (parameter, hint) = match &error {
            EngineError::UnknownCoin { coin, known, .. } => ("symbol", hint(coin, known)),
            EngineError::TooCoarse { .. } if E::PARAMETERS.contains(&"range") => {
                ("range", String::new())
            }
            EngineError::NoBars { .. } | EngineError::TooCoarse { .. } => ("symbol", String::new()),
            EngineError::NoSuchLength { .. } => ("interval", String::new()),
        };
        Self::Engine {
            error,
            parameter,
            hint,
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.row().0.as_u16()
    }

    /// The body, in the shape of every refusal.
    #[must_use]
    pub fn body(&self) -> RefusedBody {
        let message = self.to_string();
        match self {
            Self::BadQuery(refusal) => refusal.into(),
            Self::Engine { parameter, .. } => RefusedBody::about(parameter, message),
            Self::Archived(ArchivedError::Later { .. }) => RefusedBody::about("as_of", message),
            _ => RefusedBody::plain(message),
        }
    }

    /// The table: status and the header that goes with it.
    fn row(&self) -> (StatusCode, Option<(HeaderName, &'static str)>) {
        match self {
            Self::BadQuery(_) | Self::Archived(ArchivedError::Later { .. }) => {
                (StatusCode::BAD_REQUEST, None)
            }
            Self::Engine { error, .. } => match error {
                EngineError::UnknownCoin { .. } | EngineError::NoBars { .. } => {
                    (StatusCode::NOT_FOUND, None)
                }
                EngineError::TooCoarse { .. } | EngineError::NoSuchLength { .. } => {
                    (StatusCode::BAD_REQUEST, None)
                }
            },
            Self::Archived(_) => (StatusCode::SERVICE_UNAVAILABLE, None),
            Self::NoSuchPath { .. } => (StatusCode::NOT_FOUND, None),
            Self::ReadOnly { .. } => (StatusCode::METHOD_NOT_ALLOWED, Some((ALLOW, METHODS))),
            Self::NotAcceptable => (StatusCode::NOT_ACCEPTABLE, None),
            Self::QueryTooLong { .. } => (StatusCode::URI_TOO_LONG, None),
            Self::HeadersTooLong { .. } => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, None),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, Some((RETRY_AFTER, "1"))),
            Self::Defect => (StatusCode::INTERNAL_SERVER_ERROR, None),
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, header) = self.row();
        let json = HeaderValue::from_static("application/json");
        // Three fields of text: encoding them cannot fail, and an empty body would still carry the status.
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, json)], body).into_response();
        if let Some((name, value)) = header {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// What a client is told of a fault of the archive: where it lies is nobody else's business.
fn told(fault: &ArchivedError) -> String {
    match fault {
        ArchivedError::Archive(fault) => {
            log::error!("{fault}");
            "the archive behind this service cannot be read".to_owned()
        }
        fault => fault.to_string(),
    }
}

/// What to say behind "unknown": the coin that a pair in a venue's own spelling means, or nothing.
fn hint(asked: &str, known: &[String]) -> String {
    let plain: String = asked
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    let pair = ["PERP", "SWAP"]
        .into_iter()
        .find_map(|kind| plain.strip_suffix(kind))
        .unwrap_or(&plain);
    let (coin, _) = coin_of_pair(pair);
    if coin != asked && known.contains(&coin) {
        format!("; did you mean {coin:?}?")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_in_a_venues_own_spelling_hints_at_its_coin() {
        let known = ["BTC".to_owned(), "PEPE".to_owned()];
        for (asked, wanted) in [
            ("BTC-USDT-SWAP", "; did you mean \"BTC\"?"),
            ("BTC_USDT", "; did you mean \"BTC\"?"),
            ("BTCPERP", "; did you mean \"BTC\"?"),
            ("1000PEPE", "; did you mean \"PEPE\"?"),
            ("ETHUSD", ""),
            ("NOPE", ""),
            ("", ""),
        ] {
            assert_eq!(hint(asked, &known), wanted, "{asked}");
        }
    }
}
