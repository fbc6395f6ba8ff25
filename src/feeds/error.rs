//! Why a frame gives no events.

use crate::model::exchange_meant;

/// Why a frame could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody here knows the exchange.
    #[error(
        "{name:?} is not an exchange with a decoder{}; allowed: {known}",
        exchange_meant(.name, .known.split(", "))
    )]
    UnknownExchange {
        /// The name as it was given.
        name: String,
        /// Every name there is.
        known: String,
    },
    /// The frame is not what the exchange sends, so nothing is taken from it.
    #[error("{}: {message}", place(.path))]
    Unexpected {
        /// Where, such as `data[3].S`; empty where the frame as a whole is meant.
        path: String,
        /// What is wrong and what is allowed.
        message: String,
    },
}

impl Error {
    /// The same fault of one frame among many.
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

    /// A fault of the frame as a whole.
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
