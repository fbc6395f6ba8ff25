//! The frames of the eighteen exchanges: read plainly and by serde, zipped and not, with markets known and unknown.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::sync::LazyLock;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use liqdata::feeds::{Error, Event, Instrument, Instruments, VENUES, Venue, answer, decode};
use liqdata::model::Millis;
use serde_json::Value;

use super::super::seeds;
use super::verdict::surprising;

/// The markets of the samples, by venue.
static MARKETS: LazyLock<HashMap<String, Instruments>> = LazyLock::new(|| {
    let listed: HashMap<String, HashMap<String, HashMap<String, Value>>> =
        serde_json::from_str(seeds::INSTRUMENTS).unwrap_or_default();
    let market = |fields: &HashMap<String, Value>| {
        let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        Instrument::read(
            field("base"),
            field("quote"),
            field("kind"),
            field("contract_size"),
        )
        .ok()
    };
    listed
        .into_iter()
        .map(|(venue, markets)| {
            let known = markets
                .into_iter()
                .filter_map(|(id, fields)| Some((id, market(&fields)?)));
            (venue, known.collect())
        })
        .collect()
});

/// The venue that a letter means.
pub(super) fn venue(letter: u8) -> Option<&'static Venue> {
    let number = usize::from(letter.wrapping_sub(b'a')) % VENUES.len();
    VENUES.into_iter().nth(number)
}

/// The markets of a venue that the samples need.
pub(super) fn markets(venue: &Venue) -> Option<&'static Instruments> {
    MARKETS.get(venue.name())
}

/// A letter that says which venue sends, then the frame.
///
/// # Panics
///
/// Where the ways to read it disagree.
pub fn check(input: &[u8]) {
    let Some((&letter, frame)) = input.split_first() else {
        return;
    };
    let Some(venue) = venue(letter) else { return };
    let name = venue.name();
    let none = Instruments::default();
    for known in [Some(&none), markets(venue)].into_iter().flatten() {
        let read = |frame: &[u8]| decode(name, frame, Some(Millis(1_790_000_000_500)), known);
        let events = read(frame);
        if !frame.starts_with(&[0x1f, 0x8b]) {
            assert_eq!(read(&zipped(frame)), events, "zipped");
        }
        if let Some(other) = surprising(frame) {
            agree(&events, &read(&other));
        }
        for event in events.iter().flatten() {
            sound(event);
        }
    }
    // What a venue wants to hear is sent as a frame of text.
    drop(answer(name, frame));
}

/// The same events, or a fault at the same place.
fn agree(plainly: &Result<Vec<Event>, Error>, by_serde: &Result<Vec<Event>, Error>) {
    match (plainly, by_serde) {
        (
            Err(Error::Unexpected { path, message }),
            Err(Error::Unexpected {
                path: other_path,
                message: other_message,
            }),
        ) => {
            assert_eq!(path, other_path, "{message} against {other_message}");
            // A fault of the whole frame repeats how it begins.
            assert!(
                path.is_empty() || message == other_message,
                "{message} against {other_message}"
            );
        }
        (plainly, by_serde) => assert_eq!(plainly, by_serde),
    }
}

/// What holds for every event, whoever sent it.
fn sound(event: &Event) {
    assert!(!event.dedupe_key.is_empty(), "{event:?}");
    assert!(!event.native_id.is_empty(), "{event:?}");
    assert!(
        event.price.is_sign_positive() && !event.price.is_zero(),
        "{event:?}"
    );
    for amount in [event.qty, event.value_usd].into_iter().flatten() {
        assert!(!amount.is_sign_negative() || amount.is_zero(), "{event:?}");
    }
}

/// `frame` as gzip. One packer serves all: to make one takes more memory, and longer, than everything else here.
fn zipped(frame: &[u8]) -> Vec<u8> {
    /// Deflated, without a name or a time, from a system that nobody knows.
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    thread_local! {
        static PACKER: RefCell<DeflateEncoder<Vec<u8>>> =
            RefCell::new(DeflateEncoder::new(Vec::new(), Compression::fast()));
    }
    let packed = PACKER.with_borrow_mut(|packer| {
        packer.write_all(frame)?;
        packer.reset(Vec::new())
    });
    let mut sum = Crc::new();
    sum.update(frame);
    let packed = packed.unwrap_or_default();
    let ends = [sum.sum(), sum.amount()].map(u32::to_le_bytes);
    [&HEAD, packed.as_slice(), ends.as_flattened()].concat()
}
