//! Aster: `!forceOrder@arr`, in Binance's older shape.
//!
//! Base quantities, no `st`, and the latest order of a symbol per second.

use std::time::Duration;

use super::{
    Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue, binance,
};
use crate::model::Millis;

/// The venue `aster`.
#[derive(Debug)]
pub(super) struct Aster;

impl Venue for Aster {
    fn name(&self) -> &'static str {
        "aster"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Sampled
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::AverageFill, PriceKind::Order]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        binance::force_orders(frame)
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://fstream.asterdex.com"),
            ("rest", "https://fapi.asterdex.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        vec![Line::new("liquidations", "/ws", &["!forceOrder@arr"])]
    }

    fn subscription(&self, number: usize, topics: &[String], _now: Millis) -> String {
        binance::subscription(number, topics)
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        binance::control(frame, asked)
    }

    fn rotation(&self) -> Option<Duration> {
        Some(binance::ROTATION)
    }
}
