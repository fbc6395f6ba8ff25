//! The service's description of itself, made from the same constants that answer and refuse.

use serde::Serialize;

use super::answer::{Visit, every_endpoint};
use super::{Answer, Market};
use crate::api::Query;
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
            allowed: allowed::<E>(name),
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
fn allowed<E: Answer>(name: &'static str) -> String {
    Query::new(vec![(name.to_owned(), String::new())], E::PARAMETERS)
        .and_then(|query| E::from_query(&query))
        .err()
        .map(|refusal| refusal.allowed)
        .unwrap_or_default()
}
