//! The trait of reply types, and the conversion of their instants to milliseconds.

use super::damage::DecodeError;
use super::intake::BodyReader;
use super::time::{InstantPlace, unmarked};
use super::token::Read;
use crate::model::{Millis, TimeUnit};

/// A reply type of the contract.
pub trait Reply: Sized {
    /// The decoded form of the reply.
    #[doc(hidden)]
    type Fields: for<'de> Read<'de>;

    /// Converts the decoded form to the reply; instants stay in the unit of the body.
    #[doc(hidden)]
    fn of(sheet: Self::Fields) -> Result<Self, DecodeError>;

    /// The query parameters that the reply repeats, by name.
    #[doc(hidden)]
    fn echo(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Passes every instant of the reply to `visit`, with its place.
    #[doc(hidden)]
    fn instants(&mut self, _visit: impl FnMut(InstantPlace, &mut Millis)) {}

    /// Reads a plain body with the fast reader; instants stay in the unit of the body.
    ///
    /// `None` if only the tolerant reader can read the body.
    #[doc(hidden)]
    #[must_use]
    fn quick(_body: &[u8], _enveloped: bool) -> Option<Self> {
        None
    }

    /// The incremental reader for a reply without an envelope; `None` if bodies are always buffered.
    #[doc(hidden)]
    #[must_use]
    fn arriving() -> Option<Box<dyn BodyReader<Self>>> {
        None
    }
}

/// The time unit that the instants of a column suggest.
struct ColumnUnit {
    column: &'static str,
    /// The unit of the first instant that can be assigned to a unit.
    unit: Option<TimeUnit>,
    /// Whether another instant has another unit.
    is_mixed: bool,
}

impl ColumnUnit {
    fn note(&mut self, number: i64) {
        if let Some(unit) = TimeUnit::of(number) {
            self.is_mixed |= *self.unit.get_or_insert(unit) != unit;
        }
    }

    /// The unit that all instants suggest, or milliseconds, the unit of the contract.
    fn unit(&self) -> TimeUnit {
        let unit = self.unit.filter(|_| !self.is_mixed);
        unit.unwrap_or(TimeUnit::Milliseconds)
    }
}

/// Converts the instants of a complete reply to milliseconds.
///
/// Also returns the unit that the service used, if it is not milliseconds.
pub(super) fn settled<R: Reply>(mut reply: R) -> Result<(R, Option<TimeUnit>), DecodeError> {
    let (mut least, mut most) = (i64::MAX, i64::MIN);
    reply.instants(|_, Millis(number)| {
        least = least.min(*number);
        most = most.max(*number);
    });
    let is_usual = |number| TimeUnit::of(number) == Some(TimeUnit::Milliseconds);
    if least > most || is_usual(least) && is_usual(most) {
        return Ok((reply, None));
    }
    let mut columns: Vec<ColumnUnit> = Vec::new();
    reply.instants(|place, Millis(number)| {
        let column = place.column();
        if let Some(known) = columns.iter_mut().find(|known| known.column == column) {
            known.note(*number);
        } else {
            let mut known = ColumnUnit {
                column,
                unit: None,
                is_mixed: false,
            };
            known.note(*number);
            columns.push(known);
        }
    });
    let mut found = None;
    let mut fault = None;
    reply.instants(|place, at| {
        let known = columns.iter().find(|known| known.column == place.column());
        let (unit, number) = match unmarked(at.0) {
            Some((millis, in_seconds)) => {
                found = found.or(in_seconds.then_some(TimeUnit::Seconds));
                (TimeUnit::Milliseconds, millis)
            }
            None => (known.map_or(TimeUnit::Milliseconds, ColumnUnit::unit), at.0),
        };
        if unit != TimeUnit::Milliseconds && TimeUnit::of(number).is_some() {
            found = found.or(Some(unit));
        }
        match unit.millis(number) {
            Some(millis) => *at = millis,
            None if fault.is_none() => {
                let message = format!("{number} {unit} since 1970 is outside the years 1 to 9999");
                fault = Some(DecodeError::at(place.to_string(), message));
            }
            None => {}
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None => Ok((reply, found)),
    }
}
