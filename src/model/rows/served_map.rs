//! Estimated maps as the server returned them.

use std::fmt;

use serde::Serialize;

use crate::model::record;
use crate::model::{Millis, Vocabulary};

/// The endpoint of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapKind {
    /// Heatmap: by price and time.
    Heatmap,
    /// Liquidation map: by price and leverage.
    Liqmap,
    /// Key levels.
    Levels,
    /// Max pain.
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
