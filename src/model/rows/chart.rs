//! One row of the hourly chart.

use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use crate::model::{Millis, Side};

crate::model::record! {
    /// USD liquidated on one side in one UTC hour.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub struct ChartRow {
        /// Start of the hour; a decimal string of epoch milliseconds on the wire.
        #[serde(serialize_with = "as_text")]
        pub hour: Millis,
        /// Side of the liquidated positions.
        pub side: Side,
        /// USD liquidated.
        #[unit("USD")]
        pub total_usd: Decimal,
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn as_text<S: Serializer>(hour: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&hour.0)
}
