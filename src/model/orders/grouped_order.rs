//! One liquidation order of the feed, with what it has in common with others.

use std::fmt;

use rust_decimal::Decimal;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::model::{Millis, Order, Side, Vocabulary};

/// One liquidation order of the feed, with what it has in common with others of the same liquidation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupedOrder {
    /// The order.
    pub order: Order,
    /// What all fills of one liquidation have in common, such as the order or the position they are of; absent where the
    /// exchange tells no such thing, and where it is not asked for.
    pub group_id: Option<String>,
}

crate::model::record! {
    impl GroupedOrder {
        /// Exchange, lower case.
        exchange: String = order.exchange,
        /// Trading pair, such as `BTCUSDT`.
        symbol: String = order.symbol,
        /// Side of the liquidated position.
        side: Side = order.side,
        /// Price in the quote currency.
        #[unit("quote currency")]
        price: Decimal = order.price,
        /// Quantity in base units.
        #[unit("base units")]
        qty: Decimal = order.qty,
        /// Notional in USD.
        #[unit("USD")]
        value_usd: Decimal = order.value_usd,
        /// Event time.
        timestamp: Millis = order.timestamp,
        /// What all fills of one liquidation have in common, such as the order or the position they are of; there where
        /// `groups` asks for it and the exchange tells it.
        group_id: Option<String> = group_id,
    }
    made of {
        order: Order { exchange, symbol, side, price, qty, value_usd, timestamp },
        group_id,
    }
}

impl GroupedOrder {
    /// The name of the column that an order alone has not.
    pub const GROUP: &'static str = "group_id";
}

impl From<Order> for GroupedOrder {
    fn from(order: Order) -> Self {
        Self {
            order,
            group_id: None,
        }
    }
}

impl Serialize for GroupedOrder {
    /// An order as the contract has it; the group behind it, where there is one.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(group) = &self.group_id else {
            return self.order.serialize(serializer);
        };
        let order = &self.order;
        let mut row = serializer.serialize_struct("GroupedOrder", 8)?;
        row.serialize_field("exchange", &order.exchange)?;
        row.serialize_field("symbol", &order.symbol)?;
        row.serialize_field("side", &order.side)?;
        row.serialize_field("price", &order.price)?;
        row.serialize_field("qty", &order.qty)?;
        row.serialize_field("value_usd", &order.value_usd)?;
        row.serialize_field("timestamp", &order.timestamp)?;
        row.serialize_field(Self::GROUP, group)?;
        row.end()
    }
}

/// Whether the groups of orders are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// They are left out.
    LeftOut,
    /// They are told where they are known.
    Told,
}

impl Vocabulary for Groups {
    const ALL: &'static [Self] = &[Self::LeftOut, Self::Told];

    fn name(self) -> &'static str {
        match self {
            Self::LeftOut => "0",
            Self::Told => "1",
        }
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
