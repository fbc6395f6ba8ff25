//! What every response is made of: JSON, and the header that says which server this is.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, SERVER};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::reject::Rejection;
use crate::api;

/// The content type by which a stream is known.
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How many files of the archive are damaged, where any is.
pub(super) const DAMAGED: HeaderName = HeaderName::from_static(api::DAMAGED);

const PRODUCT: HeaderValue =
    HeaderValue::from_static(concat!("liqdata/", env!("CARGO_PKG_VERSION")));

/// The JSON of `value`.
pub(super) fn encoded<T: Serialize>(value: &T) -> Result<Vec<u8>, Rejection> {
    serde_json::to_vec(value).map_err(|failure| {
        log::error!("an answer could not be encoded: {failure}");
        Rejection::Defect
    })
}

/// The response with this JSON.
pub(super) fn json(body: impl Into<Body>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind)], body.into()).into_response()
}

/// Says which server this is.
pub(super) fn sign(headers: &mut HeaderMap) {
    headers.insert(SERVER, PRODUCT);
}
