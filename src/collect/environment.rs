//! A world that is not this machine's: its clock and its network. Only tests have one, with time that passes as they want it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use url::Url;

use crate::model::Millis;
use crate::net::Dial;

/// What a request is answered.
#[derive(Clone, Debug, Default)]
pub struct HttpReply {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
}

/// A clock and a network, in place of this machine's. What waits there waits by the clock of the runtime.
pub trait Environment: Dial {
    /// What this machine's clock shows there.
    fn now(&self) -> Millis;

    /// The answer to a request for `url`.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn get(&self, url: &Url) -> BoxFuture<'static, Result<HttpReply, String>>;
}

/// The world, if it is not this machine's.
pub(crate) type CustomEnvironment = Option<Arc<dyn Environment>>;
