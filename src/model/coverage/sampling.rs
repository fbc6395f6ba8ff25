//! Which of its liquidations an exchange publishes, and what is estimated of the others.

use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use crate::model::record;
use crate::model::{Vocabulary, value};

/// Which of its liquidations an exchange publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// All of them.
    Complete,
    /// The latest of each symbol and second.
    Latest,
    /// The largest of each symbol, side and second.
    LargestOfSide,
    /// One of each symbol and second; its documentation says the latest here and the largest there, or neither.
    LatestOrLargest,
    /// It does not say.
    Unknown,
}

impl Sampling {
    /// Which liquidations the exchange of this name, in our spelling, publishes today.
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
    /// What one exchange published in a window, and what is estimated of all that it liquidated.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct UndercountRow {
        /// Exchange, lower case.
        pub exchange: String,
        /// Which of its liquidations it publishes.
        pub sampling: Sampling,
        /// USD of the orders it published.
        #[unit("USD")]
        pub observed_usd: Decimal,
        /// Estimated USD of all its orders.
        #[unit("USD")]
        pub estimated_usd: Option<f64>,
        /// Lower end of the interval of the estimate.
        #[unit("USD")]
        pub low_usd: Option<f64>,
        /// Upper end of the interval of the estimate.
        #[unit("USD")]
        pub high_usd: Option<f64>,
        /// How the estimate came to be.
        pub method: String,
    }
}
