//! Lists of markets as venues send them, for the tests of those who read them.

use std::cell::RefCell;

use super::{Frame, Instruments, Listing, venue};

/// The listings in a body, each as native id, pair, kind and contract size, marked where it is dated or not traded; and
/// what is wrong with the others.
#[expect(clippy::unwrap_used, reason = "tests")]
pub(super) fn listed(exchange: &str, body: &str) -> (Vec<String>, Vec<String>) {
    let faults = RefCell::new(Vec::new());
    let instruments = Instruments::default();
    let venue = venue(exchange).unwrap();
    let frame = Frame {
        venue,
        text: body,
        received_at: None,
        instruments: &instruments,
        faults: Some(&faults),
    };
    let requests = venue.listing_requests();
    let ask = requests.first().unwrap();
    let page = venue.read_listings(ask, &frame).unwrap();
    assert!(page.rest.is_empty());
    let faults = faults.take().iter().map(ToString::to_string).collect();
    (page.rows.iter().map(told).collect(), faults)
}

fn told(listing: &Listing) -> String {
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
