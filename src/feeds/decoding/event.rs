//! The normalized liquidation event that every decoder returns.

use rust_decimal::Decimal;

pub use crate::model::Completeness;
use crate::model::record;
use crate::model::{Millis, Side, Vocabulary, value};
pub(crate) use crate::model::{product, quotient, stripped};

/// What an exchange publishes as the price of a liquidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PriceKind {
    /// Average price of the order's fills.
    AverageFill,
    /// Price of one fill.
    Fill,
    /// Price at which the position's margin is used up.
    Bankruptcy,
    /// Price at which the exchange took over the position.
    Takeover,
    /// Limit price of the liquidation order.
    Order,
    /// The liquidation price as the exchange defines it.
    Liquidation,
}

impl Vocabulary for PriceKind {
    const ALL: &'static [Self] = &[
        Self::AverageFill,
        Self::Fill,
        Self::Bankruptcy,
        Self::Takeover,
        Self::Order,
        Self::Liquidation,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::AverageFill => "avg_fill",
            Self::Fill => "fill",
            Self::Bankruptcy => "bankruptcy",
            Self::Takeover => "takeover",
            Self::Order => "order",
            Self::Liquidation => "liquidation",
        }
    }
}

record! {
    /// One normalized liquidation.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Event {
        /// Name of the exchange, in lower case.
        pub exchange: &'static str,
        /// Base and quote, upper case; dated and perpetual contracts of a pair share one symbol.
        ///
        /// If base and quote are unknown, this is the native id.
        pub symbol: String,
        /// The coin: the base without its scale, such as `PEPE` for `1000PEPEUSDT`.
        pub coin: String,
        /// Side of the liquidated position.
        pub side: Side,
        /// Price in the quote currency.
        #[unit("quote currency")]
        pub price: Decimal,
        /// What the price means.
        pub price_kind: PriceKind,
        /// Quantity in base units; absent while the contract size is unknown.
        #[unit("base units")]
        pub qty: Option<Decimal>,
        /// Notional value in USD.
        ///
        /// Absent while the contract size is unknown, or if the quote currency does not count as USD.
        #[unit("USD")]
        pub value_usd: Option<Decimal>,
        /// Time of the liquidation; if the exchange sends none, the time of receipt, if known.
        pub timestamp: Option<Millis>,
        /// Time at which the frame was received, if known.
        pub received_at: Option<Millis>,
        /// The exchange's name of the contract.
        pub native_id: String,
        /// Whether the exchange may omit liquidations, so that totals are a lower bound.
        pub sampled: bool,
        /// Key for recognizing duplicates.
        ///
        /// Copies of an event with the same content have the same key, and different events have different keys.
        pub dedupe_key: String,
        /// Id that the fills of one liquidation share.
        ///
        /// It names the closing order (`order:…`) or the position (`position:…`) and is unique on the exchange. It is
        /// absent if the exchange publishes neither order nor position.
        pub group_id: Option<String>,
    }
}

value!(PriceKind as words);

impl Event {
    /// Sets the group to the closing order `id`.
    #[must_use]
    pub(crate) fn of_order(self, id: &str) -> Self {
        Self {
            group_id: Some(format!("order:{id}")),
            ..self
        }
    }

    /// Sets the group to the position `id`.
    #[must_use]
    pub(crate) fn of_position(self, id: &str) -> Self {
        Self {
            group_id: Some(format!("position:{id}")),
            ..self
        }
    }

    /// Whether quantity or value are absent because the contract size is unknown.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.qty.is_none()
    }
}

/// Whether a decimal is above zero.
#[inline]
pub(crate) fn is_above_zero(value: Decimal) -> bool {
    !value.is_sign_negative() && !value.is_zero()
}
