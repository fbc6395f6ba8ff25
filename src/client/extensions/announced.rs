//! Checks whether a service announces a question or parameter beyond the contract.

use reqwest::header::HeaderMap;

use crate::client::client::Client;
use crate::client::dialect::Request;
use crate::client::error::Error;
use crate::client::extensions::list::List;
use crate::client::extensions::parameters::{Explained, ExtraParameters};
use crate::contract::decode::Reading;
use crate::contract::{BadQuery, EXTENSIONS, Extension, Stream};

/// The path of the service's list of endpoints and extensions.
const INDEX: &str = "/api";

/// The allowed values, as named in the error for a question that the service does not announce.
const ALLOWED: &str = "what GET /api lists; every service has the ten endpoints, and a liqdata server \
                       has all extensions";

impl Client {
    /// Replaces `error` if the service does not announce the question `name`, or if its list cannot be read.
    pub(crate) async fn unannounced(&self, name: &'static str, error: Error) -> Error {
        let is_extension = EXTENSIONS.iter().any(|entry| entry.name == name);
        let unknown = match &error {
            Error::Refused { status, .. } => matches!(status, 400 | 404 | 405 | 501),
            Error::UnexpectedReply { .. } => true,
            _ => false,
        };
        if !is_extension || !unknown {
            return error;
        }
        match self.list().await {
            Ok(list) if list.has(name) => error,
            Ok(_) => {
                let service = self.config().service_name();
                let instead = match name {
                    Stream::NAME => ": poll orders() or cascades() instead",
                    _ => "",
                };
                let message = format!("{service} does not announce {name}{instead}");
                BadQuery::new(name, message, ALLOWED).into()
            }
            Err(other) => other,
        }
    }

    /// Refuses anything in `wanted` that the service does not announce for `endpoint`; the service might ignore it
    /// silently. A positive result is remembered.
    pub(crate) async fn require(
        &self,
        endpoint: &'static str,
        wanted: &[Extension],
    ) -> Result<(), Error> {
        match self.missing(endpoint, wanted).await? {
            None => Ok(()),
            Some(beyond) => {
                let service = self.config().service_name();
                let message = format!("{service} does not announce {beyond} for {endpoint}");
                Err(BadQuery::new(beyond.parameter, message, ALLOWED).into())
            }
        }
    }

    /// Whether the service announces all of `wanted` for `endpoint`.
    pub(crate) async fn takes(
        &self,
        endpoint: &'static str,
        wanted: &[Extension],
    ) -> Result<bool, Error> {
        Ok(self.missing(endpoint, wanted).await?.is_none())
    }

    /// The first entry of `wanted` that the service does not announce for `endpoint`.
    async fn missing<'a>(
        &self,
        endpoint: &str,
        wanted: &'a [Extension],
    ) -> Result<Option<&'a Extension>, Error> {
        let known = &self.shared.announced;
        if wanted.is_empty() || known.takes(endpoint, wanted) {
            return Ok(None);
        }
        let list = self.list().await?;
        let missing = wanted.iter().find(|beyond| !list.takes(endpoint, beyond));
        // A negative result is not remembered, because the service may change.
        if missing.is_none() {
            known.note(list);
        }
        Ok(missing)
    }

    /// Downloads the service's list. A service without a list has no extensions.
    async fn list(&self) -> Result<List, Error> {
        let read = |body: &[u8]| Ok(Reading::Reply(List::read(body)));
        let mut request: Request<List> = Request::whole(INDEX, read);
        let mut reply = Explained::around(&mut *request.reply, ExtraParameters::default());
        let answered = self
            .answer(&request.path, &[], &HeaderMap::new(), &mut reply)
            .await;
        match answered {
            Ok(_) => Ok(match reply.finish() {
                Ok((Reading::Reply(list), _)) => list,
                _ => List::default(),
            }),
            Err(Error::Refused { status: 404, .. }) => Ok(List::default()),
            Err(error) => Err(error),
        }
    }
}
