//! The contract: every question at its own path, every reply as `wire` reads it.

use crate::api::{self, Arguments, BadQuery, Endpoint, Stream};
use crate::client::dialect::{Dialect, Request};
use crate::model::{CascadeRow, Order};
use crate::wire::{self, Damage, Decode};

/// The contract that the ten endpoints are.
#[derive(Clone, Copy, Debug)]
pub struct Contract;

fn as_it_stands<E: Endpoint, R: Decode + 'static>(question: &E) -> Request<R> {
    let asked = question.clone();
    Request::new(E::PATH, wire::intake(E::ENVELOPED))
        .with(question.to_query())
        .judged(move |reply: &R| answers(&asked, &reply.echo()))
}

/// Nothing, where what a reply says it answers is what was asked, by the question's own reading of names: a pair is its
/// coin, and `1d` is `24h`.
fn answers<E: Endpoint>(question: &E, echo: &[(&'static str, String)]) -> Result<(), Damage> {
    let asked = question.to_query();
    for (name, told) in echo {
        let Some((_, wanted)) = asked.iter().find(|(asked, _)| asked == name) else {
            continue;
        };
        // A model of one's own has a number that only the service knows.
        if *name == "model" && wanted.parse::<i64>().is_err() {
            continue;
        }
        let pairs = asked.iter().map(|(asked, value)| {
            let value = if asked == name { told } else { value };
            ((*asked).to_owned(), value.clone())
        });
        let as_read = Arguments::from_query(pairs.collect(), E::PARAMETERS)
            .and_then(|query| E::from_arguments(&query))
            .map(|answered| answered.to_query());
        if as_read.as_ref().ok() != Some(&asked) {
            let place = if E::ENVELOPED { "data" } else { "" };
            let message = format!("{told:?} is not {wanted:?}, which was asked for");
            return Err(Damage::at(*name, message).below(place));
        }
    }
    Ok(())
}

macro_rules! contract {
    ([$($of_contract:ident($contract:ident))+] [$($beside:ident($other:ident))*]) => {
        contract!($($of_contract($contract))+ $($beside($other))*);
    };
    ($($name:ident($question:ident))+) => {
        impl Dialect for Contract {
            fn name(&self) -> &'static str {
                "contract"
            }

            fn reason(&self, body: &[u8]) -> Option<String> {
                wire::reason(body)
            }

            $(
                fn $name(
                    &self,
                    question: &api::$question,
                ) -> Result<Request<<api::$question as Endpoint>::Decoded>, BadQuery> {
                    Ok(as_it_stands(question))
                }
            )+

            fn stream(&self, question: &Stream) -> Result<Request<Vec<Order>>, BadQuery> {
                Ok(Request::new(Stream::PATH, wire::intake(false)).with(question.to_query()))
            }

            fn cascade_stream(
                &self,
                question: &Stream,
            ) -> Result<Request<Vec<CascadeRow>>, BadQuery> {
                Ok(Request::new(Stream::PATH, wire::intake(false)).with(question.to_query()))
            }
        }
    };
}

api::endpoints!(contract);
