//! The contract, endpoint by endpoint: what is read, what is written, what is refused and where.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

mod blocking;
mod damage;
mod decoding;
mod dialects;
mod faults;
mod properties;
mod questions;
mod reading;
mod refusals;
mod round_trip;
mod shapes;
mod stream;
mod units;
mod walk;

use liqdata::contract::decode::{Decode, DecodeError, Reading, exact_decimal, read};
use liqdata::contract::{self, *};
use liqdata::model::{
    ColumnUsd, EstimateLabels, EstimateView, HeatmapGrid, LiquidationMap, MapBin, Millis, Order,
    ServedBy, Side, SideUsd, Units, Vocabulary,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A body read as the endpoint's reply and written again, in its envelope where it has one.
fn reread<E: Endpoint<Reply: Decode>>(body: &[u8]) -> Result<Reading<String>, DecodeError> {
    Ok(match read::<E::Reply>(body, E::ENVELOPED)? {
        Reading::Reply(reply) => Reading::Reply(rewritten::<E>(reply)),
        Reading::Converted { reply, unit } => Reading::Converted {
            reply: rewritten::<E>(reply),
            unit,
        },
        Reading::Refused { message } => Reading::Refused { message },
    })
}

fn rewritten<E: Endpoint<Reply: Decode>>(reply: E::Reply) -> String {
    let written = if E::ENVELOPED {
        serde_json::to_string(&ReplyEnvelope::around(reply))
    } else {
        serde_json::to_string(&reply)
    };
    written.unwrap()
}

macro_rules! by_name {
    ([$($_name:ident($of_contract:ident))+] [$($_own:ident($own:ident))*]) => {
        by_name!($($of_contract)+ $($own)*);
    };
    ($($endpoint:ident)+) => {
        const NAMES: &[&str] = &[$(contract::$endpoint::NAME),+];

        fn ask(name: &str, body: &[u8]) -> Result<Reading<String>, DecodeError> {
            match name {
                $(contract::$endpoint::NAME => reread::<contract::$endpoint>(body),)+
                _ => panic!("no endpoint is called {name}"),
            }
        }

        fn is_enveloped(name: &str) -> bool {
            match name {
                $(contract::$endpoint::NAME => contract::$endpoint::ENVELOPED,)+
                _ => panic!("no endpoint is called {name}"),
            }
        }
    };
}
liqdata::endpoints!(by_name);

#[track_caller]
fn answer(name: &str, body: &str) -> String {
    match ask(name, body.as_bytes()) {
        Ok(Reading::Reply(text)) => text,
        other => panic!("{name}: {other:?} for {body}"),
    }
}

#[track_caller]
fn damage(name: &str, body: &str) -> DecodeError {
    match ask(name, body.as_bytes()) {
        Err(damage) => damage,
        other => panic!("{name}: {other:?} for {body}"),
    }
}

fn without_blanks(text: &str) -> String {
    let mut in_text = false;
    let mut escaped = false;
    let compact = text.chars().filter(|sign| {
        let is_quote = *sign == '"' && !escaped;
        escaped = *sign == '\\' && !escaped;
        in_text ^= is_quote;
        in_text || !sign.is_whitespace()
    });
    compact.collect()
}

/// The fixture with `from` (which must be there) replaced by `to` once.
#[track_caller]
fn with(name: &str, from: &str, to: &str) -> String {
    let text = fixture(name);
    assert!(text.contains(from), "{name} holds no {from}");
    text.replacen(from, to, 1)
}

/// Where a value stands, in the spelling of [`DecodeError::path`] and as a JSON pointer.
#[derive(Clone, Debug)]
struct Place {
    path: String,
    pointer: String,
}

/// Every value below `value`, itself not included.
fn places(value: &Value) -> Vec<Place> {
    fn walk(value: &Value, here: &Place, found: &mut Vec<Place>) {
        let below: Vec<(String, String)> = match value {
            Value::Object(members) => members
                .keys()
                .map(|key| {
                    let dot = if here.path.is_empty() { "" } else { "." };
                    (format!("{dot}{key}"), key.clone())
                })
                .collect(),
            Value::Array(items) => (0..items.len())
                .map(|i| (format!("[{i}]"), i.to_string()))
                .collect(),
            _ => Vec::new(),
        };
        for (step, key) in below {
            let place = Place {
                path: format!("{}{step}", here.path),
                pointer: format!("{}/{key}", here.pointer),
            };
            walk(value.pointer(&format!("/{key}")).unwrap(), &place, found);
            found.push(place);
        }
    }
    let mut found = Vec::new();
    let top = Place {
        path: String::new(),
        pointer: String::new(),
    };
    walk(value, &top, &mut found);
    found
}

/// The row of a cell of a matrix, any other path as it is.
fn row_of(path: &str) -> &str {
    path.find("][").map_or(path, |end| &path[..=end])
}
