//! Bitget v3: the topic `liquidation`, and the REST body of `/api/v3/market/liquidations`.
//!
//! `side` is the side of the position (`buy`: a long died). On the socket `amount` is in the quote coin. The REST body does
//! not say which coin its amounts are in, so the lots decide: an amount that is a whole number of lots only after division by
//! the price is in the quote, one that is so only as it stands is in the base. One body has one unit: rows that fit either way go
//! with those that do not, and count as quote where none decides. A row that fits neither way, or whose lot (the
//! instrument's contract size) is unknown, is held.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `bitget`.
#[derive(Debug)]
pub(super) struct Bitget;

impl Venue for Bitget {
    fn name(&self) -> &'static str {
        "bitget"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Sampled
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Liquidation]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://ws.bitget.com"),
            ("rest", "https://api.bitget.com"),
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

    fn listing_requests(&self) -> Vec<Ask> {
        history::listing_requests()
    }

    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        history::read_listings(frame)
    }

    fn look_back(&self) -> i64 {
        3 * Millis::DAY
    }

    fn missed(&self, _listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        history::missed(from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        history::go_on(ask, frame)
    }
}
