//! The liquidation map: estimated liquidations by price and leverage tier.

use std::fmt;

use crate::model::{
    EstimateLabels, ExactPart, FineCells, MapCluster, Millis, Side, SideUsd, Within,
};

/// The requested price width of a bin of a liquidation map.
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

// A bin width is never NaN.
impl Eq for BinWidth {}

impl BinWidth {
    /// A bin width; `None` unless `width` is finite and above zero.
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

/// The source of an estimated map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapSource {
    /// The ledger: open positions that are estimated from bars and open interest.
    Estimate,
    /// Observed positions of single accounts.
    Positions,
    /// The map of another service, as it was recorded; with the name of the recording.
    Recorded(String),
}

impl MapSource {
    /// The names of the sources that are not recordings.
    pub const OWN: [&str; 2] = ["estimate", "positions"];

    /// The source with this name. `None` for a text that cannot be the name of a recording: it has lower-case letters,
    /// digits, dots and hyphens, and begins with a letter or a digit.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::MapSource;
    ///
    /// assert_eq!(MapSource::parse("positions"), Some(MapSource::Positions));
    /// assert_eq!(MapSource::parse("CoinGlass"), Some(MapSource::Recorded("coinglass".to_owned())));
    /// assert_eq!(MapSource::parse("../other"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.to_ascii_lowercase();
        let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
        match name.as_str() {
            "estimate" => Some(Self::Estimate),
            "positions" => Some(Self::Positions),
            _ => is_name.then_some(Self::Recorded(name)),
        }
    }

    /// The name of the recording, if the source is one.
    #[must_use]
    pub fn recording(&self) -> Option<&str> {
        match self {
            Self::Recorded(name) => Some(name),
            Self::Estimate | Self::Positions => None,
        }
    }
}

impl fmt::Display for MapSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Estimate => "estimate",
            Self::Positions => "positions",
            Self::Recorded(name) => name,
        })
    }
}

/// Facts about a measured map, which comes from observed positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Share of the coin's open interest, both sides, that the positions make up, 0 to 1; `None` if unknown.
    pub seen_share: Option<f64>,
    /// Completion time of the snapshot.
    pub observed_at: Millis,
    /// Number of observed positions.
    pub positions: i64,
    /// Number of accounts with these positions.
    pub accounts: i64,
    /// USD of positions without a liquidation price. They are in no bin.
    pub unplaced_usd: f64,
    /// USD of positions with a liquidation price that the market has crossed since the snapshot. They are in no bin.
    pub crossed_usd: f64,
}

impl Measured {
    /// The name of the first invalid field, and a message with its value and the allowed values.
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
    /// Price at the centre of the bin.
    pub price: f64,
    /// Side of the positions in the bin.
    pub side: Side,
    /// USD over all leverage tiers.
    pub total: f64,
}

/// Estimated liquidation USD by price bin, side and leverage tier.
#[derive(Clone, Debug, PartialEq)]
pub struct LiquidationMap {
    /// Coin symbol.
    pub symbol: String,
    /// Name of the requested range.
    pub range: String,
    /// Time of the last input of the estimate.
    pub updated_at: Millis,
    /// Current price.
    pub current_price: f64,
    /// Price width of a bin.
    pub bin_width: f64,
    /// Leverage tiers; their number is L.
    pub leverages: Vec<i64>,
    /// Bins; their number is N.
    pub bins: Vec<MapBin>,
    /// USD of N × L cells, bin after bin; NaN marks a tier that the bin omits.
    pub tiers: Vec<f64>,
    /// Facts about a measured map; `None` for an estimated map.
    pub measured: Option<Measured>,
    /// Unit, view, and whether the market is simulated.
    pub labels: EstimateLabels,
    /// USD of the bins that the map does not show.
    pub outside: Option<SideUsd>,
    /// USD near the price, over all bins.
    pub within: Option<Within>,
    /// USD on the grid of the ledger, for prices of the bins.
    pub fine: Option<FineCells>,
    /// Ends of the interval of each bin; `None` if the model is not fitted.
    pub bounds: Option<BinBounds>,
    /// Clusters of the bins, largest first.
    pub clusters: Option<Vec<MapCluster>>,
    /// Share of each bin that is positions of accounts; only of a blended map.
    pub exact_share: Option<Vec<f64>>,
    /// The same of the whole map; only of a blended map.
    pub exact: Option<ExactPart>,
}

/// The ends of the 80 % interval of each bin of a map, in the units of the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BinBounds {
    /// Low ends.
    pub low: Vec<f64>,
    /// High ends; infinite for a bin without a validated interval.
    pub high: Vec<f64>,
}
