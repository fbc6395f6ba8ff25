//! The liquidation map: estimated liquidations by price and leverage tier.

use std::fmt;

use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::model::{Millis, Side, Vocabulary};

/// How much price a bin of a liquidation map is to span.
///
/// # Examples
///
/// ```
/// use liqdata::model::BinWidth;
///
/// assert_eq!(BinWidth::new(250.0).map(BinWidth::get), Some(250.0));
/// assert_eq!(BinWidth::new(0.0), None);
/// assert_eq!(BinWidth::new(f64::INFINITY), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinWidth(f64);

// It is a number.
impl Eq for BinWidth {}

impl BinWidth {
    /// The width, if it is a finite number above zero.
    #[must_use]
    pub fn new(width: f64) -> Option<Self> {
        (width.is_finite() && width > 0.0).then_some(Self(width))
    }

    /// The width as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// What a liquidation map is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapSource {
    /// A ledger that is estimated from bars and open interest.
    Estimate,
    /// Positions of single accounts as they were seen.
    Positions,
}

impl Vocabulary for MapSource {
    const ALL: &'static [Self] = &[Self::Estimate, Self::Positions];

    fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Positions => "positions",
        }
    }
}

impl fmt::Display for MapSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a map that is measured, not estimated, is of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// The share of the coin's open interest, both sides of it, that the positions make up, 0 to 1; none where that is not
    /// known.
    pub seen_share: Option<f64>,
    /// When the snapshot was complete.
    pub observed_at: Millis,
    /// How many positions were seen.
    pub positions: i64,
    /// How many accounts hold them.
    pub accounts: i64,
    /// USD of positions that no price liquidates, or of which no price is told: they are in no bin.
    pub unplaced_usd: f64,
    /// USD of positions whose price was passed since the snapshot: they are in no bin.
    pub crossed_usd: f64,
}

impl Measured {
    /// What no measured map can be of: the member as it is spelled, and its value with what is allowed.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        if let Some(share) = self.seen_share
            && !(0.0..=1.0).contains(&share)
        {
            return Some(("seenShare", format!("{share:?} is not from 0 to 1")));
        }
        for (member, count) in [("positions", self.positions), ("accounts", self.accounts)] {
            if count < 0 {
                return Some((member, format!("{count} is not 0 or above")));
            }
        }
        for (member, usd) in [
            ("unplacedUsd", self.unplaced_usd),
            ("crossedUsd", self.crossed_usd),
        ] {
            if usd < 0.0 {
                return Some((member, format!("{usd:?} is not 0 or above")));
            }
        }
        None
    }
}

/// One bin of a liquidation map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapBin {
    /// Centre of the bin.
    pub price: f64,
    /// Side of the positions in the bin.
    pub side: Side,
    /// USD over all tiers.
    pub total: f64,
}

/// Estimated liquidation USD by price bin, side and leverage tier.
#[derive(Clone, Debug, PartialEq)]
pub struct LiquidationMap {
    /// Coin symbol.
    pub symbol: String,
    /// The range asked for, echoed.
    pub range: String,
    /// Time of the last input.
    pub updated_at: Millis,
    /// Current price.
    pub current_price: f64,
    /// Price width of a bin.
    pub bin_width: f64,
    /// Leverage tiers, L of them.
    pub leverages: Vec<i64>,
    /// N bins.
    pub bins: Vec<MapBin>,
    /// N × L cells, bin after bin; NaN marks a tier the bin does not name.
    pub tiers: Vec<f64>,
    /// What it is of, where it is measured.
    pub measured: Option<Measured>,
}

struct Tiers<'a> {
    leverages: &'a [i64],
    usd: &'a [f64],
}

impl Serialize for Tiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (leverage, usd) in self.leverages.iter().zip(self.usd) {
            if !usd.is_nan() {
                map.serialize_entry(&leverage.to_string(), usd)?;
            }
        }
        map.end()
    }
}

struct Bin<'a> {
    bin: &'a MapBin,
    tiers: Tiers<'a>,
}

impl Serialize for Bin<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Bin", 4)?;
        object.serialize_field("price", &self.bin.price)?;
        object.serialize_field("side", self.bin.side.lower())?;
        object.serialize_field("tiers", &self.tiers)?;
        object.serialize_field("total", &self.bin.total)?;
        object.end()
    }
}

struct Bins<'a>(&'a LiquidationMap);

impl Serialize for Bins<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = self.0;
        let mut seq = serializer.serialize_seq(Some(map.bins.len()))?;
        let width = map.leverages.len();
        for (i, bin) in map.bins.iter().enumerate() {
            let usd = map
                .tiers
                .get(i * width..(i + 1) * width)
                .unwrap_or_default();
            seq.serialize_element(&Bin {
                bin,
                tiers: Tiers {
                    leverages: &map.leverages,
                    usd,
                },
            })?;
        }
        seq.end()
    }
}

impl Serialize for LiquidationMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("LiquidationMap", 8)?;
        object.serialize_field("symbol", &self.symbol)?;
        object.serialize_field("range", &self.range)?;
        object.serialize_field("updatedAt", &self.updated_at)?;
        object.serialize_field("currentPrice", &self.current_price)?;
        object.serialize_field("binWidth", &self.bin_width)?;
        object.serialize_field("leverages", &self.leverages)?;
        object.serialize_field("bins", &Bins(self))?;
        match &self.measured {
            Some(measured) => object.serialize_field("measured", measured)?,
            None => object.skip_field("measured")?,
        }
        object.end()
    }
}
