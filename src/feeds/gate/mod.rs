//! Gate: `futures.public_liquidates`, and the REST body of `/futures/<settle>/liq_orders`.
//!
//! On the socket `size` is the order: negative closed a long. In the REST body `size` is the position, the other way round;
//! `order_size` is the order there too. The socket's price is the order's, the REST body's the fill's. Sizes are contracts;
//! the instrument says what one holds (`quanto_multiplier`, or one USD on inverse contracts). Since 2026-08-20 the socket
//! promises every order; frames captured before hold at most one per contract and second.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `gate`.
#[derive(Debug)]
pub(super) struct Gate;

impl Venue for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Order, PriceKind::Fill]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://fx-ws.gateio.ws"),
            ("rest", "https://api.gateio.ws"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn subscription(&self, _number: usize, topics: &[String], now: Millis) -> String {
        listen::subscription(topics, now)
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

    fn read_listings(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        history::read_listings(ask, frame)
    }

    fn look_back(&self) -> i64 {
        // The venue does not say; it answers with fewer rows where it keeps fewer.
        30 * Millis::DAY
    }

    fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        history::missed(listings, from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        history::go_on(ask, frame)
    }
}
