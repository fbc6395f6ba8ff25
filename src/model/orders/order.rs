//! One liquidation order.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::{Millis, Side};

crate::model::record! {
    /// One liquidation order, as `/api/liquidations` and `/api/liquidations/largest` list it.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct Order {
        /// Exchange, lower case.
        pub exchange: String,
        /// Trading pair, such as `BTCUSDT`.
        pub symbol: String,
        /// Side of the liquidated position.
        pub side: Side,
        /// Price in the quote currency.
        #[unit("quote currency")]
        pub price: Decimal,
        /// Quantity in base units.
        #[unit("base units")]
        pub qty: Decimal,
        /// Notional in USD.
        #[unit("USD")]
        pub value_usd: Decimal,
        /// Event time.
        pub timestamp: Millis,
    }
}
