//! Which of its liquidations an exchange publishes, and the estimate of the unpublished ones.

use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use crate::model::record;
use crate::model::{Vocabulary, value};

/// Which liquidations an exchange publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// All liquidations.
    Complete,
    /// The latest order per symbol and second.
    Latest,
    /// The largest order per symbol, side and second.
    LargestOfSide,
    /// One order per symbol and second. The documentation says the latest, the largest, or neither.
    LatestOrLargest,
    /// The documentation does not say which.
    Unknown,
}

impl Sampling {
    /// The sampling of the exchange `name`, as it is today.
    #[must_use]
    pub fn of_venue(name: &str) -> Self {
        match name {
            "bitfinex" | "bitmex" | "bybit" | "deribit" | "dydx" | "extended" | "gate"
            | "kraken" | "lighter" | "lighter_rh" | "pacifica" => Self::Complete,
            "aster" => Self::Latest,
            "bitget" => Self::LargestOfSide,
            "binance" | "okx" => Self::LatestOrLargest,
            _ => Self::Unknown,
        }
    }
}

impl Vocabulary for Sampling {
    const ALL: &'static [Self] = &[
        Self::Complete,
        Self::Latest,
        Self::LargestOfSide,
        Self::LatestOrLargest,
        Self::Unknown,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Latest => "latest",
            Self::LargestOfSide => "largest_of_side",
            Self::LatestOrLargest => "latest_or_largest",
            Self::Unknown => "unknown",
        }
    }
}

value!(Sampling as words);

impl Serialize for Sampling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

record! {
    /// Published liquidations of one exchange in a window, and the estimated total.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct UndercountRow {
        /// Exchange, lower case.
        pub exchange: String,
        /// Which liquidations the exchange publishes.
        pub sampling: Sampling,
        /// USD of the published orders.
        #[unit("USD")]
        pub observed_usd: Decimal,
        /// Estimated USD of all orders.
        #[unit("USD")]
        pub estimated_usd: Option<f64>,
        /// Lower bound of the estimate.
        #[unit("USD")]
        pub low_usd: Option<f64>,
        /// Upper bound of the estimate.
        #[unit("USD")]
        pub high_usd: Option<f64>,
        /// Method of the estimate.
        pub method: String,
    }
}
