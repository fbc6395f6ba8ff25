//! The service's description of itself, made from the same constants that answer and refuse.

use serde::Serialize;

use crate::api::{BadQuery, Query, Stream};
use crate::market::{Answer, Market};
use crate::market::{Visit, every_endpoint};
use crate::model::Millis;

/// What `GET /api` says.
#[derive(Serialize)]
pub(super) struct Index<'a> {
    success: bool,
    service: &'static str,
    version: &'static str,
    source: &'a str,
    simulated: bool,
    now: Millis,
    coins: Vec<String>,
    endpoints: Vec<Entry>,
    everywhere: [Parameter; 2],
    extensions: [Entry; 1],
}

/// What `GET /health` says.
#[derive(Serialize)]
pub(super) struct Health {
    success: bool,
    now: Millis,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    path: &'static str,
    enveloped: bool,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    default: Option<String>,
    allowed: String,
}

impl<'a> Index<'a> {
    pub(super) fn of(market: &'a Market) -> Self {
        Self {
            success: true,
            service: "liqdata",
            version: env!("CARGO_PKG_VERSION"),
            source: market.source(),
            simulated: market.is_simulated(),
            now: market.now(),
            coins: market.coins(),
            endpoints: every_endpoint(Entries(Vec::new())).0,
            everywhere: [
                Parameter {
                    name: "explain",
                    default: Some("0".to_owned()),
                    allowed: "0 or 1: whether to say how the answer came to be".to_owned(),
                },
                Parameter {
                    name: "as_of",
                    default: None,
                    allowed: format!(
                        "epoch milliseconds, or {}: the instant to answer as of",
                        Millis::ISO
                    ),
                },
            ],
            extensions: [Entry {
                name: Stream::NAME,
                path: Stream::PATH,
                enveloped: false,
                parameters: Stream::PARAMETERS
                    .iter()
                    .map(|&name| Parameter {
                        name,
                        default: None,
                        allowed: refusal(name, Stream::PARAMETERS, Stream::from_query),
                    })
                    .collect(),
            }],
        }
    }
}

impl Health {
    pub(super) fn of(market: &Market) -> Self {
        Self {
            success: true,
            now: market.now(),
        }
    }
}

struct Entries(Vec<Entry>);

impl Visit for Entries {
    fn endpoint<E: Answer>(mut self) -> Self {
        let defaults = E::from_query(&Query::default())
            .map(|question| question.to_query())
            .unwrap_or_default();
        let parameters = E::PARAMETERS.iter().map(|&name| Parameter {
            name,
            default: defaults
                .iter()
                .find(|(given, _)| *given == name)
                .map(|(_, value)| value.clone()),
            allowed: refusal(name, E::PARAMETERS, E::from_query),
        });
        self.0.push(Entry {
            name: E::NAME,
            path: E::PATH,
            enveloped: E::ENVELOPED,
            parameters: parameters.collect(),
        });
        self
    }
}

/// What `name` may be, in the words of the refusal of an empty text, which no parameter takes.
fn refusal<T>(
    name: &'static str,
    known: &[&str],
    read: impl FnOnce(&Query) -> Result<T, BadQuery>,
) -> String {
    Query::new(vec![(name.to_owned(), String::new())], known)
        .and_then(|query| read(&query))
        .err()
        .map(|refusal| refusal.allowed)
        .unwrap_or_default()
}
