//! Paths into a frame, and typed reading of the values at a path.
//!
//! Numbers are read from their text, so no value passes through a binary float. Errors contain the path, so they name
//! the position of the invalid value.

use std::borrow::Cow;
use std::fmt::Write;

use rust_decimal::Decimal;

use crate::contract::decode::{exact_decimal, leading_number};
use crate::feeds::decoding::event::{is_above_zero, product, stripped};
use crate::feeds::decoding::raw_json::{JsonMember, JsonShape, RawJson};
use crate::feeds::error::Error;
use crate::feeds::instruments::Instrument;
use crate::model::{Millis, Side};

/// Maximum number of characters of a value in a message.
const SHOWN: usize = 40;
/// Epoch numbers below this are seconds.
const SECONDS_BELOW: i64 = 1_000_000_000_000;
/// Latest event time in milliseconds (year 5138); larger numbers are microseconds or nanoseconds.
const LATEST: i64 = 100_000_000_000_000;

/// The position of a value in a frame, such as `data[3].S`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonPath<'p> {
    above: Option<&'p JsonPath<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    JsonMember(&'p str),
    Item(usize),
}

/// A number, and the text from which it was read.
#[derive(Debug)]
pub(crate) struct ExactNumber<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) value: Decimal,
}

impl ExactNumber<'_> {
    /// Returns the number without trailing zeros, for use in keys.
    pub(crate) fn plain(&self) -> Decimal {
        stripped(self.value)
    }
}

impl JsonPath<'_> {
    /// The path of the whole frame.
    pub(crate) const ROOT: JsonPath<'static> = JsonPath {
        above: None,
        step: Step::Root,
    };

    /// Returns the path of the member `name`; an empty name returns this path.
    pub(crate) fn member<'q>(&'q self, name: &'q str) -> JsonPath<'q> {
        JsonPath {
            above: Some(self),
            step: Step::JsonMember(name),
        }
    }

    /// Returns the path of the item `index`.
    pub(crate) fn item(&self, index: usize) -> JsonPath<'_> {
        JsonPath {
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
            Step::JsonMember(name) => {
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

    /// Creates an error at this path.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Error {
        let mut path = String::new();
        self.write(&mut path);
        Error::Unexpected {
            path,
            message: message.into(),
        }
    }

    /// Returns the items of the list at this path; any other value is an error.
    pub(crate) fn list<'t, T>(&self, part: &'t JsonShape<T>) -> Result<&'t [JsonShape<T>], Error> {
        match part {
            JsonShape::List(items) => Ok(items),
            part => Err(self.misshapen(part, "a list")),
        }
    }

    /// Returns the object at this path; any other value is an error.
    pub(crate) fn object<'t, T>(&self, part: &'t JsonShape<T>) -> Result<&'t T, Error> {
        match part {
            JsonShape::Object(object) => Ok(object),
            part => Err(self.misshapen(part, "an object")),
        }
    }

    fn misshapen<T>(&self, part: &JsonShape<T>, wanted: &str) -> Error {
        self.fault(match part {
            JsonShape::Missing => format!("is missing; {wanted} is expected"),
            JsonShape::Object(_) => format!("is an object; {wanted} is expected"),
            JsonShape::List(_) => format!("is a list; {wanted} is expected"),
            JsonShape::Other => format!("is neither an object nor a list; {wanted} is expected"),
        })
    }

    /// Returns the text of member `name`: a string, or a number as written.
    pub(crate) fn text<'a>(&self, name: &str, cell: JsonMember<'a>) -> Result<Cow<'a, str>, Error> {
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

    /// Returns the text of member `name`; a blank text is an error.
    pub(crate) fn name<'a>(&self, name: &str, cell: JsonMember<'a>) -> Result<Cow<'a, str>, Error> {
        let text = self.text(name, cell)?;
        if text.chars().all(char::is_whitespace) {
            return Err(self.member(name).fault("is blank"));
        }
        Ok(text)
    }

    /// Reads the exact number in member `name`.
    pub(crate) fn number<'a>(
        &self,
        name: &str,
        cell: JsonMember<'a>,
    ) -> Result<ExactNumber<'a>, Error> {
        let text = self.text(name, cell)?;
        let value = exact_decimal(&text).map_err(|message| self.member(name).fault(message))?;
        Ok(ExactNumber { text, value })
    }

    /// Reads the exact number above zero in member `name`.
    pub(crate) fn positive<'a>(
        &self,
        name: &str,
        cell: JsonMember<'a>,
    ) -> Result<ExactNumber<'a>, Error> {
        let number = self.number(name, cell)?;
        if is_above_zero(number.value) {
            return Ok(number);
        }
        let message = format!("{} is not above zero", shown(&number.text));
        Err(self.member(name).fault(message))
    }

    /// Reads the exact non-negative number in member `name`.
    pub(crate) fn amount<'a>(
        &self,
        name: &str,
        cell: JsonMember<'a>,
    ) -> Result<ExactNumber<'a>, Error> {
        let number = self.number(name, cell)?;
        if number.value.is_zero() || is_above_zero(number.value) {
            return Ok(number);
        }
        let message = format!("{} is below zero", shown(&number.text));
        Err(self.member(name).fault(message))
    }

    /// Reads the time in member `name`.
    ///
    /// The value is epoch milliseconds, epoch seconds (numbers below 1e12) or ISO 8601.
    pub(crate) fn instant(&self, name: &str, cell: JsonMember<'_>) -> Result<Millis, Error> {
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
                    "{} is not an instant; whole epoch milliseconds, epoch seconds below 1e12 or ISO 8601 are allowed",
                    shown(&text)
                ))
            })
    }

    /// Reads the side in member `name`; also returns its text.
    ///
    /// `long` and `short` are the exchange's words for a liquidated long and a liquidated short.
    pub(crate) fn side<'a>(
        &self,
        name: &str,
        cell: JsonMember<'a>,
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
                "{} is not a side; {long:?} or {short:?} is allowed",
                shown(&text)
            );
            return Err(self.member(name).fault(message));
        };
        Ok((text, side))
    }

    /// Creates the instrument of the market at this path; invalid values are an error.
    pub(crate) fn instrument(
        &self,
        base: &str,
        quote: &str,
        kind: &str,
        contract_size: &str,
    ) -> Result<Instrument, Error> {
        Instrument::read(base, quote, kind, contract_size).map_err(|message| self.fault(message))
    }

    /// Reads the boolean in member `name`.
    pub(crate) fn truth(&self, name: &str, cell: JsonMember<'_>) -> Result<bool, Error> {
        match cell.map(RawJson::text) {
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

/// Whether the text of a member is `wanted`.
pub(crate) fn says(cell: JsonMember<'_>, wanted: &str) -> bool {
    text_of(cell).is_some_and(|text| text == wanted)
}

/// Returns the text of a member; `None` if it is neither a string nor a number.
pub(crate) fn text_of(cell: JsonMember<'_>) -> Option<Cow<'_, str>> {
    cell.and_then(RawJson::said)
}

/// Joins the texts of members with spaces; members without text are skipped.
pub(crate) fn joined(cells: &[JsonMember<'_>]) -> String {
    let said: Vec<_> = cells.iter().copied().filter_map(text_of).collect();
    said.join(" ")
}

/// Reads epoch milliseconds that are written as 13 digits, the most common form.
fn written_millis(text: &str) -> Option<Millis> {
    const DIGITS: usize = 13;
    if text.len() != DIGITS {
        return None;
    }
    let (millis, digits) = leading_number(text.as_bytes())?;
    let millis = i64::try_from(millis).ok().filter(|_| digits == DIGITS)?;
    (millis >= SECONDS_BELOW).then_some(Millis(millis))
}

/// Converts an epoch number to milliseconds; numbers below 1e12 are seconds.
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

/// Returns `text` in quotation marks, shortened if it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.split_at(end).0),
        None => format!("{text:?}"),
    }
}
