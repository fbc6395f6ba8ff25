//! Instants of a column, and the unit of whole numbers.
//!
//! Whole numbers are epoch milliseconds. Seconds, microseconds and nanoseconds are recognised by their size and refused.

use std::ops::Range;

use crate::model::Millis;
use crate::tables::cells::InputCell;

/// The furthest instant from the epoch, as Python's datetimes reach it.
pub(crate) const FURTHEST: u64 = 62_000_000_000_000;
/// Whole numbers that are epoch seconds of the years 2001 to 5138; as milliseconds they are of 1970 to 1973.
const SECONDS: Range<i64> = 1_000_000_000..100_000_000_000;
/// Whole numbers that are epoch microseconds of the years 1973 to 5138.
const MICROS: Range<i64> = 100_000_000_000_000..100_000_000_000_000_000;
/// The reason of instants in seconds.
pub(crate) const IN_SECONDS: &str = "looks like epoch seconds; epoch milliseconds are meant";
/// What an instant may be.
const INSTANT: &str = "not an instant (epoch milliseconds, a datetime, or ISO 8601 text)";

/// The whole number of a cell without a unit; `None` for datetimes, ISO 8601 texts and missing cells.
pub(crate) fn whole(cell: &InputCell<'_>) -> Option<i64> {
    match cell {
        InputCell::Int(at) => Some(*at),
        // Whole numbers in a float column, as pandas stores integers among missing values.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value is a whole number of 53 bits"
        )]
        InputCell::Float(at) if at.fract() == 0.0 && at.abs() < 9e18 => Some(*at as i64),
        InputCell::Text(text) => {
            let text = text.trim();
            let is_whole = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            // Few digits are neither epoch milliseconds nor a date.
            Millis::read(text).filter(|_| is_whole).map(|at| at.0)
        }
        _ => None,
    }
}

/// Looks for epoch seconds among the whole numbers of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SecondsScan {
    /// The first row that can be in seconds.
    seconds: Option<usize>,
    is_other: bool,
    is_later: bool,
}

impl SecondsScan {
    /// Takes note of the cell of `row`.
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

    /// Takes note of a whole number.
    pub(crate) fn note_whole(&mut self, row: usize, at: i64) {
        if SECONDS.contains(&at) {
            self.seconds = self.seconds.or(Some(row));
        } else {
            self.is_other = true;
            self.is_later |= at >= SECONDS.end;
        }
    }

    /// The first row in seconds, and whether all rows are.
    pub(crate) fn seconds(self) -> Option<(usize, bool)> {
        let row = self.seconds?;
        (!self.is_other || self.is_later).then_some((row, !self.is_other))
    }
}

/// The instant of a cell, or why it has none.
pub(crate) fn instant(cell: &InputCell<'_>) -> Result<Millis, &'static str> {
    let at = match (whole(cell), cell) {
        (Some(at), _) if MICROS.contains(&at) => {
            return Err("looks like epoch microseconds; epoch milliseconds are meant");
        }
        (Some(at), _) if at >= MICROS.end => {
            return Err("looks like epoch nanoseconds; epoch milliseconds are meant");
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

/// Why a text is no instant.
fn no_time(text: &str) -> &'static str {
    let seconds = text.trim().parse().is_ok_and(|at| SECONDS.contains(&at));
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
        // Milliseconds of 1970 after earlier ones.
        assert_eq!(unit(&[5, 1_704_153_601]), None);
    }
}
