//! Kraken Futures: the feed `trade` with its snapshot, and the REST body of `/derivatives/api/v3/history`.
//!
//! Only trades of type `liquidation` count; `side` is the taker's, who was liquidated: `sell` closed a long. Quantities are
//! USD on `PI_` and `FI_` contracts and base units on `PF_` ones. The REST body does not name its market: the only
//! instrument given does. A snapshot holds the last hundred trades of a market, a reply a hundred before a time.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `kraken`.
#[derive(Debug)]
pub(super) struct Kraken;

impl Venue for Kraken {
    fn name(&self) -> &'static str {
        "kraken"
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
            ("socket", "wss://futures.kraken.com"),
            ("rest", "https://futures.kraken.com"),
        ]
    }

    fn listens_by_market(&self) -> bool {
        true
    }

    fn lines(&self, listings: &[Listing]) -> Vec<Line> {
        listen::lines(listings)
    }

    fn greeting(&self) -> &'static [&'static str] {
        listen::GREETING
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
        history::listing_requests()
    }

    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        history::read_listings(frame)
    }

    fn look_back(&self) -> i64 {
        7 * Millis::DAY
    }

    fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        history::missed(listings, from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        history::go_on(ask, frame)
    }
}
