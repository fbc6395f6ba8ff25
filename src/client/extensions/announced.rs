//! Whether a service says that it has what stands beside the contract: questions, and parameters of questions.

use reqwest::header::HeaderMap;

use crate::api::{BadQuery, EXTENSIONS, Extension, Stream};
use crate::client::client::Client;
use crate::client::dialect::Request;
use crate::client::error::Error;
use crate::client::extensions::list::List;
use crate::client::extensions::parameters::{Beside, Explained};
use crate::wire::Reading;

/// Where a service lists what it has.
const INDEX: &str = "/api";

/// What is allowed where a service does not announce what it was to be asked.
const ALLOWED: &str =
    "what GET /api lists; the ten endpoints, and what a liqdata server has beside them";

impl Client {
    /// What is said of a question beside the contract that a service did not answer: that it does not announce it, where
    /// that is so; else `error`, or what keeps its list from being read.
    pub(crate) async fn unannounced(&self, name: &'static str, error: Error) -> Error {
        let beside = EXTENSIONS.iter().any(|entry| entry.name == name);
        let unknown = match &error {
            Error::Refused { status, .. } => matches!(status, 400 | 404 | 405 | 501),
            Error::UnexpectedReply { .. } => true,
            _ => false,
        };
        if !beside || !unknown {
            return error;
        }
        match self.list().await {
            Ok(list) if list.has(name) => error,
            Ok(_) => {
                let place = self.config().place();
                let instead = match name {
                    Stream::NAME => ": ask orders() or cascades() from time to time instead",
                    _ => "",
                };
                let message = format!("{place} does not announce {name}{instead}");
                BadQuery::new(name, message, ALLOWED).into()
            }
            Err(other) => other,
        }
    }

    /// Refuses what of `wanted` of `endpoint` the service does not announce: it might pass over that without a word.
    /// A service that was found to announce all of it is not asked again.
    pub(crate) async fn require(
        &self,
        endpoint: &'static str,
        wanted: &[Extension],
    ) -> Result<(), Error> {
        match self.missing(endpoint, wanted).await? {
            None => Ok(()),
            Some(beyond) => {
                let place = self.config().place();
                let message = format!("{place} does not announce {beyond} of {endpoint}");
                Err(BadQuery::new(beyond.parameter, message, ALLOWED).into())
            }
        }
    }

    /// Whether the service announces all of `wanted` of `endpoint`.
    pub(crate) async fn takes(
        &self,
        endpoint: &'static str,
        wanted: &[Extension],
    ) -> Result<bool, Error> {
        Ok(self.missing(endpoint, wanted).await?.is_none())
    }

    /// The first of `wanted` of `endpoint` that the service does not announce.
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
        // What it does not have it may have the next time.
        if missing.is_none() {
            known.note(list);
        }
        Ok(missing)
    }

    /// The service's own list; a service without one has nothing beside the contract.
    async fn list(&self) -> Result<List, Error> {
        let read = |body: &[u8]| Ok(Reading::Reply(List::read(body)));
        let mut request: Request<List> = Request::whole(INDEX, read);
        let mut reply = Explained::around(&mut *request.reply, Beside::default());
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
