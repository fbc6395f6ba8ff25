//! Whether a service says that it has what stands beside the contract.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::dialect::Request;
use super::error::Error;
use super::service::Client;
use crate::api::{BadQuery, EXTENSIONS};
use crate::wire::Reading;

/// Where a service lists what it has.
const INDEX: &str = "/api";

/// What is allowed where a service does not announce what it was to be asked.
const ALLOWED: &str =
    "what GET /api lists; the ten endpoints, and what a liqdata server has beside them";

/// Parameters that a service was found to announce, each with the name of its endpoint.
#[derive(Debug, Default)]
pub(super) struct Announced(Mutex<HashSet<(&'static str, &'static str)>>);

impl Announced {
    fn has(&self, endpoint: &'static str, parameter: &'static str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&(endpoint, parameter))
    }

    fn note(&self, endpoint: &'static str, parameter: &'static str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((endpoint, parameter));
    }
}

impl Client {
    /// What is said of a question beside the contract that a service did not answer: that it does not announce it, where
    /// that is so; else `error`, or what keeps its list from being read.
    pub(super) async fn unannounced(&self, name: &'static str, error: Error) -> Error {
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
            Ok(list) if lists(&list, name).is_some() => error,
            Ok(_) => {
                let message = format!("{} does not announce {name}", self.config().place());
                BadQuery::new(name, message, ALLOWED).into()
            }
            Err(other) => other,
        }
    }

    /// Refuses `parameters` of `endpoint` that the service does not announce: it might pass over them without a word.
    /// What it was found to announce is not asked again.
    pub(super) async fn require(
        &self,
        endpoint: &'static str,
        parameters: &[&'static str],
    ) -> Result<(), Error> {
        let known = &self.shared.announced;
        if parameters.iter().all(|name| known.has(endpoint, name)) {
            return Ok(());
        }
        let list = self.list().await?;
        for &name in parameters {
            if !takes(&list, endpoint, name) {
                let place = self.config().place();
                let message = format!("{place} does not announce {name} of {endpoint}");
                return Err(BadQuery::new(name, message, ALLOWED).into());
            }
            known.note(endpoint, name);
        }
        Ok(())
    }

    /// The service's own list of what it has; of a service without one, nothing.
    async fn list(&self) -> Result<Value, Error> {
        let read = |body: &[u8]| {
            Ok(Reading::Reply(
                serde_json::from_slice(body).unwrap_or_default(),
            ))
        };
        let mut request: Request<Value> = Request::whole(INDEX, read);
        let answered = self.answer(&request.path, &[], &mut *request.reply).await;
        match answered {
            Ok(_) => Ok(match request.reply.finish() {
                Ok(Reading::Reply(list)) => list,
                _ => Value::Null,
            }),
            Err(Error::Refused { status: 404, .. }) => Ok(Value::Null),
            Err(error) => Err(error),
        }
    }
}

/// The entry called `name` of what `list` has under `kind`.
fn named<'a>(list: &'a Value, kind: &str, name: &str) -> Option<&'a Value> {
    let entries = list.get(kind).and_then(Value::as_array);
    let mut entries = entries.into_iter().flatten();
    entries.find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
}

/// What `list` says of the extension `name`.
fn lists<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    named(list, "extensions", name)
}

/// Whether `list` has `parameter` of `endpoint`, an extension or one of the ten.
fn takes(list: &Value, endpoint: &str, parameter: &str) -> bool {
    let entry = named(list, "endpoints", endpoint).or_else(|| lists(list, endpoint));
    entry.is_some_and(|entry| named(entry, "parameters", parameter).is_some())
}
