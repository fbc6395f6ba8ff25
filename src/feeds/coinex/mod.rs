//! `CoinEx`: the REST body of `/v2/futures/liquidation-history`; there is no channel.
//!
//! `side` is the side of the position. The price is the liquidation price (the bankruptcy price stands beside it), amounts
//! are base units on linear markets; the unit on inverse ones, quoted in USD, has to be told by an instrument.

mod decode;
mod history;

use super::ask::Page;
use super::{Ask, Completeness, Error, Event, Frame, Listing, PriceKind, Venue};
use crate::model::Millis;

/// The venue `coinex`.
#[derive(Debug)]
pub(super) struct Coinex;

impl Venue for Coinex {
    fn name(&self) -> &'static str {
        "coinex"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Unknown
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Liquidation]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        decode::decode(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[("rest", "https://api.coinex.com")]
    }

    fn listing_requests(&self) -> Vec<Ask> {
        history::listing_requests()
    }

    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        history::read_listings(frame)
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
