//! The contract: every question at its own path, every reply as `wire` reads it.

use crate::api::{self, BadQuery, Endpoint, Stream};
use crate::client::dialect::{Dialect, Request};
use crate::model::Order;
use crate::wire::{self, Decode};

/// The contract that the ten endpoints are.
#[derive(Clone, Copy, Debug)]
pub struct Contract;

fn as_it_stands<E: Endpoint, R: Decode>(question: &E) -> Request<R> {
    Request::new(E::PATH, wire::intake(E::ENVELOPED)).with(question.to_query())
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
                ) -> Result<Request<<api::$question as Endpoint>::Held>, BadQuery> {
                    Ok(as_it_stands(question))
                }
            )+

            fn stream(&self, question: &Stream) -> Result<Request<Vec<Order>>, BadQuery> {
                Ok(Request::new(Stream::PATH, wire::intake(false)).with(question.to_query()))
            }
        }
    };
}

api::endpoints!(contract);
