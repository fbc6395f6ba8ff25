//! Maps each error to an HTTP status and a response body, in one table.

use std::time::Duration;

use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::contract::{BadQuery, RefusedBody};
use crate::market::{Refusal, RefusalCode};
use crate::model::CoverageGap;

/// The methods that every path accepts, for error messages and the `Allow` header.
const METHODS: &str = "GET, HEAD";

/// The method of the path for agents.
const POST: &str = "POST";

/// The message for an internal error.
const DEFECT: &str =
    "the server failed to answer; this is a defect of the server, not of the request";

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The market refused the query.
    #[error("{}", message_of(.0))]
    Refused(#[from] Refusal),
    /// No page of the service has this path.
    #[error("{path:?} is not a path of this service; GET /api lists its paths")]
    NoSuchPath {
        /// Path of the request.
        path: String,
    },
    /// The method is neither GET nor HEAD.
    #[error("{method} is not allowed here; allowed: {METHODS}")]
    ReadOnly {
        /// Method of the request.
        method: Method,
    },
    /// The method is not POST, on the path for agents.
    #[error("{method} is not allowed here; allowed: {POST}")]
    OnlyPost {
        /// Method of the request.
        method: Method,
    },
    /// A web page of an origin that is not allowed asks as an agent.
    #[error(
        "{origin:?} may not ask as an agent; allowed: no Origin, the server's own, and those given with \
         serve(origins=...) or --origin"
    )]
    ForeignOrigin {
        /// Origin of the request.
        origin: String,
    },
    /// A message of an agent is too long.
    #[error("the message is {length} bytes long; allowed: {allowed}")]
    MessageTooLong {
        /// Length of the body in bytes.
        length: usize,
        /// Maximum length in bytes.
        allowed: usize,
    },
    /// No program answers agents.
    #[error("this server answers no agents; liqdata serve with pip install \"liqdata[mcp]\" does")]
    NoAgents,
    /// The client of an agent's message closed its connection before the answer.
    #[error("the connection was closed before the answer; the message is cancelled")]
    HungUp,
    /// The client accepts none of the encodings that the server supports.
    #[error("no encoding of the answer is acceptable; available: gzip, zstd and identity")]
    NotAcceptable,
    /// The query string is too long.
    #[error("the query is {length} bytes long; allowed: {allowed}")]
    QueryTooLong {
        /// Length of the query string in bytes.
        length: usize,
        /// Maximum length in bytes.
        allowed: usize,
    },
    /// The header fields are too long.
    #[error("the header fields are {length} bytes long; allowed: {allowed}")]
    HeadersTooLong {
        /// Total length of the header fields in bytes.
        length: usize,
        /// Maximum length in bytes.
        allowed: usize,
    },
    /// The request carries no valid token.
    #[error(
        "a token is required: send it as Authorization: Bearer TOKEN (Client(token=...), $LIQDATA_TOKEN)"
    )]
    Unauthorized,
    /// The `Host` header names another server.
    #[error(
        "{host:?} is not a name of this server; allowed: its address, localhost, and the names given with \
         serve(hosts=...) or --allow-host"
    )]
    Misdirected {
        /// Host name in the request.
        host: String,
    },
    /// A client behind a trusted proxy has too many requests under way.
    #[error("{under_way} requests of yours are under way; allowed: {allowed} at once")]
    TooMany {
        /// Number of requests under way.
        under_way: usize,
        /// Maximum number of requests under way.
        allowed: usize,
    },
    /// A client follows too many event streams.
    #[error("{open} event streams of yours are open; allowed: {allowed} at once")]
    TooManyStreams {
        /// Number of open streams.
        open: usize,
        /// Maximum number of open streams.
        allowed: usize,
    },
    /// The peer has not read enough of its earlier answers.
    #[error(
        "you have not read {used} bytes of earlier answers; allowed: {allowed} before the next query"
    )]
    Unread {
        /// Number of unread bytes.
        used: usize,
        /// Maximum number of unread bytes.
        allowed: usize,
    },
    /// The answer takes longer than the time limit.
    #[error("the answer was not computed within {} s", within.as_secs_f64())]
    TooSlow {
        /// The time limit.
        within: Duration,
    },
    /// The newest observation is older than `max_age`.
    #[error("the newest observation is {} s old; allowed: {}", seconds(*age), seconds(*allowed))]
    Stale {
        /// Age of the newest observation in milliseconds.
        age: i64,
        /// Maximum age in milliseconds.
        allowed: i64,
    },
    /// Nothing has been observed, and a `max_age` is given.
    #[error("nothing has been observed yet")]
    Nothing,
    /// The collector is connected to none of its exchanges.
    #[error("{}", unheard(gaps))]
    Unheard {
        /// The current gap of each exchange: its start and its reason.
        gaps: Vec<CoverageGap>,
    },
    /// The server has too many connections.
    #[error("the server is busy; try again in a second")]
    Busy,
    /// Too many historical queries are waiting.
    #[error("{waiting} historical queries (as_of) are waiting already; try again in a few seconds")]
    PastBusy {
        /// Number of waiting historical queries.
        waiting: usize,
    },
    /// The memory for answers is used up.
    #[error("answers under way take {used} bytes; allowed: {allowed}; try again in a few seconds")]
    NoRoom {
        /// Used memory in bytes.
        used: usize,
        /// Maximum memory in bytes.
        allowed: usize,
    },
    /// Internal error.
    #[error("{DEFECT}")]
    Defect,
}

impl From<BadQuery> for Rejection {
    fn from(query: BadQuery) -> Self {
        Self::Refused(query.into())
    }
}

/// The HTTP status of a market's refusal.
#[must_use]
pub fn status(code: RefusalCode) -> StatusCode {
    match code {
        RefusalCode::BadQuery
        | RefusalCode::TooCoarse
        | RefusalCode::TooShort
        | RefusalCode::NoSuchLength
        | RefusalCode::Later
        | RefusalCode::EmptyRange => StatusCode::BAD_REQUEST,
        RefusalCode::UnknownCoin
        | RefusalCode::NoBars
        | RefusalCode::NoPositions
        | RefusalCode::NotRecorded
        | RefusalCode::NoOrders => StatusCode::NOT_FOUND,
        RefusalCode::Gone => StatusCode::GONE,
        RefusalCode::Unreadable | RefusalCode::Inexact | RefusalCode::NotTables => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        RefusalCode::Defect => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Rejection {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.row().0.as_u16()
    }

    /// The response body. All refusals have this format.
    #[must_use]
    pub fn body(&self) -> RefusedBody {
        let message = self.to_string();
        if let Self::Refused(refusal) = self {
            let (parameter, allowed) = (&refusal.parameter, &refusal.allowed);
            return RefusedBody::new(parameter.as_deref(), message, allowed.as_deref());
        }
        RefusedBody::new(None, message, None)
    }

    /// The table: status and additional header of each rejection.
    fn row(&self) -> (StatusCode, Option<(HeaderName, &'static str)>) {
        match self {
            Self::Refused(refusal) => (status(refusal.code), None),
            Self::NoSuchPath { .. } => (StatusCode::NOT_FOUND, None),
            Self::ReadOnly { .. } => (StatusCode::METHOD_NOT_ALLOWED, Some((ALLOW, METHODS))),
            Self::OnlyPost { .. } => (StatusCode::METHOD_NOT_ALLOWED, Some((ALLOW, POST))),
            Self::ForeignOrigin { .. } => (StatusCode::FORBIDDEN, None),
            Self::MessageTooLong { .. } => (StatusCode::PAYLOAD_TOO_LARGE, None),
            Self::NoAgents => (StatusCode::NOT_IMPLEMENTED, None),
            Self::HungUp => (StatusCode::BAD_REQUEST, None),
            Self::NotAcceptable => (StatusCode::NOT_ACCEPTABLE, None),
            Self::QueryTooLong { .. } => (StatusCode::URI_TOO_LONG, None),
            Self::HeadersTooLong { .. } => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, None),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, Some((WWW_AUTHENTICATE, "Bearer"))),
            Self::Misdirected { .. } => (StatusCode::MISDIRECTED_REQUEST, None),
            Self::TooMany { .. } | Self::TooManyStreams { .. } | Self::Unread { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, Some((RETRY_AFTER, "1")))
            }
            Self::TooSlow { .. } => (StatusCode::SERVICE_UNAVAILABLE, Some((RETRY_AFTER, "5"))),
            Self::PastBusy { .. } | Self::NoRoom { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, Some((RETRY_AFTER, "3")))
            }
            Self::Stale { .. } | Self::Nothing | Self::Unheard { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, None)
            }
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, Some((RETRY_AFTER, "1"))),
            Self::Defect => (StatusCode::INTERNAL_SERVER_ERROR, None),
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, header) = self.row();
        let json = HeaderValue::from_static("application/json");
        // Encoding three text fields cannot fail. If it failed, the response would have the status and an empty body.
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

#[expect(clippy::cast_precision_loss, reason = "ages of a few decades")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

/// Lists, for each silent exchange, since when and why it has been silent.
fn unheard(gaps: &[CoverageGap]) -> String {
    let each: Vec<String> = gaps
        .iter()
        .map(|gap| format!("{} since {}: {}", gap.exchange, gap.start, gap.reason))
        .collect();
    format!("no exchange is connected: {}", each.join("; "))
}

/// The message for a client. Archive paths and internal errors are not disclosed.
fn message_of(refusal: &Refusal) -> String {
    match refusal.code {
        RefusalCode::Unreadable => {
            if !refusal.is_of_damage() {
                log::error!("{refusal}");
            }
            "the archive behind this service cannot be read".to_owned()
        }
        RefusalCode::Defect => {
            log::error!("{refusal}");
            DEFECT.to_owned()
        }
        RefusalCode::BadQuery
        | RefusalCode::UnknownCoin
        | RefusalCode::NoBars
        | RefusalCode::NoPositions
        | RefusalCode::NotRecorded
        | RefusalCode::NoOrders
        | RefusalCode::TooCoarse
        | RefusalCode::TooShort
        | RefusalCode::NoSuchLength
        | RefusalCode::Later
        | RefusalCode::EmptyRange
        | RefusalCode::Gone
        | RefusalCode::Inexact
        | RefusalCode::NotTables => refusal.to_string(),
    }
}
