//! Errors in decoding frames.

use crate::model::exchange_meant;

/// The reason why a frame cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No decoder exists for the exchange.
    #[error(
        "{name:?} is not an exchange with a decoder{}; allowed: {known}",
        exchange_meant(.name, .known.split(", "))
    )]
    UnknownExchange {
        /// The name that the caller gave.
        name: String,
        /// The names of all supported exchanges.
        known: String,
    },
    /// The frame does not have the format that the exchange uses. No part of it is used.
    #[error("{}: {message}", place(.path))]
    Unexpected {
        /// Path of the invalid value, such as `data[3].S`; empty for the whole frame.
        path: String,
        /// What is wrong, and what is allowed.
        message: String,
    },
}

impl Error {
    /// Returns the same error with the index of the frame in a list of frames.
    #[must_use]
    pub fn of_frame(self, place: usize) -> Self {
        match self {
            Self::Unexpected { path, message } => Self::Unexpected {
                path: if path.is_empty() {
                    format!("frame[{place}]")
                } else {
                    format!("frame[{place}].{path}")
                },
                message,
            },
            other @ Self::UnknownExchange { .. } => other,
        }
    }

    /// Creates an error about the whole frame.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self::Unexpected {
            path: String::new(),
            message: message.into(),
        }
    }
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the frame" } else { path }
}
