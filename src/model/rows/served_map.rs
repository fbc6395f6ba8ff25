//! Estimated maps in the form in which the server sent them.

use std::fmt;

use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Vocabulary};

/// The kind of an estimated map; each kind has its own endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// Heatmap: estimated USD by price and time.
    Heatmap,
    /// Liquidation map: estimated USD by price and leverage.
    Liqmap,
    /// Key levels: the price with the most estimated USD, per leverage and side.
    Levels,
    /// Max pain: the price with the most estimated USD, per side.
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
    /// One estimated map as the server returned it.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct MapRow {
        /// Endpoint: `heatmap`, `liqmap`, `levels` or `maxpain`.
        pub kind: String,
        /// Coin symbol.
        pub symbol: String,
        /// The query's other parameters including defaults, as in a URL: `range=24h&model=2`.
        pub params: String,
        /// Close time of the last bar in the estimate.
        pub timestamp: Millis,
        /// When the server computed it.
        pub computed_at: Millis,
        /// The response body, byte for byte.
        pub reply: String,
        /// The inputs of the estimate, as JSON.
        pub explain: Option<String>,
        /// Version of the model, if known: `modelVersion` of `explain`.
        pub version: Option<String>,
    }
}
