//! Aster: `!forceOrder@arr`, in Binance's older shape.
//!
//! Base quantities, no `st`, and the latest order of a symbol per second.

use super::{Completeness, Error, Event, Frame, PriceKind, Venue, binance};

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
}
