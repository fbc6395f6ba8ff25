//! A test environment: replaces the clock and the network of this machine.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use url::Url;

use crate::model::Millis;
use crate::net::Dial;

/// The reply to an HTTP request.
#[derive(Clone, Debug, Default)]
pub struct HttpReply {
    /// The HTTP status code.
    pub status: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body, not decoded.
    pub body: Vec<u8>,
}

/// Replaces the clock and the network of this machine. Timers still use the clock of the Tokio runtime.
pub trait Environment: Dial {
    /// The current time.
    fn now(&self) -> Millis;

    /// The reply to a GET request for `url`.
    ///
    /// # Errors
    ///
    /// The reason why there is no reply.
    fn get(&self, url: &Url) -> BoxFuture<'static, Result<HttpReply, String>>;

    /// The reply to a POST request for `url` with this body.
    ///
    /// # Errors
    ///
    /// The reason why there is no reply.
    fn post(&self, url: &Url, body: String) -> BoxFuture<'static, Result<HttpReply, String>>;
}

/// The test environment; `None` selects the clock and the network of this machine.
pub(crate) type CustomEnvironment = Option<Arc<dyn Environment>>;
