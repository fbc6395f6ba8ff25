//! HTX: `public.*.liquidation_orders`, and the REST body of `/linear-swap-api/v3/swap_liquidation_orders` and its twins.
//!
//! `direction` is the closing order: `sell` closed a long. The documents can be read otherwise, so before anything is kept
//! REST is asked for liquidated longs alone, of which each must be a `sell`. The price is the bankruptcy price. Linear rows carry `amount` in
//! the base and `trade_turnover` in the quote; coin-margined ones count contracts, and the instrument says how many USD one
//! holds. Frames are gzip, which every venue's may be. A ping is to be answered with the very token it carries.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `htx`.
#[derive(Debug)]
pub(super) struct Htx;

impl Venue for Htx {
    fn name(&self) -> &'static str {
        "htx"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Unknown
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Bankruptcy]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn answer(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        decode::answer(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://api.hbdm.com"),
            ("rest", "https://api.hbdm.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
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

    fn proofs(&self, now: Millis) -> Vec<Ask> {
        history::proofs(now)
    }

    fn disproof(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        history::disproof(frame)
    }

    fn look_back(&self) -> i64 {
        90 * Millis::DAY
    }

    fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        history::missed(listings, from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        history::go_on(ask, frame)
    }
}
