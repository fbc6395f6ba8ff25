//! Deribit: the trade tape `trades.*`, and the reply of `get_last_trades_by_*`.
//!
//! A trade's `liquidation` says who was liquidated: `T` the taker, `M` the maker, `MT` both, which makes two events of
//! opposite sides. `direction` is the taker's. Amounts are USD on contracts settled in the coin and base units on those
//! settled in a stablecoin. Options and combinations are other markets. The whole tape can be asked for again, by the
//! currency of settlement.

mod decode;
mod history;
mod listen;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue,
};
use crate::model::Millis;

/// The venue `deribit`.
#[derive(Debug)]
pub(super) struct Deribit;

impl Venue for Deribit {
    fn name(&self) -> &'static str {
        "deribit"
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
            ("socket", "wss://www.deribit.com"),
            ("rest", "https://www.deribit.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn greeting(&self) -> &'static [&'static str] {
        listen::GREETING
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
