//! Faults of table rows: why a row is refused.

use std::borrow::Cow;

/// A fault of one table row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// Index of the row in its table, from 0.
    pub row: usize,
    /// The column at fault.
    pub column: &'static str,
    /// What is wrong and what is allowed. All rows with the same fault have the same text.
    pub reason: Cow<'static, str>,
    /// The faulty value as text; may list other values of the row in brackets.
    pub shown: String,
}

impl RowFault {
    /// Creates a fault of `row`.
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

    /// The column and the reason: the key by which faults are counted.
    #[must_use]
    pub fn counted(&self) -> String {
        format!("{}: {}", self.column, self.reason)
    }

    /// The message: the value, and what is wrong with it.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { reason, shown, .. } = self;
        match (shown.as_str(), reason.as_ref()) {
            ("", BLANK) => "a missing value is not allowed".to_owned(),
            ("", reason) => reason.to_owned(),
            (shown, reason) if IS.iter().any(|word| reason.starts_with(word)) => {
                // `shown` may list other values of the row in brackets. They are placed after the reason.
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

/// Starts of reasons that follow the value and the word "is" in a message.
const IS: [&str; 3] = ["not ", "below ", "above "];

/// The reason of a missing cell.
pub(crate) const BLANK: &str = "blank";

/// The fault of the first faulty row. If that row has several, the one found first.
pub(crate) fn first(faults: &[RowFault]) -> Option<&RowFault> {
    faults.iter().min_by_key(|fault| fault.row)
}
