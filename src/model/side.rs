//! The side of a position that was, or would be, liquidated.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Vocabulary;

/// The side of the liquidated position: longs are liquidated when price falls, shorts when it rises.
///
/// Serializes in upper case. Liquidation map bins use [`Side::lower`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// A long position; its liquidation price lies below the current price.
    Long,
    /// A short position; its liquidation price lies above the current price.
    Short,
}

impl Side {
    /// `long` or `short`, the spelling of liquidation map bins.
    #[must_use]
    pub fn lower(self) -> &'static str {
        match self {
            Self::Long => "long",
            Self::Short => "short",
        }
    }

    /// Parses a side, ignoring case.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|side| side.name().eq_ignore_ascii_case(text))
    }

    /// The index of the side in a pair of values: 0 for long, 1 for short.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Long => 0,
            Self::Short => 1,
        }
    }
}

impl Vocabulary for Side {
    const ALL: &'static [Self] = &[Self::Long, Self::Short];

    fn name(self) -> &'static str {
        match self {
            Self::Long => "LONG",
            Self::Short => "SHORT",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
