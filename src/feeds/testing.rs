//! Helpers for the tests of exchange decoders.

use std::cell::RefCell;

use super::error::Error;
use super::instruments::{Instrument, Instruments, Listing};
use super::venue::Venue;
use crate::feeds::rest::request::RestRequest;

/// Decodes a market list; returns each listing as text, and the errors of rows that cannot be decoded.
#[expect(clippy::unwrap_used, reason = "tests")]
pub(crate) fn listed(venue: &Venue, body: &str) -> (Vec<String>, Vec<String>) {
    let faults = RefCell::new(Vec::new());
    let instruments = Instruments::default();
    let requests = venue.listing_requests();
    let frame = venue.frame(body, None, &instruments).keeping(&faults);
    let page = venue
        .read_listings(requests.first().unwrap(), &frame)
        .unwrap();
    assert!(page.rest.is_empty());
    let faults = faults.take().iter().map(ToString::to_string).collect();
    (page.rows.iter().map(spelled).collect(), faults)
}

fn spelled(listing: &Listing) -> String {
    let instrument = &listing.instrument;
    let mut text = format!(
        "{} {}/{} {:?} {}",
        listing.native_id,
        instrument.base,
        instrument.quote,
        instrument.kind,
        instrument.contract_size
    );
    for (is_so, mark) in [
        (!listing.perpetual, " dated"),
        (!listing.trading, " closed"),
    ] {
        if is_so {
            text.push_str(mark);
        }
    }
    text
}

/// Returns a listing of a perpetual contract with a size of one unit of `base`.
#[expect(clippy::unwrap_used, reason = "tests")]
pub(crate) fn perpetual(native_id: String, base: &str, quote: &str, trading: bool) -> Listing {
    Listing {
        native_id,
        instrument: Instrument::read(base, quote, "linear", "1").unwrap(),
        perpetual: true,
        trading,
    }
}

/// Returns the follow-up requests to a reply with this body.
pub(crate) fn next(
    venue: &Venue,
    ask: &RestRequest,
    body: &str,
) -> Result<Vec<RestRequest>, Error> {
    venue.go_on(ask, &venue.frame(body, None, &Instruments::default()))
}

/// Checks the symbol and the coin that the exchange's name rule gives for native ids.
pub(crate) fn come_down(venue: &Venue, names: &[[&str; 3]]) {
    for [native_id, symbol, coin] in names {
        let market = (venue.rules.market)(native_id);
        assert_eq!(market.symbol(), *symbol, "{native_id}");
        assert_eq!(market.coin(), *coin, "{native_id}");
    }
}
