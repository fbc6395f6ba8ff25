//! Max pain: the headline price of longs and of shorts, for a day and a week.

use crate::model::{EstimateLabels, Millis, RangesWithin};

/// One liquidation cluster: a price with much estimated liquidation USD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Price of the cluster.
    pub price: f64,
    /// Estimated USD in the cluster.
    pub usd: f64,
    /// Distance from the current price in percent; negative below it.
    pub dist_pct: f64,
}

/// The headline prices and the totals of one range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pain {
    /// The headline of the longs, below the current price.
    pub long: Cluster,
    /// The headline of the shorts, above the current price.
    pub short: Cluster,
    /// Estimated USD of the longs that the liquidation map of the range shows.
    pub total_long: f64,
    /// Estimated USD of the shorts that the liquidation map of the range shows.
    pub total_short: f64,
}

/// Max pain of a coin; a range that a service omits is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxPain {
    /// Coin symbol.
    pub symbol: String,
    /// Current price.
    pub price: f64,
    /// Time of the last input of the estimate.
    pub updated_at: Millis,
    /// The one-day range.
    pub d1: Option<Pain>,
    /// The seven-day range.
    pub d7: Option<Pain>,
    /// Unit, view, and whether the market is simulated.
    pub labels: EstimateLabels,
    /// USD near the price.
    pub within: Option<RangesWithin>,
}
