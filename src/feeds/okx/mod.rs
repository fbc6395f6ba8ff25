//! OKX: `liquidation-orders` for `SWAP` and `FUTURES`, and the REST body of `/api/v5/public/liquidation-orders`.
//!
//! `posSide` names the side of the position; where it is `net`, a `sell` order closed a long. The price is that of the
//! transfer to the liquidation account, so the bankruptcy price. Sizes are contracts; the instrument says what one holds
//! (`ctVal · ctMult`, in the base or in USD). Margin loans and options are no business of ours.
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

/// The venue `okx`.
#[derive(Debug)]
pub(super) struct Okx;

impl Venue for Okx {
    fn name(&self) -> &'static str {
        "okx"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Sampled
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Bankruptcy]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://ws.okx.com:8443"),
            ("rest", "https://www.okx.com"),
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
        7 * Millis::DAY
    }

    fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        history::missed(listings, from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        history::go_on(ask, frame)
    }

    fn bar_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        history::bar_requests(listing, from, until)
    }

    fn read_bars(&self, frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
        history::read_bars(frame)
    }

    fn open_interest_look_back(&self) -> i64 {
        // Documented are 1,440 readings, measured three days at five minutes.
        3 * Millis::DAY
    }

    fn open_interest_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        history::open_interest_requests(listing, from, until)
    }

    fn read_open_interest(&self, frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
        history::read_open_interest(frame)
    }
}
