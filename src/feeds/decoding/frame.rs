//! A received message with its context, and the conversion of its rows to events.
//!
//! A frame is parsed once, into structs of unparsed JSON values. Only the values that the decoder needs are parsed
//! further.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use rust_decimal::Decimal;
use serde::de::Deserialize;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind, product, quotient, stripped};
use crate::feeds::decoding::json_path::{JsonPath, joined, shown, text_of};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{JsonMember, JsonShape, PlainJson, RawJson, plain};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Instrument, Instruments, SizeUnit};
use crate::model::{Millis, Side};

/// The rules by which rows of an exchange are converted to events.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) name: &'static str,
    pub(crate) completeness: Completeness,
    /// Splits the exchange's name of a contract into base and quote.
    pub(crate) market: for<'n> fn(&'n str) -> MarketName<'n>,
    /// Returns the exchange's name of a perpetual contract of base and quote.
    ///
    /// `None` if base and quote do not determine the name.
    pub(crate) native: fn(&str, &str) -> Option<String>,
    /// Returns unit and size of a contract if its name determines them.
    pub(crate) contract: fn(&str) -> Option<(SizeUnit, Decimal)>,
    pub(crate) channels: Channels,
}

/// Channels of an exchange that are not decoded, by name prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    /// Channels that have no liquidations.
    pub(crate) other: &'static [&'static str],
    /// Channels that have liquidations but cannot be decoded, each with the reason.
    pub(crate) unreadable: &'static [(&'static str, &'static str)],
}

impl Channels {
    /// No channels, for an exchange with messages that do not name their channel.
    pub(crate) const NONE: Self = Self {
        other: &[],
        unreadable: &[],
    };
}

/// The size of a liquidation, in the unit that the exchange uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// Quantity in base units.
    Base(Decimal),
    /// Value in the quote currency.
    Quote(Decimal),
    /// Quantity in base units and value in the quote currency, both sent by the exchange.
    Turnover(Decimal, Decimal),
    /// Value in USD, whatever the quote currency is.
    Usd(Decimal),
    /// Number of contracts; the instrument gives the contract size.
    Contracts(Decimal),
    /// The size is unknown, so the event has neither quantity nor value.
    Unknown,
}

/// The values of one liquidation before conversion to an event.
#[derive(Debug)]
pub(crate) struct RawLiquidation<'a> {
    pub(crate) native_id: &'a str,
    pub(crate) market: MarketName<'a>,
    pub(crate) side: Side,
    pub(crate) price: Decimal,
    pub(crate) price_kind: PriceKind,
    pub(crate) size: Size,
    /// Event time; if absent, the time of receipt is used.
    pub(crate) timestamp: Option<Millis>,
    pub(crate) dedupe_key: String,
}

/// A WebSocket message (frame) or REST body, with its context.
///
/// An error in one row rejects the whole frame, unless [errors are collected](Self::keeping).
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    rules: &'a Rules,
    text: &'a str,
    received_at: Option<Millis>,
    instruments: &'a Instruments,
    faults: Option<&'a RefCell<Vec<Error>>>,
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("venue", &self.rules.name)
            .field("text", &shown(self.text))
            .field("received_at", &self.received_at)
            .finish_non_exhaustive()
    }
}

/// The members of an object, by name.
#[derive(Debug)]
pub(crate) struct JsonMembers<'a>(BTreeMap<Cow<'a, str>, RawJson<'a>>);

impl<'a> JsonMembers<'a> {
    /// Returns the member `name`.
    pub(crate) fn cell(&self, name: &str) -> JsonMember<'a> {
        let raw = self.0.get(name).copied();
        raw.filter(|raw| raw.text() != "null")
    }

    /// Parses the member `name`; returns the default value if it is missing.
    pub(crate) fn read<T: Deserialize<'a> + Default>(&self, name: &str) -> Result<T, Error> {
        self.cell(name)
            .map_or_else(|| Ok(T::default()), |raw| parsed(raw.text()))
    }
}

/// How the REST replies of an exchange report success or failure.
#[derive(Debug)]
pub(crate) struct ExchangeEnvelope {
    /// Name of the member with the status code.
    pub(crate) code: &'static str,
    /// Status code that means success.
    pub(crate) fine: &'static str,
    /// Names of the members with the error message.
    pub(crate) said: &'static [&'static str],
}

impl ExchangeEnvelope {
    /// Returns the members of a reply; a reply that reports failure is an error.
    pub(crate) fn open<'a>(&self, frame: &Frame<'a>) -> Result<JsonMembers<'a>, Error> {
        let members = frame.members()?;
        let said: Vec<_> = self.said.iter().map(|name| members.cell(name)).collect();
        self.judge(frame, members.cell(self.code), &said)?;
        Ok(members)
    }

    /// Returns an error unless `code` reports success; `said` are the members with the error message.
    pub(crate) fn judge(
        &self,
        frame: &Frame<'_>,
        code: JsonMember<'_>,
        said: &[JsonMember<'_>],
    ) -> Result<(), Error> {
        match text_of(code).or_else(|| truth_of(code)) {
            Some(code) if code == self.fine => Ok(()),
            Some(_) => Err(frame.refused(JsonPath::ROOT.member(self.code), &joined(said))),
            None => Err(frame.unknown()),
        }
    }
}

/// Returns the text of a boolean member; `None` for other values.
fn truth_of(cell: JsonMember<'_>) -> Option<Cow<'_, str>> {
    let said = cell.map(RawJson::text)?;
    matches!(said, "true" | "false").then_some(Cow::Borrowed(said))
}

/// Parses a JSON text.
fn parsed<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Error> {
    serde_json::from_str(json)
        .map_err(|error| Error::whole(format!("{} cannot be read: {error}", shown(json))))
}

impl<'a> Frame<'a> {
    pub(crate) fn new(
        rules: &'a Rules,
        text: &'a str,
        received_at: Option<Millis>,
        instruments: &'a Instruments,
    ) -> Self {
        Self {
            rules,
            text,
            received_at,
            instruments,
            faults: None,
        }
    }

    /// Returns the same frame, with errors of single rows collected in `faults`.
    ///
    /// The rows without errors are decoded.
    #[must_use]
    pub fn keeping(self, faults: &'a RefCell<Vec<Error>>) -> Self {
        Self {
            faults: Some(faults),
            ..self
        }
    }

    /// Returns the text of the frame without surrounding whitespace.
    pub(crate) fn trimmed(&self) -> &'a str {
        self.text.trim()
    }

    /// Parses the frame as JSON.
    pub(crate) fn read<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        parsed(self.text)
    }

    /// Parses the frame with the fast reader of plain JSON; falls back to [`Self::read`].
    pub(crate) fn read_plainly<T: PlainJson<'a> + Deserialize<'a>>(&self) -> Result<T, Error> {
        plain(self.text).map_or_else(|| self.read(), Ok)
    }

    /// Parses the frame, which must be an object.
    pub(crate) fn object<T: PlainJson<'a> + Deserialize<'a>>(&self) -> Result<T, Error> {
        match self.read_plainly()? {
            JsonShape::Object(object) => Ok(object),
            _ => Err(self.unknown()),
        }
    }

    /// Returns the members of the frame, which must be an object.
    pub(crate) fn members(&self) -> Result<JsonMembers<'a>, Error> {
        self.read().map(JsonMembers)
    }

    /// Creates the error for a frame that the decoder does not recognize.
    pub(crate) fn unknown(&self) -> Error {
        let name = self.rules.name;
        Error::whole(format!(
            "{} is not a message that {name} sends",
            shown(self.text)
        ))
    }

    /// Returns the result for a message of a channel that is not decoded.
    ///
    /// A known channel without liquidations has no events; any other channel is an error.
    pub(crate) fn other_channel(
        &self,
        place: &JsonPath<'_>,
        channel: &str,
    ) -> Result<Vec<Event>, Error> {
        let (name, Channels { other, unreadable }) = (self.rules.name, self.rules.channels);
        let mut closed = unreadable.iter();
        if let Some((_, reason)) = closed.find(|(closed, _)| channel.starts_with(closed)) {
            return Err(place.fault(format!(
                "{} is a channel of {name} that is not decoded: {reason}",
                shown(channel)
            )));
        }
        if other.iter().any(|known| channel.starts_with(known)) {
            return Ok(Vec::new());
        }
        Err(place.fault(format!(
            "{} is not a known channel of {name}, so its liquidations, if any, cannot be decoded; leave out its frames",
            shown(channel)
        )))
    }

    /// Creates the error for a reply in which the exchange reports a failure.
    pub(crate) fn refused(&self, place: JsonPath<'_>, said: &str) -> Error {
        place.fault(format!("{} answers {}", self.rules.name, shown(said)))
    }

    /// Returns the name of the exchange.
    pub(crate) fn name(&self) -> &'static str {
        self.rules.name
    }

    /// Returns base and quote of a contract.
    ///
    /// They come from the instrument, or else from the exchange's rule for names.
    pub(crate) fn market<'n>(&self, native_id: &'n str) -> MarketName<'n>
    where
        'a: 'n,
    {
        match self.instruments.get(native_id) {
            Some(instrument) => MarketName::new(&instrument.base, &instrument.quote),
            None => (self.rules.market)(native_id),
        }
    }

    /// Whether the caller passed an instrument for the contract.
    pub(crate) fn knows(&self, native_id: &str) -> bool {
        self.instruments.get(native_id).is_some()
    }

    /// Returns the market of a reply that does not name it.
    ///
    /// The caller must have passed the instrument of this market and no other.
    pub(crate) fn only_market(&self, place: &JsonPath<'_>) -> Result<&'a str, Error> {
        self.instruments
            .only()
            .map(|(native_id, _)| native_id)
            .ok_or_else(|| {
                place.fault("the frame does not name its market; give the instrument of that market, and no other")
            })
    }

    /// Returns a size that is in base units unless the contract is inverse.
    ///
    /// For an inverse contract, the instrument gives the contract size. Without an instrument, the unit of a contract
    /// in USD is unknown.
    pub(crate) fn base_unless_inverse(
        &self,
        native_id: &str,
        market: &MarketName<'_>,
        size: Decimal,
    ) -> Size {
        match self.contract(native_id) {
            Some((SizeUnit::Inverse, _)) => Size::Contracts(size),
            None if market.quote == "USD" || market.quote.is_empty() => Size::Unknown,
            Some((SizeUnit::Linear, _)) | None => Size::Base(size),
        }
    }

    /// Decodes each object of a list; the errors of single rows may be collected.
    pub(crate) fn rows<T, R>(
        &self,
        place: &JsonPath<'_>,
        rows: &JsonShape<T>,
        read: impl Fn(&Self, &JsonPath<'_>, &T) -> Result<Option<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let items = place.list(rows)?;
        self.each(place, items, |place, item| {
            read(self, place, place.object(item)?)
        })
    }

    /// Decodes each of `items`; the errors of single items may be collected.
    pub(crate) fn each<T, R>(
        &self,
        place: &JsonPath<'_>,
        items: &[T],
        read: impl Fn(&JsonPath<'_>, &T) -> Result<Option<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let mut found = Vec::with_capacity(items.len().min(1000));
        for (index, item) in items.iter().enumerate() {
            found.extend(self.alone(read(&place.item(index), item))?.flatten());
        }
        Ok(found)
    }

    /// Returns the decoded row, or `None` if its error was collected.
    pub(crate) fn alone<R>(&self, read: Result<R, Error>) -> Result<Option<R>, Error> {
        match read {
            Ok(one) => Ok(Some(one)),
            Err(fault) => self.note(fault).map(|()| None),
        }
    }

    /// Collects an error, or returns it if errors are not collected.
    pub(crate) fn note(&self, fault: Error) -> Result<(), Error> {
        match self.faults {
            Some(faults) => {
                faults.borrow_mut().push(fault);
                Ok(())
            }
            None => Err(fault),
        }
    }

    /// Returns unit and size of a contract, if known.
    pub(crate) fn contract(&self, native_id: &str) -> Option<(SizeUnit, Decimal)> {
        let terms = |known: &Instrument| (known.kind, known.contract_size);
        self.instruments
            .get(native_id)
            .map(terms)
            .or_else(|| (self.rules.contract)(native_id))
    }

    /// Converts the values of a liquidation to an event; `place` is the path of its row.
    pub(crate) fn event(
        &self,
        place: &JsonPath<'_>,
        seen: RawLiquidation<'_>,
    ) -> Result<Event, Error> {
        let (qty, value_usd) = self
            .amounts(&seen)
            .ok_or_else(|| place.fault("quantity and value do not fit a decimal exactly"))?;
        let (symbol, coin) = (seen.market.symbol(), seen.market.coin());
        let is_named = |name: &str| name.contains(char::is_alphanumeric);
        if !is_named(&symbol) || !is_named(&coin) {
            return Err(place.fault(format!(
                "{} is not a contract: it names no coin",
                shown(seen.native_id)
            )));
        }
        Ok(Event {
            exchange: self.rules.name,
            native_id: seen.native_id.to_owned(),
            symbol,
            coin,
            side: seen.side,
            price: stripped(seen.price),
            price_kind: seen.price_kind,
            qty,
            value_usd,
            timestamp: seen.timestamp.or(self.received_at),
            received_at: self.received_at,
            sampled: self.rules.completeness != Completeness::Complete,
            dedupe_key: seen.dedupe_key,
            group_id: None,
        })
    }

    /// Returns the quantity in base units and the value in USD.
    ///
    /// `None` if a number does not fit a decimal; an inner `None` means that the amount is unknown.
    fn amounts(&self, seen: &RawLiquidation<'_>) -> Option<(Option<Decimal>, Option<Decimal>)> {
        let price = seen.price;
        let dollars = |value: Decimal| seen.market.is_in_dollars().then(|| stripped(value));
        let base = |qty: Decimal| Some((Some(stripped(qty)), dollars(product(qty, price)?)));
        let usd = |value: Decimal| Some((Some(quotient(value, price)?), Some(stripped(value))));
        match seen.size {
            Size::Base(qty) => base(qty),
            Size::Quote(value) => Some((Some(quotient(value, price)?), dollars(value))),
            Size::Turnover(qty, value) => Some((Some(stripped(qty)), dollars(value))),
            Size::Usd(value) => usd(value),
            Size::Contracts(count) => match self.contract(seen.native_id) {
                Some((SizeUnit::Linear, size)) => base(product(count, size)?),
                Some((SizeUnit::Inverse, size)) => usd(product(count, size)?),
                None => Some((None, None)),
            },
            Size::Unknown => Some((None, None)),
        }
    }
}
