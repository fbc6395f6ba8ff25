//! `BitMEX`: the table `liquidation`.
//!
//! A row is an order, not a fill, and only its insertion counts: partials repeat after a reconnect, updates and deletions
//! are the same order again. `Sell` closes a long. There is no timestamp, so the time of receipt stands in. Sizes are
//! contracts; what one holds is built in for XBTUSD (one USD) and comes with the instruments for the others. Missed ones
//! cannot be asked for: the REST body holds the orders of the moment only.

mod decode;
mod listen;
mod listings;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `bitmex`.
#[derive(Debug)]
pub(super) struct Bitmex;

impl Venue for Bitmex {
    fn name(&self) -> &'static str {
        "bitmex"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Order]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://ws.bitmex.com"),
            ("rest", "https://www.bitmex.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn subscription(&self, _number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(topics)
    }

    fn control(&self, frame: &Frame<'_>, _asked: &Asked) -> Result<Heard, Error> {
        listen::control(frame)
    }

    fn heartbeat(&self) -> Heartbeat {
        listen::HEARTBEAT
    }

    fn listing_requests(&self) -> Vec<Ask> {
        listings::requests()
    }

    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        listings::read(frame)
    }
}
