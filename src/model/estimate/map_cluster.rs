//! Clusters of a liquidation map: a row type.

use crate::model::Side;

crate::model::record! {
    /// A run of neighbouring bins of one side, each at least the mean of the bins of its side.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MapCluster {
        /// Side of the positions.
        pub side: Side,
        /// Lower edge.
        #[unit("USD")]
        pub low_price: f64,
        /// Upper edge.
        #[unit("USD")]
        pub high_price: f64,
        /// Centre of the largest bin.
        #[unit("USD")]
        pub peak_price: f64,
        /// Signed distance of the edge nearest to the price, in percent of the price.
        #[unit("%")]
        pub distance_pct: f64,
        /// Sum of the bins, in the units of the map.
        pub amount: f64,
        /// Share of all bins of the side that the map shows, 0 to 1.
        pub side_share: f64,
        /// Sum of the low ends of the 80 % intervals of the bins; absent without a validated interval.
        pub low_amount: Option<f64>,
        /// Sum of the high ends of these intervals; absent without a validated interval.
        pub high_amount: Option<f64>,
    }
}
