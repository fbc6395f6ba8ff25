//! Why a row of a table is not accepted.

use std::borrow::Cow;

/// A fault of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// The row in its table, from 0.
    pub row: usize,
    /// The column at fault.
    pub column: &'static str,
    /// What is wrong and what is allowed; the same text for all rows with this fault.
    pub reason: Cow<'static, str>,
    /// The value.
    pub shown: String,
}

impl RowFault {
    /// A fault of `row`.
    pub(crate) fn new(
        row: usize,
        column: &'static str,
        reason: impl Into<Cow<'static, str>>,
        shown: impl Into<String>,
    ) -> Self {
        Self {
            row,
            column,
            reason: reason.into(),
            shown: shown.into(),
        }
    }

    /// The reason with its column, by which faults are counted.
    #[must_use]
    pub fn counted(&self) -> String {
        format!("{}: {}", self.column, self.reason)
    }

    /// The value and what is wrong with it.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { reason, shown, .. } = self;
        match (shown.as_str(), reason.as_ref()) {
            ("", BLANK) => "a missing value is not allowed".to_owned(),
            ("", reason) => reason.to_owned(),
            (shown, reason) if IS.iter().any(|word| reason.starts_with(word)) => {
                // The other values of the row, in brackets, follow the reason.
                match shown.split_once(" (") {
                    Some((value, others)) => format!("{value} is {reason} ({others}"),
                    None => format!("{shown} is {reason}"),
                }
            }
            (shown, reason) if reason.starts_with("and ") || reason.starts_with("looks ") => {
                format!("{shown} {reason}")
            }
            (shown, reason) => format!("{shown}: {reason}"),
        }
    }
}

/// How a reason begins that is said of the value itself.
const IS: [&str; 3] = ["not ", "below ", "above "];

/// The reason of a missing cell.
pub(crate) const BLANK: &str = "blank";

/// The fault of the first row; of one row the first that was found.
pub(crate) fn first(faults: &[RowFault]) -> Option<&RowFault> {
    faults.iter().min_by_key(|fault| fault.row)
}
