//! What the exchanges publish about liquidations, as events of one shape.
//!
//! One file or folder per venue, behind the trait [`Venue`]: how its frames and REST bodies are told apart and read, which
//! sockets to open, what to say on them, what proves that they live, what can be asked for again. Nothing of that does
//! any input or output. [`decode`] takes one frame, unzips it where it is gzip, and gives the events in it;
//! acknowledgements, pings, heartbeats, other channels and ordinary trades have none. Whatever is not what the venue
//! sends is an [`Error`] that names the place, and nothing is taken from it: an unknown side is never guessed, and an
//! unknown multiplier leaves quantity and value absent. Numbers are read from the raw text into exact decimals; only
//! quotients are rounded, half to even at eight places.

mod ask;
mod aster;
mod bars;
mod binance;
mod bitfinex;
mod bitget;
mod bitmex;
#[cfg(test)]
mod bodies;
mod bybit;
mod coinex;
mod deribit;
mod dydx;
mod error;
mod event;
mod frame;
mod gate;
mod htx;
mod instruments;
mod kraken;
mod lighter;
pub(crate) mod listen;
mod members;
mod naming;
mod okx;
mod paging;
mod plain;
mod quotes;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::time::Duration;

use flate2::read::MultiGzDecoder;

pub use ask::{Ask, Bar, Limit, Page, Reading};
pub use error::Error;
pub use event::{Completeness, Event, PriceKind};
pub use frame::Frame;
pub use instruments::{Instrument, Instruments, Kind};
pub use listen::{Asked, Beat, Heard, Heartbeat, Line, Listing, Sign};

use crate::model::{Millis, exchange_name};

/// Most bytes a frame may have once it is unzipped.
const LARGEST: usize = 64 << 20;
/// How a gzip stream begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An exchange whose public frames can be read, and what listening to it takes. Nothing here does any input or output.
pub trait Venue: fmt::Debug + Sync {
    /// Our name of it.
    fn name(&self) -> &'static str;

    /// How much of what happens it publishes.
    fn completeness(&self) -> Completeness;

    /// What its prices mean, the usual one first.
    fn price_kinds(&self) -> &'static [PriceKind];

    /// The events of a frame, in its order.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the frame is not what the venue sends.
    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error>;

    /// What the venue wants to hear in return: the pong to a ping, where that is a message of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the frame is not what the venue sends.
    fn answer(&self, _frame: &Frame<'_>) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Where it is reached: the names of its hosts with their addresses, each of which a setting may replace.
    fn hosts(&self) -> &'static [(&'static str, &'static str)];

    /// Whether its markets have to be known before a socket can be opened.
    fn listens_by_market(&self) -> bool {
        false
    }

    /// The sockets to open for these markets; none where there is no channel and the venue is polled.
    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        Vec::new()
    }

    /// What is said on a fresh socket before anything is subscribed to.
    fn greeting(&self) -> &'static [&'static str] {
        &[]
    }

    /// The message by which request `number` subscribes to `topics`.
    fn subscription(&self, _number: usize, _topics: &[String], _now: Millis) -> String {
        String::new()
    }

    /// What a frame without events is.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the frame is not what the venue sends.
    fn control(&self, _frame: &Frame<'_>, _asked: &Asked) -> Result<Heard, Error> {
        Ok(Heard::Other)
    }

    /// Whether a frame of a socket tells what happened before it was subscribed to, which may be long ago.
    fn recalls(&self, _frame: &Frame<'_>) -> bool {
        false
    }

    /// How the life of a connection is proved.
    fn heartbeat(&self) -> Heartbeat {
        Heartbeat::each_20_seconds(Beat::Protocol)
    }

    /// After how long a socket is to be replaced by a fresh one.
    fn rotation(&self) -> Option<Duration> {
        None
    }

    /// The venues that tell whether this one is mute: while any of them reports, a long silence here is no calm.
    fn witnesses(&self) -> &'static [&'static str] {
        &[]
    }

    /// The requests that list its markets.
    fn listing_requests(&self) -> Vec<Ask> {
        Vec::new()
    }

    /// The markets in the reply to one of the [listing requests](Self::listing_requests).
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        Err(frame.unknown())
    }

    /// The requests by whose replies it shows, at the start and every hour, whether the venue's rows still mean what they
    /// are taken for; none where nothing is in doubt.
    fn proofs(&self, _now: Millis) -> Vec<Ask> {
        Vec::new()
    }

    /// What in the reply to one of the [proofs](Self::proofs) disproves how its rows are read, if anything does: what
    /// the venue tells must not be kept then.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends, which proves nothing.
    fn disproof(&self, _frame: &Frame<'_>) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// How far back its liquidations can be asked for, in milliseconds; 0 where they cannot.
    fn look_back(&self) -> i64 {
        0
    }

    /// The requests for the liquidations of these markets from `from` until before `until`.
    fn missed(&self, _listings: &[Listing], _from: Millis, _until: Millis) -> Vec<Ask> {
        Vec::new()
    }

    /// The requests that go on where the reply to one of the [missed](Self::missed) ends.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    fn go_on(&self, _ask: &Ask, _frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        Ok(Vec::new())
    }

    /// The requests for a market's 1-minute bars that open from `from` until before `until`, the newest first; none
    /// where this venue's bars are not collected.
    fn bar_requests(&self, _listing: &Listing, _from: Millis, _until: Millis) -> Vec<Ask> {
        Vec::new()
    }

    /// The closed bars in a reply, by time.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    fn read_bars(&self, frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
        Err(frame.unknown())
    }

    /// How far back its open interest can be asked for, in milliseconds; 0 where it is not collected.
    fn open_interest_look_back(&self) -> i64 {
        0
    }

    /// The requests for a market's open interest each 5 minutes, the newest first.
    fn open_interest_requests(
        &self,
        _listing: &Listing,
        _from: Millis,
        _until: Millis,
    ) -> Vec<Ask> {
        Vec::new()
    }

    /// The readings of open interest in a reply, by time.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    fn read_open_interest(&self, frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
        Err(frame.unknown())
    }
}

/// Every venue with a decoder, the largest feeds first.
pub static VENUES: [&dyn Venue; 14] = [
    &binance::Binance,
    &bybit::Bybit,
    &okx::Okx,
    &gate::Gate,
    &bitget::Bitget,
    &htx::Htx,
    &aster::Aster,
    &deribit::Deribit,
    &kraken::Kraken,
    &bitmex::Bitmex,
    &bitfinex::Bitfinex,
    &dydx::Dydx,
    &coinex::Coinex,
    &lighter::Lighter,
];

/// The venue of that name; other spellings in use (`gateio`, `huobi`) are taken.
///
/// # Errors
///
/// [`Error::UnknownExchange`], which lists those there are.
pub fn venue(exchange: &str) -> Result<&'static dyn Venue, Error> {
    let named = |name: &str| VENUES.into_iter().find(|venue| venue.name() == name);
    // Our own spelling is asked for with every frame, another one hardly ever.
    named(exchange)
        .or_else(|| named(&exchange_name(exchange)))
        .ok_or_else(|| Error::UnknownExchange {
            name: exchange.to_owned(),
        })
}

/// The events of one frame of an exchange.
///
/// A second equal row inside the frame is an event of its own, so its dedupe key ends in `|2`, a third's in `|3`.
///
/// # Errors
///
/// [`Error::UnknownExchange`] where no venue has that name, [`Error::Unexpected`] where the frame is not what it sends.
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
    let text = text(&bytes)?;
    if is_bare_ping(text) {
        return Ok(Vec::new());
    }
    let mut events = venue.decode(&Frame::new(venue, text, received_at, instruments))?;
    number_equal_rows(&mut events);
    Ok(events)
}

/// What an exchange wants to hear in return for a frame, such as the pong to a ping.
///
/// # Errors
///
/// As for [`decode`].
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
    let text = text(&bytes)?;
    if is_bare_ping(text) {
        return Ok(None);
    }
    venue.answer(&Frame::new(venue, text, None, &Instruments::default()))
}

/// Pings and pongs that are a bare word, not JSON.
pub(crate) fn is_bare_ping(text: &str) -> bool {
    matches!(text.trim(), "ping" | "pong")
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| Error::whole(format!("is not UTF-8 text: {error}")))
}

/// Whether a frame is gzip.
pub(crate) fn is_zipped(frame: &[u8]) -> bool {
    frame.starts_with(&GZIP)
}

/// The frame itself, or what it holds where it is gzip; at most `largest` bytes of it.
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
        .map_err(|error| Error::whole(format!("cannot be unzipped: {error}")))?;
    if read <= largest {
        Ok(Cow::Owned(bytes))
    } else {
        Err(too_large())
    }
}

/// Tells equal rows of one frame apart: they are distinct events.
pub(crate) fn number_equal_rows(events: &mut [Event]) {
    if events.len() < 2 {
        return;
    }
    let mut seen: HashMap<String, u32> = HashMap::with_capacity(events.len());
    for event in events {
        let times = seen.entry(event.dedupe_key.clone()).or_default();
        *times += 1;
        if *times > 1 {
            event.dedupe_key = format!("{}|{times}", event.dedupe_key);
        }
    }
}
