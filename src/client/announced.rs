//! Whether a service says that it has what stands beside the contract.

use serde_json::Value;

use super::dialect::Request;
use super::error::Error;
use super::service::Client;
use crate::api::{BadQuery, EXTENSIONS};
use crate::wire::Reading;

/// Where a service lists what it has.
const INDEX: &str = "/api";

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
        match self.announces(name).await {
            Ok(true) => error,
            Ok(false) => {
                let message = format!("{} does not announce {name}", self.config().place());
                let allowed = "what GET /api lists; the ten endpoints, and what a liqdata server has beside them";
                BadQuery::new(name, message, allowed).into()
            }
            Err(other) => other,
        }
    }

    /// Whether the service's own list has the extension `name`; a service without a list has none.
    async fn announces(&self, name: &'static str) -> Result<bool, Error> {
        let read = move |body: &[u8]| Ok(Reading::Reply(lists(body, name)));
        let mut request: Request<bool> = Request::whole(INDEX, read);
        let answered = self.answer(&request.path, &[], &mut *request.reply).await;
        match answered {
            Ok(_) => Ok(matches!(request.reply.finish(), Ok(Reading::Reply(true)))),
            Err(Error::Refused { status: 404, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether the list in `body` has the extension `name`.
fn lists(body: &[u8], name: &str) -> bool {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    let beside = list.get("extensions").and_then(Value::as_array);
    let mut names = beside.into_iter().flatten().map(|entry| entry.get("name"));
    names.any(|found| found.and_then(Value::as_str) == Some(name))
}
