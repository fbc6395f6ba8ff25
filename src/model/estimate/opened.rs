//! Which open positions an estimate counts.

use std::fmt;

use crate::model::{MapRange, Vocabulary};

/// Which positions of the ledger count, by the time at which they were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opened {
    /// All positions since the first bar.
    Ever,
    /// Positions that were opened within the range.
    Range,
}

impl Opened {
    /// The positions that a map of `range` counts if a question does not say.
    #[must_use]
    pub fn usual(range: MapRange) -> Self {
        if range == MapRange::All {
            Self::Ever
        } else {
            Self::Range
        }
    }
}

impl Vocabulary for Opened {
    const ALL: &'static [Self] = &[Self::Ever, Self::Range];

    fn name(self) -> &'static str {
        match self {
            Self::Ever => "ever",
            Self::Range => "range",
        }
    }
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
