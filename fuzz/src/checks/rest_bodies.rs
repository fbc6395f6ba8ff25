//! What exchanges answer by REST: markets and their prices, bars, open interest, pages of the past; and what a socket's other frames are.

use liqdata::feeds::{Instruments, SentSubscriptions, Venue, VenueBar};
use liqdata::model::Millis;

use super::frames::{markets, venue};
use super::verdict::surprising;

/// A letter that says which venue answers, then the body.
///
/// # Panics
///
/// Where a member that nobody asks for changes what is read, or what is read is out of order.
pub fn check(input: &[u8]) {
    let Some((&letter, body)) = input.split_first() else {
        return;
    };
    let (Some(venue), Ok(body)) = (venue(letter), std::str::from_utf8(body)) else {
        return;
    };
    let none = Instruments::default();
    for known in [Some(&none), markets(venue)].into_iter().flatten() {
        let told = all(venue, body, known);
        let other = surprising(body.as_bytes()).and_then(|other| String::from_utf8(other).ok());
        if let Some(other) = other {
            assert_eq!(all(venue, &other, known), told);
        }
    }
}

/// Everything that a venue can read in a body, as it prints; of what cannot be read, that it cannot.
fn all(venue: &'static Venue, body: &str, known: &Instruments) -> Vec<Option<String>> {
    let frame = venue.frame(body, Some(Millis(1_790_000_000_500)), known);
    let mut asked = SentSubscriptions::default();
    asked.number(vec!["one".to_owned(), "other".to_owned()]);
    let bars = venue.read_bars(&frame);
    for bar in bars.iter().flatten() {
        sound(bar);
    }
    let readings = venue.read_open_interest(&frame);
    for reading in readings.iter().flatten() {
        assert!(!reading.open_interest.is_sign_negative() || reading.open_interest.is_zero());
    }
    let prices = venue.read_prices(&frame);
    for quoted in prices.iter().flatten() {
        assert!(
            quoted.price.is_sign_positive() && !quoted.price.is_zero(),
            "{quoted:?}"
        );
    }
    let message = venue.read(&frame, &asked, true);
    let mut told = vec![
        prices.ok().map(|prices| format!("{prices:?}")),
        bars.ok().map(|bars| format!("{bars:?}")),
        readings.ok().map(|readings| format!("{readings:?}")),
        message.kind.ok().map(|kind| format!("{kind:?}")),
        Some(format!("{:?}", message.numbers)),
        message
            .decoded
            .ok()
            .map(|decoded| decoded.is_snapshot.to_string()),
    ];
    for ask in venue.listing_requests() {
        let page = venue.read_listings(&ask, &frame);
        told.push(page.ok().map(|page| format!("{page:?}")));
        let more = venue.go_on(&ask, &frame);
        told.push(more.ok().map(|asks| format!("{asks:?}")));
    }
    told
}

/// What holds for every bar.
fn sound(bar: &VenueBar) {
    let inside = bar.low..=bar.high;
    assert!(
        inside.contains(&bar.open) && inside.contains(&bar.close),
        "{bar:?}"
    );
    assert!(
        !bar.volume.is_sign_negative() || bar.volume.is_zero(),
        "{bar:?}"
    );
}
