//! Conversion of cells to instants, and detection of wrong time units.
//!
//! Whole numbers are epoch milliseconds. Seconds, microseconds and nanoseconds are recognised by their size, and
//! refused.

use std::ops::Range;

use rust_decimal::prelude::ToPrimitive;

use crate::model::Millis;
use crate::tables::cells::InputCell;

/// Maximum distance of an instant from the epoch, in milliseconds. Python's datetimes have this range.
pub(crate) const FURTHEST: u64 = 62_000_000_000_000;
/// Whole numbers that are probably epoch seconds, of the years 2001 to 5138. As milliseconds they would lie in 1970 to
/// 1973.
const SECONDS: Range<i64> = 1_000_000_000..100_000_000_000;
/// Whole numbers that are epoch microseconds of the years 1973 to 5138.
const MICROS: Range<i64> = 100_000_000_000_000..100_000_000_000_000_000;
/// Fault reason of an instant in seconds.
pub(crate) const IN_SECONDS: &str = "looks like epoch seconds; give epoch milliseconds";
/// Fault reason of a cell that is no instant.
const INSTANT: &str = "not an instant (epoch milliseconds, a datetime, or ISO 8601 text)";

/// The whole number in a cell that states no time unit.
///
/// `None` for datetimes, ISO 8601 texts and missing cells.
pub(crate) fn whole(cell: &InputCell<'_>) -> Option<i64> {
    match cell {
        InputCell::Int(at) => Some(*at),
        // pandas stores a column of integers with missing values as floats.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value is a whole number of 53 bits"
        )]
        InputCell::Float(at) if at.fract() == 0.0 && at.abs() < 9e18 => Some(*at as i64),
        InputCell::Exact(at) if at.is_integer() => at.to_i64(),
        InputCell::Text(text) => {
            let text = without_fraction(text.trim());
            let is_whole = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            // `Millis::read` refuses numbers with few digits, which are neither epoch milliseconds nor a date.
            Millis::read(text).filter(|_| is_whole).map(|at| at.0)
        }
        _ => None,
    }
}

/// A number without a fraction of zeros: `1767225600000.0`, as pandas writes a column of integers with a missing value.
fn without_fraction(text: &str) -> &str {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, fraction))
            if is_digits(whole.strip_prefix('-').unwrap_or(whole))
                && fraction.bytes().all(|byte| byte == b'0') =>
        {
            whole
        }
        _ => text,
    }
}

/// Searches the whole numbers of a column for epoch seconds.
///
/// Numbers in the range of seconds may also be early milliseconds. They are epoch seconds if all cells are in that
/// range, or if some cell is a later instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SecondsScan {
    /// The first row with a number in the range of epoch seconds.
    seconds: Option<usize>,
    is_other: bool,
    is_later: bool,
}

impl SecondsScan {
    /// Records the cell of `row`.
    pub(crate) fn note(&mut self, row: usize, cell: &InputCell<'_>) {
        match whole(cell) {
            Some(at) => self.note_whole(row, at),
            None if cell.is_missing() => {}
            None => {
                self.is_other = true;
                self.is_later |= match cell {
                    InputCell::Instant(at) => *at >= SECONDS.end,
                    _ => true,
                };
            }
        }
    }

    /// Records the whole number of `row`.
    pub(crate) fn note_whole(&mut self, row: usize, at: i64) {
        if SECONDS.contains(&at) {
            self.seconds = self.seconds.or(Some(row));
        } else {
            self.is_other = true;
            self.is_later |= at >= SECONDS.end;
        }
    }

    /// Returns the first row in seconds, and whether all rows are in seconds.
    ///
    /// `None` if no row is.
    pub(crate) fn seconds(self) -> Option<(usize, bool)> {
        let row = self.seconds?;
        (!self.is_other || self.is_later).then_some((row, !self.is_other))
    }
}

/// Converts a cell to an instant. The error is the fault reason.
pub(crate) fn instant(cell: &InputCell<'_>) -> Result<Millis, &'static str> {
    let at = match (whole(cell), cell) {
        (Some(at), _) if MICROS.contains(&at) => {
            return Err("looks like epoch microseconds; give epoch milliseconds");
        }
        (Some(at), _) if at >= MICROS.end => {
            return Err("looks like epoch nanoseconds; give epoch milliseconds");
        }
        (Some(at), _) => at,
        (None, InputCell::Instant(at)) => *at,
        (None, InputCell::Text(text)) => Millis::read(text.trim()).ok_or_else(|| no_time(text))?.0,
        (None, _) => return Err(INSTANT),
    };
    if at.unsigned_abs() <= FURTHEST {
        Ok(Millis(at))
    } else {
        Err(INSTANT)
    }
}

/// Fault reason of a text that is no instant.
fn no_time(text: &str) -> &'static str {
    let whole = text.trim().split('.').next().unwrap_or_default();
    let seconds = whole.parse().is_ok_and(|at| SECONDS.contains(&at));
    if seconds { IN_SECONDS } else { INSTANT }
}

#[cfg(test)]
mod tests {
    use crate::tables::reading::times::*;

    #[test]
    fn whole_numbers_are_milliseconds() {
        let at = |value| instant(&InputCell::Int(value));
        assert_eq!(at(1_704_153_600_000), Ok(Millis(1_704_153_600_000)));
        assert!(at(1_704_153_600_000_999).is_err_and(|why| why.contains("microseconds")));
        assert!(at(1_704_153_600_000_000_000).is_err_and(|why| why.contains("nanoseconds")));
        let text = |text: &'static str| instant(&InputCell::Text(text.into()));
        assert_eq!(text("1704153600000"), Ok(Millis(1_704_153_600_000)));
        assert_eq!(text(" 2024-01-02 "), Ok(Millis(1_704_153_600_000)));
        assert!(text("20240102").is_err());
        assert_eq!(text("1704153600"), Err(IN_SECONDS));
        assert_eq!(text("1704153600000.0"), Ok(Millis(1_704_153_600_000)));
        assert_eq!(text("1704153600.0"), Err(IN_SECONDS));
        assert_eq!(text("1704153600.25"), Err(IN_SECONDS));
        assert!(text("20240102.0").is_err());
        assert!(text("soon").is_err());
        assert_eq!(
            instant(&InputCell::Float(1_704_153_600_000.0)),
            Ok(Millis(1_704_153_600_000))
        );
        assert!(instant(&InputCell::Float(0.5)).is_err());
    }

    #[test]
    fn seconds_are_found_alone_and_among_later_instants() {
        let unit = |times: &[i64]| {
            let mut unit = SecondsScan::default();
            for (row, at) in times.iter().enumerate() {
                unit.note_whole(row, *at);
            }
            unit.seconds()
        };
        assert_eq!(unit(&[1_704_153_600, 1_704_153_601]), Some((0, true)));
        assert_eq!(unit(&[1_704_153_600_000, 1_704_153_601]), Some((1, false)));
        // After an instant 5 ms from the epoch, the second number is taken as milliseconds of 1970.
        assert_eq!(unit(&[5, 1_704_153_601]), None);
    }
}
