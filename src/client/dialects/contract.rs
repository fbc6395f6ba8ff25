//! The contract as a dialect.

use std::iter::repeat_n;

use crate::client::dialect::{Dialect, Request};
use crate::contract::decode::{self, Decode, DecodeError, Reading};
use crate::contract::{
    self, Arguments, BadQuery, Endpoint, FeatureCells, FeatureColumn, FeatureTable, Features,
    Stream,
};
use crate::model::{CascadeRow, MapSource, Order, Symbol};

/// The dialect of services that speak the contract ([`crate::contract`]).
#[derive(Clone, Copy, Debug)]
pub struct ContractDialect;

fn as_it_stands<E: Endpoint, R: Decode + 'static>(question: &E) -> Request<R> {
    let asked = question.clone();
    let mut request = Request::new(E::PATH, decode::intake(E::ENVELOPED))
        .with(question.to_query())
        .judged(move |reply: &R| answers(&asked, &reply.echo()));
    request.accept = (E::NAME == contract::Heatmap::NAME).then_some(GRID_OR_JSON);
    request
}

/// The forms of a heatmap that the client reads. Services that have no heatmaps in bytes answer with JSON.
const GRID_OR_JSON: &str = "application/vnd.liqdata.grid, application/json;q=0.9";

/// Checks that the parameters repeated in a reply match the question. Equivalent values match: a trading pair and its
/// coin, or `1d` and `24h`.
fn answers<E: Endpoint>(question: &E, echo: &[(&'static str, String)]) -> Result<(), DecodeError> {
    let asked = question.to_query();
    let is_recorded = asked
        .iter()
        .any(|(name, value)| *name == "source" && !MapSource::OWN.contains(&value.as_str()));
    for (name, echoed) in echo {
        let Some((_, wanted)) = asked.iter().find(|(asked, _)| asked == name) else {
            continue;
        };
        // A query names a custom model by text, but the reply repeats a number that only the service knows. They cannot
        // be compared. A recorded map has the model with which it was served.
        if *name == "model" && (is_recorded || wanted.parse::<i64>().is_err()) {
            continue;
        }
        let pairs = asked.iter().map(|(asked, value)| {
            let value = if asked == name { echoed } else { value };
            ((*asked).to_owned(), value.clone())
        });
        let as_read = Arguments::from_query(pairs.collect(), E::PARAMETERS)
            .and_then(|query| E::from_arguments(&query))
            .map(|answered| answered.to_query());
        if as_read.as_ref().ok() != Some(&asked) {
            let path = if E::ENVELOPED { "data" } else { "" };
            let message = format!("{echoed:?} is not the requested {wanted:?}");
            return Err(DecodeError::at(*name, message).below(path));
        }
    }
    Ok(())
}

/// Checks that the rows are of the requested instants and coins. Instants of a grid are not known here.
fn of_instants(asked: &Features, table: &FeatureTable) -> Result<(), DecodeError> {
    let coins: Vec<&str> = asked.symbols.iter().map(Symbol::coin).collect();
    let mut instants = asked.at.clone().unwrap_or_default();
    instants.sort_unstable();
    let is_grid = asked.at.is_none();
    let is_right = |column: &FeatureColumn| match (&*column.name, &column.cells) {
        ("at", FeatureCells::Time(cells)) => {
            is_grid
                || cells
                    .iter()
                    .copied()
                    .eq(instants.iter().flat_map(|at| repeat_n(at.0, coins.len())))
        }
        ("coin", FeatureCells::Text(cells)) => {
            cells
                .iter()
                .eq(coins.iter().copied().cycle().take(table.rows))
        }
        _ => true,
    };
    match table.columns.iter().find(|column| !is_right(column)) {
        Some(column) => Err(DecodeError::at(
            column.name.clone(),
            "the rows are not those of the requested instants and coins",
        )),
        None => Ok(()),
    }
}

macro_rules! contract {
    ([$($of_contract:ident($contract:ident))+] [$($extension:ident($other:ident))*]) => {
        contract!($($of_contract($contract))+ $($extension($other))*);
    };
    ($($name:ident($question:ident))+) => {
        impl Dialect for ContractDialect {
            fn name(&self) -> &'static str {
                "contract"
            }

            fn reason(&self, body: &[u8]) -> Option<String> {
                decode::reason(body)
            }

            $(
                fn $name(
                    &self,
                    question: &contract::$question,
                ) -> Result<Request<<contract::$question as Endpoint>::Decoded>, BadQuery> {
                    Ok(as_it_stands(question))
                }
            )+

            fn features(&self, question: &Features) -> Result<Request<FeatureTable>, BadQuery> {
                let (columns, asked) = (question.wanted()?, question.clone());
                let read = move |body: &[u8]| FeatureTable::read(body, &columns).map(Reading::Reply);
                Ok(Request::whole(Features::PATH, read)
                    .with(question.to_query())
                    .judged(move |table| of_instants(&asked, table)))
            }

            fn stream(&self, question: &Stream) -> Result<Request<Vec<Order>>, BadQuery> {
                Ok(Request::new(Stream::PATH, decode::intake(false)).with(question.to_query()))
            }

            fn cascade_stream(
                &self,
                question: &Stream,
            ) -> Result<Request<Vec<CascadeRow>>, BadQuery> {
                Ok(Request::new(Stream::PATH, decode::intake(false)).with(question.to_query()))
            }
        }
    };
}

contract::endpoints!(contract);
