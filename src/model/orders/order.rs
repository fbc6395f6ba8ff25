//! One liquidation order.

use rust_decimal::Decimal;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::model::{Column, Kind, Millis, Side, coin_of_pair};

crate::model::record! {
    /// One liquidation order, as `/api/liquidations` and `/api/liquidations/largest` list it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[adds(Order::ADDED_COLUMNS)]
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

impl Order {
    /// Name of the member that a service adds to each order: the coin of the pair.
    pub const COIN: &'static str = "coin";

    /// The columns that a service adds to each order.
    pub const ADDED_COLUMNS: &'static [Column] = &[Column {
        name: Self::COIN,
        kind: Kind::Text,
        optional: true,
        unit: "",
        meaning: "Coin of the pair, such as `PEPE` for `1000PEPEUSDT`.",
    }];

    /// Writes the members of the contract, followed by the coin.
    pub fn write<S: SerializeStruct>(&self, row: &mut S) -> Result<(), S::Error> {
        row.serialize_field("exchange", &self.exchange)?;
        row.serialize_field("symbol", &self.symbol)?;
        row.serialize_field("side", &self.side)?;
        row.serialize_field("price", &self.price)?;
        row.serialize_field("qty", &self.qty)?;
        row.serialize_field("value_usd", &self.value_usd)?;
        row.serialize_field("timestamp", &self.timestamp)?;
        row.serialize_field(Self::COIN, &coin_of_pair(&self.symbol).0)
    }
}

impl Serialize for Order {
    /// Serializes the order as the contract specifies, followed by its coin, such as `PEPE` for `1000PEPEUSDT`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Order", 8)?;
        self.write(&mut row)?;
        row.end()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_sent_with_the_coin_of_its_pair() {
        for (symbol, coin) in [
            ("1000PEPEUSDT", "PEPE"),
            ("ETHFIUSDT", "ETHFI"),
            ("ETHUSDT", "ETH"),
        ] {
            let order = Order {
                exchange: "okx".to_owned(),
                symbol: symbol.to_owned(),
                side: Side::Long,
                price: 2.into(),
                qty: 3.into(),
                value_usd: 6.into(),
                timestamp: Millis(7),
            };
            assert_eq!(
                serde_json::to_string(&order).unwrap(),
                format!(
                    r#"{{"exchange":"okx","symbol":"{symbol}","side":"LONG","price":"2","qty":"3","value_usd":"6","timestamp":7,"coin":"{coin}"}}"#
                )
            );
        }
    }
}
