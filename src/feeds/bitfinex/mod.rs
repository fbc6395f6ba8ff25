//! Bitfinex: `status` with the key `liq:global`, and the REST body of `/v2/liquidations/hist`.
//!
//! Everything is a list: `["pos", id, mts, _, symbol, amount, base price, _, is match, is market sold, _, price acquired]`.
//! An amount above zero is a long position. Only matches count: a trigger announces them and mostly has no price. The base
//! price is the entry and never given out.

mod decode;
mod history;
mod listen;

use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `bitfinex`.
#[derive(Debug)]
pub(super) struct Bitfinex;

impl Venue for Bitfinex {
    fn name(&self) -> &'static str {
        "bitfinex"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Fill]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://api-pub.bitfinex.com"),
            ("rest", "https://api-pub.bitfinex.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn subscription(&self, _number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(topics)
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        listen::control(frame, asked)
    }

    fn heartbeat(&self) -> Heartbeat {
        listen::HEARTBEAT
    }

    fn look_back(&self) -> i64 {
        // Three requests a minute reach no further in reasonable time.
        30 * Millis::DAY
    }

    fn missed(&self, _listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        history::missed(from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        history::go_on(ask, frame)
    }
}
