//! The error for a line that cannot be read.

/// Maximum number of characters of a value in a message.
const SHOWN: usize = 60;

/// The error for a line that cannot be read.
///
/// Lines with the same error have the same `reason`; the value is in a separate field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowError {
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
