//! `dYdX` v4: the channel `v4_trades`, and the REST body of `/v4/trades/perpetualMarket/<market>`.
//!
//! Only trades of type `LIQUIDATED` count, not `DELEVERAGED` ones. The taker was liquidated: `SELL` closed a long. Sizes are
//! base units. The REST body does not name its market: the only instrument given does. Markets are subscribed to one by
//! one, so many to a connection, and each acknowledgement carries the last trades.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `dydx`.
#[derive(Debug)]
pub(super) struct Dydx;

impl Venue for Dydx {
    fn name(&self) -> &'static str {
        "dydx"
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
            ("socket", "wss://indexer.dydx.trade"),
            ("rest", "https://indexer.dydx.trade"),
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
