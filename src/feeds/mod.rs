//! Decoders of liquidation feeds: messages of exchanges become normalized events.
//!
//! A frame is one WebSocket message of an exchange. A native id is the exchange's name of a contract. A dedupe key is a
//! text that identifies an event, so that duplicates are recognized.
//!
//! Each exchange has one file that defines a [`Venue`] value. This value says how frames and REST bodies are decoded,
//! which connections to open, and what to subscribe to. It also says which messages prove that a connection is alive,
//! and how to backfill. Nothing in this module does I/O.
//!
//! [`decode`] decompresses and decodes one frame. Acknowledgements, pings, heartbeats, known channels without
//! liquidations and ordinary trades give no events. A frame is an [`Error`] if the exchange should not send it, or if
//! its channel has liquidations but no decoder. The error names the position in the frame, and no part of the frame is
//! used. A side is never guessed. If the contract size is unknown, quantity and value are absent. Numbers are read from
//! their text into exact decimals; only quotients are rounded, half to even at eight decimals.

mod decoding;
pub mod dumps;
mod error;
mod exchanges;
mod instruments;
mod messages;
mod rest;
#[cfg(test)]
mod testing;
mod venue;
mod websocket;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

pub use decoding::event::{Completeness, Event, PriceKind};
pub use decoding::frame::Frame;
pub use error::Error;
pub use exchanges::decentralized::hyperliquid;
pub use instruments::{Instrument, Instruments, Listing, SizeUnit};
pub(crate) use instruments::{price_of_one, unscaled};
pub use messages::{Decoded, SocketMessage};
pub use rest::prices::LastPrice;
pub use rest::request::{
    HourlyTotal, OpenInterestReading, RateLimit, RestPage, RestRequest, VenueBar,
};
pub(crate) use venue::MARKET;
pub use venue::Venue;
pub use websocket::control::{
    ConnectionPlan, Control, FrameKind, Heartbeat, LifeSign, PingMessage, SentSubscriptions,
    SequenceNumber,
};
pub(crate) use websocket::socket_plan::first_fields;
pub use websocket::socket_plan::{KeyAmbiguity, PositionAnnouncement};

use crate::model::{Millis, exchange_name};

/// Maximum size of a decompressed frame, in bytes.
const LARGEST: usize = 64 << 20;
/// The first bytes of gzip data.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// All exchanges with a decoder, those with the largest feeds first.
pub static VENUES: [&Venue; 18] = [
    &exchanges::centralized::binance::VENUE,
    &exchanges::centralized::bybit::VENUE,
    &exchanges::centralized::okx::VENUE,
    &exchanges::centralized::gate::VENUE,
    &exchanges::centralized::bitget::VENUE,
    &exchanges::centralized::htx::VENUE,
    &exchanges::decentralized::aster::VENUE,
    &exchanges::centralized::deribit::VENUE,
    &exchanges::centralized::kraken::VENUE,
    &exchanges::centralized::bitmex::VENUE,
    &exchanges::centralized::bitfinex::VENUE,
    &exchanges::decentralized::dydx::VENUE,
    &exchanges::centralized::coinex::VENUE,
    &exchanges::decentralized::lighter::VENUE,
    &exchanges::decentralized::lighter_robinhood::VENUE,
    &exchanges::decentralized::pacifica::VENUE,
    &exchanges::decentralized::extended::VENUE,
    &exchanges::decentralized::orderly::VENUE,
];

/// Returns the exchange of that name; common other spellings (`gateio`, `huobi`) are accepted.
///
/// # Errors
///
/// [`Error::UnknownExchange`] with the list of supported names.
pub fn venue(exchange: &str) -> Result<&'static Venue, Error> {
    let named = |name: &str| VENUES.into_iter().find(|venue| venue.name() == name);
    // Callers nearly always pass the normalized name.
    named(exchange)
        .or_else(|| named(&exchange_name(exchange)))
        .ok_or_else(|| Error::UnknownExchange {
            name: exchange.to_owned(),
            known: VENUES.map(Venue::name).join(", "),
        })
}

/// Decodes the events of one frame of an exchange.
///
/// Different events have different dedupe keys, and an event that the exchange sends again has the same key. Equal rows
/// of one frame are distinct events: the key of the second row ends in `|2`, that of the third row in `|3`.
///
/// # Errors
///
/// [`Error::UnknownExchange`] if there is no such exchange, [`Error::Unexpected`] if the exchange does not send such a
/// frame.
///
/// # Examples
///
/// ```
/// use liqdata::feeds::{Instruments, decode};
/// use liqdata::model::{Millis, Side};
///
/// let frame = br#"{"topic":"allLiquidation.SOLUSDT","type":"snapshot","ts":1790000000500,
///     "data":[{"T":1790000000000,"s":"SOLUSDT","S":"Buy","v":"2.5","p":"180.40"}]}"#;
/// let events = decode("bybit", frame, None, &Instruments::default())?;
/// assert_eq!(events.len(), 1);
/// assert_eq!(events[0].side, Side::Long);
/// assert_eq!(events[0].value_usd.map(|usd| usd.to_string()), Some("451".to_owned()));
/// assert_eq!(events[0].timestamp, Some(Millis(1_790_000_000_000)));
/// # Ok::<(), liqdata::feeds::Error>(())
/// ```
pub fn decode(
    exchange: &str,
    frame: &[u8],
    received_at: Option<Millis>,
    instruments: &Instruments,
) -> Result<Vec<Event>, Error> {
    let venue = venue(exchange)?;
    let bytes = unzipped(frame, LARGEST)?;
    let frame = venue.frame(text(&bytes)?, received_at, instruments);
    Ok(venue.decode(&frame)?.events)
}

/// Returns the message with which a client must reply to a frame, such as the pong to a ping.
///
/// # Errors
///
/// The same as for [`decode`].
///
/// # Examples
///
/// ```
/// use liqdata::feeds::answer;
///
/// let pong = answer("htx", br#"{"op":"ping","ts":"1790000000000"}"#)?;
/// assert_eq!(pong.as_deref(), Some(r#"{"op":"pong","ts":"1790000000000"}"#));
/// # Ok::<(), liqdata::feeds::Error>(())
/// ```
pub fn answer(exchange: &str, frame: &[u8]) -> Result<Option<String>, Error> {
    let venue = venue(exchange)?;
    let bytes = unzipped(frame, LARGEST)?;
    venue.answer(&venue.frame(text(&bytes)?, None, &Instruments::default()))
}

/// Returns the frame as text; a frame that is not UTF-8 is an error.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| Error::whole(format!("is not UTF-8 text: {error}")))
}

/// Whether a frame is compressed with gzip.
pub(crate) fn is_zipped(frame: &[u8]) -> bool {
    frame.starts_with(&GZIP)
}

/// Decompresses a frame if it is gzip; a result above `largest` bytes is an error.
pub(crate) fn unzipped(frame: &[u8], largest: usize) -> Result<Cow<'_, [u8]>, Error> {
    let too_large = || Error::whole(format!("is larger than {largest} bytes"));
    if !is_zipped(frame) {
        return if frame.len() <= largest {
            Ok(Cow::Borrowed(frame))
        } else {
            Err(too_large())
        };
    }
    let most = u64::try_from(largest).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(frame)
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::whole(format!("cannot be decompressed: {error}")))?;
    if read <= largest {
        Ok(Cow::Owned(bytes))
    } else {
        Err(too_large())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Completeness, Sampling};

    #[test]
    fn what_a_venue_is_said_to_leave_out_is_what_its_feed_says() {
        for venue in VENUES {
            let wanted = match Sampling::of_venue(venue.name()) {
                Sampling::Complete => Completeness::Complete,
                Sampling::Unknown => Completeness::Unknown,
                Sampling::Latest | Sampling::LargestOfSide | Sampling::LatestOrLargest => {
                    Completeness::Sampled
                }
            };
            assert_eq!(venue.completeness(), wanted, "{}", venue.name());
        }
    }
}
