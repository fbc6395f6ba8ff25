//! Bybit v5: `allLiquidation.<symbol>`.
//!
//! `S` is the side of the position (`Buy`: a long died), `p` the bankruptcy price, `v` base units on linear contracts and
//! USD on inverse ones, which the instrument has to tell. There is no REST body. The older topic `liquidation.<symbol>` is
//! dead and counts as another channel.//! Liquidations are subscribed to market by market, so the markets come first. Missed ones cannot be asked for.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Bar, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Reading,
    Venue,
};
use crate::model::Millis;

/// The venue `bybit`.
#[derive(Debug)]
pub(super) struct Bybit;

impl Venue for Bybit {
    fn name(&self) -> &'static str {
        "bybit"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Bankruptcy]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://stream.bybit.com"),
            ("rest", "https://api.bybit.com"),
        ]
    }

    fn listens_by_market(&self) -> bool {
        true
    }

    fn lines(&self, listings: &[Listing]) -> Vec<Line> {
        listen::lines(listings)
    }

    fn subscription(&self, number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(number, topics)
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

    fn bar_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        history::bar_requests(listing, from, until)
    }

    fn read_bars(&self, frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
        history::read_bars(frame)
    }

    fn open_interest_look_back(&self) -> i64 {
        // To the launch of the market; a caller asks for less.
        3650 * Millis::DAY
    }

    fn open_interest_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        history::open_interest_requests(listing, from, until)
    }

    fn read_open_interest(&self, frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
        history::read_open_interest(frame)
    }
}
