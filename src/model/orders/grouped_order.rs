//! A liquidation order with the id that all orders of the same liquidation share.

use std::fmt;

use rust_decimal::Decimal;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::model::{Millis, Order, Side, Vocabulary};

/// A liquidation order with the id that all fills of one liquidation share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupedOrder {
    /// The order.
    pub order: Order,
    /// Id shared by all fills of one liquidation, such as an order or position id. Absent if the exchange publishes
    /// none or the caller does not ask for it.
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
        /// Id shared by all fills of one liquidation, such as an order or position id; present if `groups` asks for it
        /// and the exchange publishes it.
        group_id: Option<String> = group_id,
    }
    made of {
        order: Order { exchange, symbol, side, price, qty, value_usd, timestamp },
        group_id,
    },
    adds Order::ADDED_COLUMNS
}

impl GroupedOrder {
    /// Name of the column that [`Order`] does not have.
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
    /// Serializes the order as the contract specifies, followed by the group id if there is one.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(group) = &self.group_id else {
            return self.order.serialize(serializer);
        };
        let mut row = serializer.serialize_struct("GroupedOrder", 9)?;
        self.order.write(&mut row)?;
        row.serialize_field(Self::GROUP, group)?;
        row.end()
    }
}

/// Whether listed orders include their group ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Group ids are omitted.
    LeftOut,
    /// Group ids are included if known.
    Included,
}

impl Vocabulary for Groups {
    const ALL: &'static [Self] = &[Self::LeftOut, Self::Included];

    fn name(self) -> &'static str {
        match self {
            Self::LeftOut => "0",
            Self::Included => "1",
        }
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
