//! How much of what happened is told.

use super::{Vocabulary, value};

/// How much of what happened a channel tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Completeness {
    /// Some orders are left out by the exchange, such as all but the largest of each second.
    Sampled,
    /// Every order is told.
    Complete,
    /// The exchange does not say.
    #[default]
    Unknown,
}

impl Vocabulary for Completeness {
    const ALL: &'static [Self] = &[Self::Sampled, Self::Complete, Self::Unknown];

    fn name(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::Complete => "complete",
            Self::Unknown => "unknown",
        }
    }
}

value!(Completeness as words);
