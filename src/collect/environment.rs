//! A test environment: a clock and a network in place of those of this machine.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use url::Url;

use crate::model::Millis;
use crate::net::Dial;

/// The reply to a request.
#[derive(Clone, Debug, Default)]
pub struct HttpReply {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
}

/// A clock and a network in place of those of this machine. Timers use the clock of the runtime.
pub trait Environment: Dial {
    /// The current time.
    fn now(&self) -> Millis;

    /// The answer to a request for `url`.
    ///
    /// # Errors
    ///
    /// The reason why there is no reply.
    fn get(&self, url: &Url) -> BoxFuture<'static, Result<HttpReply, String>>;
}

/// The test environment; `None` for this machine.
pub(crate) type CustomEnvironment = Option<Arc<dyn Environment>>;
