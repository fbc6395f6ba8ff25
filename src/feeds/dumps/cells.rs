//! Typed access to the cells of one line.

use csv::ByteRecord;
use rust_decimal::Decimal;

use crate::model::Millis;
use crate::tables::{plain_text, text_cell};

/// Maximum number of characters of a value in a message.
const SHOWN: usize = 60;
/// Largest digit count of epoch milliseconds; epoch microseconds since 2001 have more digits.
const MICROS: usize = 15;

/// The error for a line that cannot be decoded.
///
/// Lines with the same error have the same `reason`; the value is in a separate field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// What is wrong, and what is allowed.
    pub reason: String,
    /// The invalid value, for messages.
    pub shown: String,
    /// Whether the rest of the file cannot be read after this error.
    pub is_last: bool,
}

impl RowError {
    pub(crate) fn new(reason: impl Into<String>, shown: &str) -> Self {
        let mut text: String = shown.chars().take(SHOWN).collect();
        if text.len() < shown.len() {
            text.push('…');
        }
        Self {
            reason: reason.into(),
            shown: text,
            is_last: false,
        }
    }

    /// Creates an error after which the rest of the file cannot be read.
    pub(crate) fn last(reason: &str, shown: &str) -> Self {
        Self {
            is_last: true,
            ..Self::new(reason, shown)
        }
    }

    /// Creates the error for a truncated or damaged file.
    pub(crate) fn unreadable(shown: &str) -> Self {
        let reason = "the file cannot be read from here on: it is cut short or damaged";
        Self::last(reason, shown)
    }
}

/// A column: its name and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DumpColumn {
    pub(crate) name: &'static str,
    pub(crate) place: usize,
}

impl DumpColumn {
    /// Creates an error for a cell of this column.
    pub(crate) fn error(self, reason: &str, shown: &str) -> RowError {
        RowError::new(format!("{}: {reason}", self.name), shown)
    }
}

/// Finds columns by name; `None` if one is missing.
///
/// Each element of `names` lists the accepted spellings of one column.
pub(crate) fn columns<const N: usize>(
    header: &[String],
    names: [&'static [&'static str]; N],
) -> Option<[DumpColumn; N]> {
    let found = names.map(|spellings| column(header, spellings));
    let all: Option<Vec<DumpColumn>> = found.into_iter().collect();
    all?.try_into().ok()
}

/// Finds the column with the first of these spellings that the header contains.
pub(crate) fn column(header: &[String], spellings: &[&'static str]) -> Option<DumpColumn> {
    spellings.iter().find_map(|name| {
        let place = header.iter().position(|cell| cell == name)?;
        Some(DumpColumn { name, place })
    })
}

/// One line of a file, as a record of cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DumpLine<'a>(pub(crate) &'a ByteRecord);

impl<'a> DumpLine<'a> {
    /// Returns the text of a cell without whitespace around it and without the apostrophe of [`plain_text`]; a blank cell is
    /// an error.
    pub(crate) fn text(self, column: DumpColumn) -> Result<&'a str, RowError> {
        let name = column.name;
        let bytes = self.0.get(column.place).ok_or_else(|| {
            RowError::new(format!("{name}: the line ends before this column"), "")
        })?;
        let text = std::str::from_utf8(bytes)
            .map(plain_text)
            .map_err(|_| RowError::new(format!("{name}: not UTF-8 text"), ""))?;
        if text.is_empty() {
            return Err(RowError::new(format!("{name}: blank"), ""));
        }
        Ok(text)
    }

    /// Reads a cell as an exact decimal.
    pub(crate) fn decimal(self, column: DumpColumn) -> Result<Decimal, RowError> {
        let text = self.text(column)?;
        text_cell::decimal(text).map_err(|why| column.error(&why, text))
    }

    /// Reads a cell as an exact decimal above zero.
    pub(crate) fn positive(self, column: DumpColumn) -> Result<Decimal, RowError> {
        let value = self.decimal(column)?;
        if value > Decimal::ZERO {
            return Ok(value);
        }
        let name = column.name;
        Err(RowError::new(
            format!("{name}: not above 0"),
            &value.to_string(),
        ))
    }

    /// Reads a cell as an exact non-negative decimal.
    pub(crate) fn amount(self, column: DumpColumn) -> Result<Decimal, RowError> {
        let value = self.decimal(column)?;
        if value >= Decimal::ZERO {
            return Ok(value);
        }
        let name = column.name;
        Err(RowError::new(
            format!("{name}: below 0"),
            &value.to_string(),
        ))
    }

    /// Reads a cell with epoch microseconds, truncated to milliseconds.
    pub(crate) fn micros(self, column: DumpColumn) -> Result<Millis, RowError> {
        let text = self.text(column)?;
        let digits = text.len() > MICROS && text.bytes().all(|byte| byte.is_ascii_digit());
        let micros = digits.then(|| text.parse::<i64>().ok()).flatten();
        micros.map(|at| Millis(at / 1000)).ok_or_else(|| {
            let name = column.name;
            RowError::new(format!("{name}: not epoch microseconds"), text)
        })
    }

    /// Reads a cell with epoch milliseconds or microseconds, truncated to milliseconds.
    ///
    /// The number of digits gives the unit.
    pub(crate) fn epoch(self, column: DumpColumn) -> Result<Millis, RowError> {
        let text = self.text(column)?;
        let name = column.name;
        let wrong = || {
            RowError::new(
                format!("{name}: not epoch milliseconds or microseconds"),
                text,
            )
        };
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        if text.len() > MICROS {
            return self.micros(column);
        }
        Millis::read(text).ok_or_else(wrong)
    }

    /// Reads a cell with epoch milliseconds or ISO 8601.
    pub(crate) fn instant(self, column: DumpColumn) -> Result<Millis, RowError> {
        let text = self.text(column)?;
        text_cell::time(text).map_err(|why| column.error(why, text))
    }

    /// Returns the text of a cell; `None` for a blank cell.
    pub(crate) fn some_text(self, column: DumpColumn) -> Result<Option<&'a str>, RowError> {
        let is_blank = self
            .0
            .get(column.place)
            .is_some_and(|cell| cell.trim_ascii().is_empty());
        if is_blank {
            Ok(None)
        } else {
            self.text(column).map(Some)
        }
    }
}
