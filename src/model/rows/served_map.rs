//! Estimated maps as they were served, and kept.

use std::fmt;

use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Vocabulary};

/// The endpoint that a map answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// By price and time.
    Heatmap,
    /// By price and leverage.
    Liqmap,
    /// The strongest levels.
    Levels,
    /// The strongest clusters.
    Maxpain,
}

impl Vocabulary for MapKind {
    const ALL: &'static [Self] = &[Self::Heatmap, Self::Liqmap, Self::Levels, Self::Maxpain];

    fn name(self) -> &'static str {
        match self {
            Self::Heatmap => "heatmap",
            Self::Liqmap => "liqmap",
            Self::Levels => "levels",
            Self::Maxpain => "maxpain",
        }
    }
}

impl fmt::Display for MapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

record! {
    /// One estimated map as it was served.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct MapRow {
        /// The endpoint it answers: `heatmap`, `liqmap`, `levels` or `maxpain`.
        pub kind: String,
        /// Coin symbol.
        pub symbol: String,
        /// The question's other parameters with their defaults spelled out, as in an address: `range=24h&model=2`.
        pub params: String,
        /// Close of the last bar it was made of.
        pub timestamp: Millis,
        /// When it was computed, by the server's clock.
        pub computed_at: Millis,
        /// The reply: the body that was sent, to the last byte.
        pub reply: String,
        /// What the estimate rested on, as JSON.
        pub explain: Option<String>,
        /// The version of the model that made it, where that is known: the `modelVersion` of `explain`.
        pub version: Option<String>,
    }
}
