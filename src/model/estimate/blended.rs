//! Blended maps: positions of accounts at their own liquidation prices, and a model of the rest.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{DISTANCES, Millis, Vocabulary};

/// Which positions of an estimated map are placed exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapView {
    /// None: the model spreads all open interest.
    Modelled,
    /// Those of accounts that are known; the model spreads the rest of the open interest.
    Blended,
}

impl Vocabulary for MapView {
    const ALL: &'static [Self] = &[Self::Modelled, Self::Blended];

    fn name(self) -> &'static str {
        match self {
            Self::Modelled => "modelled",
            Self::Blended => "blended",
        }
    }
}

impl fmt::Display for MapView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much of a blended map is positions of accounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactPart {
    /// Share of all amounts of the map, 0 to 1; `None` for an empty map.
    pub share: Option<f64>,
    /// The same up to a distance from the price, in percent. A distance without amounts is left out.
    pub within: BTreeMap<i64, f64>,
    /// The exchanges with known positions, by name.
    pub exchanges: Vec<MeasuredExchange>,
}

impl ExactPart {
    /// The part of a map without known positions.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            share: Some(0.0),
            within: DISTANCES.map(|percent| (i64::from(percent), 0.0)).into(),
            exchanges: Vec::new(),
        }
    }
}

/// The known positions of an exchange in a blended map.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredExchange {
    /// Name of the exchange.
    pub exchange: String,
    /// Completion time of the snapshot.
    pub observed_at: Millis,
    /// Number of positions.
    pub positions: i64,
    /// Number of accounts with these positions.
    pub accounts: i64,
    /// Share of the open interest of longs that the positions make up, 0 to 1; `None` if it is unknown.
    pub long_share: Option<f64>,
    /// The same of shorts.
    pub short_share: Option<f64>,
    /// Factor of the modelled longs of the exchange, fitted to its known positions.
    pub long_scale: f64,
    /// The same of shorts.
    pub short_scale: f64,
    /// USD of positions without a liquidation price. They are in no bin.
    pub unplaced_usd: f64,
    /// USD of positions with a liquidation price that the market has crossed since the snapshot. They are in no bin.
    pub crossed_usd: f64,
}
