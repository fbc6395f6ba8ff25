//! The decoders of the exchanges' frames: every venue's samples and peculiarities.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests"
)]

mod channels;
mod claims;
mod control;
mod dedupe;
mod faulty;
mod page;
mod peculiar;
mod properties;
mod samples;
mod zipped;

use liqdata::feeds::{Error, Event, Instrument, Instruments, decode};

fn market(native_id: &str, base: &str, quote: &str, kind: &str, size: &str) -> Instruments {
    let instrument = Instrument::read(base, quote, kind, size).unwrap();
    [(native_id.to_owned(), instrument)].into_iter().collect()
}

fn read(exchange: &str, frame: &str) -> Vec<Event> {
    decode(exchange, frame.as_bytes(), None, &Instruments::default())
        .unwrap_or_else(|error| panic!("{exchange}: {error}\n{frame}"))
}

/// Path and message of the error in a frame.
fn fault(exchange: &str, frame: &str) -> (String, String) {
    match decode(exchange, frame.as_bytes(), None, &Instruments::default()) {
        Err(Error::Unexpected { path, message }) => (path, message),
        other => panic!("{exchange}: {other:?}\n{frame}"),
    }
}

fn keys(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event.dedupe_key.as_str())
        .collect()
}
