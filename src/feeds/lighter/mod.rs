//! Lighter: `trade/<market>`, the rows in `liquidation_trades`.
//!
//! The taker was liquidated: where the maker was not the ask, the taker sold and a long died. The venue gives base units and
//! USD. A market is a number; its name comes with the list of markets, and a row of an unnamed market is held under its
//! number. Missed ones cannot be asked for, but each acknowledgement carries the last ones of its market.

mod decode;
mod listen;
mod listings;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `lighter`.
#[derive(Debug)]
pub(super) struct Lighter;

impl Venue for Lighter {
    fn name(&self) -> &'static str {
        "lighter"
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

    fn answer(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        listen::answer(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://mainnet.zklighter.elliot.ai"),
            ("rest", "https://mainnet.zklighter.elliot.ai"),
        ]
    }

    fn listens_by_market(&self) -> bool {
        true
    }

    fn lines(&self, listings: &[Listing]) -> Vec<Line> {
        listen::lines(listings)
    }

    fn subscription(&self, _number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(topics)
    }

    fn control(&self, frame: &Frame<'_>, _asked: &Asked) -> Result<Heard, Error> {
        listen::control(frame)
    }

    fn recalls(&self, frame: &Frame<'_>) -> bool {
        listen::recalls(frame)
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
