//! Decoding errors of frames.

use crate::model::exchange_meant;

/// Why a frame cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The exchange has no decoder.
    #[error(
        "{name:?} is not an exchange with a decoder{}; allowed: {known}",
        exchange_meant(.name, .known.split(", "))
    )]
    UnknownExchange {
        /// The given name.
        name: String,
        /// All supported names.
        known: String,
    },
    /// The frame is not what the exchange sends. Nothing of it is used.
    #[error("{}: {message}", place(.path))]
    Unexpected {
        /// The place, such as `data[3].S`; empty for the whole frame.
        path: String,
        /// What is wrong, and what is allowed.
        message: String,
    },
}

impl Error {
    /// The same error, for one frame of a list.
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

    /// An error about the whole frame.
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
