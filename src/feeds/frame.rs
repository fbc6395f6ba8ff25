//! One frame being taken apart: what is known around it, and how its JSON is read.
//!
//! A frame is parsed once, into structs whose members are raw JSON texts. Numbers are read from those texts, so nothing
//! passes through a binary float, and only the members a venue's decoder asks for are read at all. A [`Place`] follows
//! along, so that an error can name where it is.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::{self, Write};

use rust_decimal::Decimal;
use serde::de::Deserialize;

use super::event::{is_above_zero, product, quotient, stripped};
use super::instruments::{Kind, built_in};
use super::members::{Cell, Part, Raw};
use super::naming::Market;
use super::plain::{self, Plain};
use super::{Completeness, Error, Event, Instrument, Instruments, PriceKind, Venue};
use crate::model::{Millis, Side};
use crate::wire::{exact_decimal, leading_number};

/// How many characters of a value an error message repeats.
const SHOWN: usize = 40;
/// Epoch numbers below this are seconds.
const SECONDS_BELOW: i64 = 1_000_000_000_000;
/// No event is later than this (the year 5138): a larger number is in micro- or nanoseconds.
const LATEST: i64 = 100_000_000_000_000;

/// Where in a frame something stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    above: Option<&'p Place<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    Member(&'p str),
    Item(usize),
}

/// A number with the text it was read from.
#[derive(Debug)]
pub(super) struct Number<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) value: Decimal,
}

impl Number<'_> {
    /// The number as every spelling of it would be written.
    pub(super) fn plain(&self) -> Decimal {
        stripped(self.value)
    }
}

impl Place<'_> {
    /// The frame itself.
    pub(super) const ROOT: Place<'static> = Place {
        above: None,
        step: Step::Root,
    };

    /// The member `name` of what stands here; an empty name is this place itself.
    pub(super) fn member<'q>(&'q self, name: &'q str) -> Place<'q> {
        Place {
            above: Some(self),
            step: Step::Member(name),
        }
    }

    /// The item `index` of the list that stands here.
    pub(super) fn item(&self, index: usize) -> Place<'_> {
        Place {
            above: Some(self),
            step: Step::Item(index),
        }
    }

    fn write(&self, path: &mut String) {
        if let Some(above) = self.above {
            above.write(path);
        }
        match self.step {
            Step::Root => {}
            Step::Member(name) => {
                if !path.is_empty() && !name.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Item(index) => {
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
            }
        }
    }

    /// An error about what stands here.
    pub(super) fn fault(&self, message: impl Into<String>) -> Error {
        let mut path = String::new();
        self.write(&mut path);
        Error::Unexpected {
            path,
            message: message.into(),
        }
    }

    /// The items of the list that stands here.
    pub(super) fn list<'t, T>(&self, part: &'t Part<T>) -> Result<&'t [Part<T>], Error> {
        match part {
            Part::List(items) => Ok(items),
            part => Err(self.misshapen(part, "a list")),
        }
    }

    /// The object that stands here.
    pub(super) fn object<'t, T>(&self, part: &'t Part<T>) -> Result<&'t T, Error> {
        match part {
            Part::Object(object) => Ok(object),
            part => Err(self.misshapen(part, "an object")),
        }
    }

    fn misshapen<T>(&self, part: &Part<T>, wanted: &str) -> Error {
        self.fault(match part {
            Part::Missing => format!("is missing; {wanted} is expected"),
            Part::Object(_) => format!("is an object; {wanted} is expected"),
            Part::List(_) => format!("is a list; {wanted} is expected"),
            Part::Other => format!("is neither an object nor a list; {wanted} is expected"),
        })
    }

    /// The text of member `name`: a string, or a number as it is written.
    pub(super) fn text<'a>(&self, name: &str, cell: Cell<'a>) -> Result<Cow<'a, str>, Error> {
        let raw = cell.ok_or_else(|| self.member(name).fault("is missing"))?;
        raw.said().ok_or_else(|| {
            let kind = match raw.text().as_bytes().first() {
                Some(b'{') => "an object",
                Some(b'[') => "a list",
                _ => raw.text(),
            };
            self.member(name)
                .fault(format!("{kind} is neither text nor a number"))
        })
    }

    /// The name in member `name`, not blank.
    pub(super) fn name<'a>(&self, name: &str, cell: Cell<'a>) -> Result<Cow<'a, str>, Error> {
        let text = self.text(name, cell)?;
        if text.chars().all(char::is_whitespace) {
            return Err(self.member(name).fault("is blank"));
        }
        Ok(text)
    }

    /// The exact number in member `name`.
    pub(super) fn number<'a>(&self, name: &str, cell: Cell<'a>) -> Result<Number<'a>, Error> {
        let text = self.text(name, cell)?;
        let value = exact_decimal(&text).map_err(|message| self.member(name).fault(message))?;
        Ok(Number { text, value })
    }

    /// The exact number above zero in member `name`.
    pub(super) fn positive<'a>(&self, name: &str, cell: Cell<'a>) -> Result<Number<'a>, Error> {
        let number = self.number(name, cell)?;
        if is_above_zero(number.value) {
            return Ok(number);
        }
        let message = format!("{} is not above zero", shown(&number.text));
        Err(self.member(name).fault(message))
    }

    /// The exact number in member `name`, which may be zero but not below.
    pub(super) fn amount<'a>(&self, name: &str, cell: Cell<'a>) -> Result<Number<'a>, Error> {
        let number = self.number(name, cell)?;
        if number.value.is_zero() || is_above_zero(number.value) {
            return Ok(number);
        }
        let message = format!("{} is below zero", shown(&number.text));
        Err(self.member(name).fault(message))
    }

    /// The instant in member `name`: epoch milliseconds, epoch seconds below 1e12, or ISO 8601.
    pub(super) fn instant(&self, name: &str, cell: Cell<'_>) -> Result<Millis, Error> {
        let text = self.text(name, cell)?;
        if let Some(millis) = written_millis(&text) {
            return Ok(millis);
        }
        let millis = match exact_decimal(&text) {
            Ok(number) => whole_millis(number),
            Err(_) => Millis::read_iso(&text).map(|at| at.0),
        };
        millis
            .filter(|millis| (0..LATEST).contains(millis))
            .map(Millis)
            .ok_or_else(|| {
                self.member(name).fault(format!(
                    "{} is no instant; whole epoch milliseconds, epoch seconds below 1e12 or ISO 8601 are allowed",
                    shown(&text)
                ))
            })
    }

    /// The side in member `name`, where `long` is what the venue says when a long position died.
    pub(super) fn side<'a>(
        &self,
        name: &str,
        cell: Cell<'a>,
        long: &str,
        short: &str,
    ) -> Result<(Cow<'a, str>, Side), Error> {
        let text = self.text(name, cell)?;
        let side = if text == long {
            Side::Long
        } else if text == short {
            Side::Short
        } else {
            let message = format!(
                "{} is no side; {long:?} or {short:?} is allowed",
                shown(&text)
            );
            return Err(self.member(name).fault(message));
        };
        Ok((text, side))
    }

    /// The truth of member `name`.
    pub(super) fn truth(&self, name: &str, cell: Cell<'_>) -> Result<bool, Error> {
        match cell.map(Raw::text) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(json) => {
                let message = format!("{} is not true or false", shown(json));
                Err(self.member(name).fault(message))
            }
            None => Err(self.member(name).fault("is missing")),
        }
    }
}

/// Whether a member is the text `wanted`.
pub(super) fn says(cell: Cell<'_>, wanted: &str) -> bool {
    text_of(cell).is_some_and(|text| text == wanted)
}

/// The text of a member, where it is one.
pub(super) fn text_of(cell: Cell<'_>) -> Option<Cow<'_, str>> {
    cell.and_then(Raw::said)
}

/// Epoch milliseconds written as such, as nearly all are.
fn written_millis(text: &str) -> Option<Millis> {
    const DIGITS: usize = 13;
    if text.len() != DIGITS {
        return None;
    }
    let (millis, digits) = leading_number(text.as_bytes())?;
    let millis = i64::try_from(millis).ok().filter(|_| digits == DIGITS)?;
    (millis >= SECONDS_BELOW).then_some(Millis(millis))
}

/// Epoch milliseconds of a number that is below 1e12 where it counts seconds.
fn whole_millis(number: Decimal) -> Option<i64> {
    let millis = if number.abs() < Decimal::from(SECONDS_BELOW) {
        product(number, Decimal::ONE_THOUSAND)?
    } else {
        stripped(number)
    };
    (millis.scale() == 0)
        .then(|| i64::try_from(millis.mantissa()).ok())
        .flatten()
}

/// `text` in quotes, cut where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.split_at(end).0),
        None => format!("{text:?}"),
    }
}

/// What a venue's size says about the quantity.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// Units of the base.
    Base(Decimal),
    /// An amount of the quote currency.
    Quote(Decimal),
    /// Units of the base with their worth in the quote currency, both given by the venue.
    Turnover(Decimal, Decimal),
    /// USD, whatever the quote currency.
    Usd(Decimal),
    /// Contracts, of which the instrument says what they hold.
    Contracts(Decimal),
    /// Unknown: the row is held.
    Unknown,
}

/// What a decoder has read of one liquidation.
#[derive(Debug)]
pub(super) struct Sighting<'a> {
    pub(super) native_id: &'a str,
    pub(super) market: Market<'a>,
    pub(super) side: Side,
    pub(super) price: Decimal,
    pub(super) price_kind: PriceKind,
    pub(super) size: Size,
    /// Absent where the venue sends none: the time of receipt stands in.
    pub(super) timestamp: Option<Millis>,
    pub(super) dedupe_key: String,
}

/// One frame of a venue, with what is known around it.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    pub(crate) venue: &'a dyn Venue,
    pub(crate) text: &'a str,
    pub(crate) received_at: Option<Millis>,
    pub(crate) instruments: &'a Instruments,
    /// Where a row's fault goes so that the other rows stand; without it one fault is the whole frame's.
    pub(crate) faults: Option<&'a RefCell<Vec<Error>>>,
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("venue", &self.venue.name())
            .field("text", &shown(self.text))
            .field("received_at", &self.received_at)
            .finish_non_exhaustive()
    }
}

impl<'a> Frame<'a> {
    /// A frame or a REST body of `venue`, for [what it reads](Venue); one fault in it is the whole frame's.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::feeds::{Frame, Instruments, venue};
    ///
    /// let body = r#"[{"symbol":"BTCUSDT","sumOpenInterest":"20403.637","timestamp":1790000000000}]"#;
    /// let none = Instruments::default();
    /// let binance = venue("binance")?;
    /// let readings = binance.read_open_interest(&Frame::new(binance, body, None, &none))?;
    /// assert_eq!(readings[0].open_interest.to_string(), "20403.637");
    /// # Ok::<(), liqdata::feeds::Error>(())
    /// ```
    #[must_use]
    pub fn new(
        venue: &'a dyn Venue,
        text: &'a str,
        received_at: Option<Millis>,
        instruments: &'a Instruments,
    ) -> Self {
        Self {
            venue,
            text,
            received_at,
            instruments,
            faults: None,
        }
    }

    /// The JSON of the frame.
    pub(super) fn read<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        serde_json::from_str(self.text)
            .map_err(|error| Error::whole(format!("{} cannot be read: {error}", shown(self.text))))
    }

    /// The JSON of a frame that is most likely plain.
    pub(super) fn read_plainly<T: Plain<'a> + Deserialize<'a>>(&self) -> Result<T, Error> {
        plain::plain(self.text).map_or_else(|| self.read(), Ok)
    }

    /// The error of a frame in which nothing is recognised.
    pub(super) fn unknown(&self) -> Error {
        Error::whole(format!(
            "{} is nothing that {} sends",
            shown(self.text),
            self.venue.name()
        ))
    }

    /// The error of a reply in which the venue says that something went wrong.
    pub(super) fn refused(&self, place: Place<'_>, said: &str) -> Error {
        place.fault(format!("{} answers {}", self.venue.name(), shown(said)))
    }

    /// The venue's name.
    pub(super) fn name(&self) -> &'static str {
        self.venue.name()
    }

    fn instrument(&self, native_id: &str) -> Option<&'a Instrument> {
        self.instruments.get(native_id)
    }

    /// Base and quote of a contract: as the instrument says, else by the venue's rule.
    pub(super) fn market<'n>(
        &self,
        native_id: &'n str,
        rule: fn(&'n str) -> Market<'n>,
    ) -> Market<'n>
    where
        'a: 'n,
    {
        match self.instrument(native_id) {
            Some(instrument) => Market::new(&instrument.base, &instrument.quote),
            None => rule(native_id),
        }
    }

    /// Whether the caller gave an instrument for a contract.
    pub(super) fn knows(&self, native_id: &str) -> bool {
        self.instrument(native_id).is_some()
    }

    /// The market of a reply that does not name its own: the only instrument given.
    pub(super) fn only_market(&self, place: &Place<'_>) -> Result<&'a str, Error> {
        self.instruments
            .only()
            .map(|(native_id, _)| native_id)
            .ok_or_else(|| {
                place.fault("the market is not named; give its instrument, and no other")
            })
    }

    /// A size in base units, unless the contract is inverse: then it is what the instrument says, or unknown.
    pub(super) fn base_unless_inverse(
        &self,
        native_id: &str,
        market: &Market<'_>,
        size: Decimal,
    ) -> Size {
        match self.contract(native_id) {
            Some((Kind::Inverse, _)) => Size::Contracts(size),
            None if market.quote == "USD" || market.quote.is_empty() => Size::Unknown,
            Some((Kind::Linear, _)) | None => Size::Base(size),
        }
    }

    /// The events of a list of rows.
    pub(super) fn rows<T>(
        &self,
        place: &Place<'_>,
        rows: &Part<T>,
        read: impl Fn(&Self, &Place<'_>, &T) -> Result<Option<Event>, Error>,
    ) -> Result<Vec<Event>, Error> {
        self.each(place, rows, |place, item| {
            read(self, place, place.object(item)?)
        })
    }

    /// What is read of each item of a list; an item's fault stands alone where faults are kept apart.
    pub(super) fn each<T, R>(
        &self,
        place: &Place<'_>,
        list: &Part<T>,
        read: impl Fn(&Place<'_>, &Part<T>) -> Result<Option<R>, Error>,
    ) -> Result<Vec<R>, Error> {
        let items = place.list(list)?;
        let mut found = Vec::with_capacity(items.len().min(1000));
        for (index, item) in items.iter().enumerate() {
            let one = self.alone(read(&place.item(index), item))?;
            found.extend(one.flatten());
        }
        Ok(found)
    }

    /// What was read of one row; its fault stands alone where faults are kept apart.
    pub(super) fn alone<R>(&self, read: Result<R, Error>) -> Result<Option<R>, Error> {
        match (read, self.faults) {
            (Ok(one), _) => Ok(Some(one)),
            (Err(fault), Some(faults)) => {
                faults.borrow_mut().push(fault);
                Ok(None)
            }
            (Err(fault), None) => Err(fault),
        }
    }

    /// What a contract's size is counted in, and how much one holds, where either is known.
    pub(super) fn contract(&self, native_id: &str) -> Option<(Kind, Decimal)> {
        self.instrument(native_id)
            .map(|instrument| (instrument.kind, instrument.contract_size))
            .or_else(|| built_in(self.venue.name(), native_id))
    }

    /// The event of a sighting; `place` is where its row stands.
    pub(super) fn event(&self, place: &Place<'_>, seen: Sighting<'_>) -> Result<Event, Error> {
        let (qty, value_usd) = self
            .amounts(&seen)
            .ok_or_else(|| place.fault("quantity and value do not fit a decimal exactly"))?;
        Ok(Event {
            exchange: self.venue.name(),
            native_id: seen.native_id.to_owned(),
            symbol: seen.market.symbol(),
            coin: seen.market.coin(),
            side: seen.side,
            price: stripped(seen.price),
            price_kind: seen.price_kind,
            qty,
            value_usd,
            timestamp: seen.timestamp.or(self.received_at),
            received_at: self.received_at,
            sampled: self.venue.completeness() != Completeness::Complete,
            dedupe_key: seen.dedupe_key,
        })
    }

    /// Quantity in base units and value in USD; `None` where a figure fits no decimal.
    fn amounts(&self, seen: &Sighting<'_>) -> Option<(Option<Decimal>, Option<Decimal>)> {
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
                Some((Kind::Linear, size)) => base(product(count, size)?),
                Some((Kind::Inverse, size)) => usd(product(count, size)?),
                None => Some((None, None)),
            },
            Size::Unknown => Some((None, None)),
        }
    }
}
