//! Parts of every response: JSON bodies and the `Server` header.

use std::io::{self, Write};

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, SERVER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::contract::{self, BadQuery};
use crate::server::reject::Rejection;

/// The content type of event streams.
pub(crate) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// The header that contains the number of damaged archive files.
pub(crate) const DAMAGED: HeaderName = HeaderName::from_static(contract::DAMAGED);

const PRODUCT: HeaderValue =
    HeaderValue::from_static(concat!("liqdata/", env!("CARGO_PKG_VERSION")));

/// Encodes `value` as JSON.
pub(crate) fn encoded<T: Serialize>(value: &T) -> Result<Vec<u8>, Rejection> {
    serde_json::to_vec(value).map_err(|failure| {
        log::error!("an answer could not be encoded: {failure}");
        Rejection::Defect
    })
}

/// A buffer with a maximum size.
struct Bounded {
    body: Vec<u8>,
    most: usize,
    /// Whether more bytes were written than fit.
    over: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.body.len()) {
            self.over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.body.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Encodes `value` as JSON. Refuses if the text exceeds `most` bytes.
pub(crate) fn encoded_within<T: Serialize>(value: &T, most: usize) -> Result<Vec<u8>, Rejection> {
    if most == usize::MAX {
        return encoded(value);
    }
    let mut bounded = Bounded {
        body: Vec::with_capacity(128),
        most,
        over: false,
    };
    match serde_json::to_writer(&mut bounded, value) {
        Ok(()) => Ok(bounded.body),
        Err(_) if bounded.over => Err(BadQuery::new(
            "start",
            format!("the answer would take more than {} MiB", most >> 20),
            "a shorter range of time",
        )
        .into()),
        Err(failure) => {
            log::error!("an answer could not be encoded: {failure}");
            Err(Rejection::Defect)
        }
    }
}

/// A response with a JSON body.
pub(crate) fn json(body: impl Into<Body>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind)], body.into()).into_response()
}

/// Adds the headers of every response: `Server`, and that a browser must not guess another content type.
pub(crate) fn sign(headers: &mut HeaderMap) {
    headers.insert(SERVER, PRODUCT);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
