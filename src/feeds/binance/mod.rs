//! Binance, USD-margined and coin-margined: `!forceOrder@arr`.
//!
//! Since 2026-06-30 the all-market stream of either host carries both kinds of contract, so one host is listened to;
//! `st` tells them apart (1 is USD-margined, 2 coin-margined). Only the routed path `/market` sends liquidations: the old
//! one connects, acknowledges and stays mute, which a mark price on the same socket and a watch over the rate find out.
//! The price is the average fill `ap`, the quantity the accumulated `z`: base units, or contracts where coin-margined.
//! Missed liquidations cannot be asked for.

mod decode;
mod history;
mod listen;

use std::time::Duration;

use super::ask::Page;
use super::listen::Heartbeat;
use super::{
    Ask, Asked, Bar, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Reading,
    Venue,
};
use crate::model::Millis;

pub(super) use decode::force_orders;
pub(super) use listen::{control, subscription};

/// A socket is cut at 24 hours.
pub(super) const ROTATION: Duration = Duration::from_hours(23);

/// The venue `binance`.
#[derive(Debug)]
pub(super) struct Binance;

impl Venue for Binance {
    fn name(&self) -> &'static str {
        "binance"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Sampled
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::AverageFill, PriceKind::Order]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        force_orders(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://fstream.binance.com"),
            ("rest", "https://fapi.binance.com"),
            ("rest_coin", "https://dapi.binance.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn subscription(&self, number: usize, topics: &[String], _now: Millis) -> String {
        subscription(number, topics)
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        control(frame, asked)
    }

    fn heartbeat(&self) -> Heartbeat {
        listen::HEARTBEAT
    }

    fn rotation(&self) -> Option<Duration> {
        Some(ROTATION)
    }

    fn witnesses(&self) -> &'static [&'static str] {
        &["bybit", "okx"]
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
        30 * Millis::DAY
    }

    fn open_interest_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        history::open_interest_requests(listing, from, until)
    }

    fn read_open_interest(&self, frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
        history::read_open_interest(frame)
    }
}
