//! A liquidation order with borrowed names, for the computation of totals.

use rust_decimal::Decimal;

use crate::model::{Millis, ObservedOrder, Order, Side};

/// One order with borrowed names, so that totals copy no strings.
#[derive(Clone, Copy, Debug)]
pub struct OrderBrief<'a> {
    /// Number in the order of arrival; 0 if unknown.
    pub number: i64,
    /// Exchange, lower case.
    pub exchange: &'a str,
    /// Trading pair, upper case.
    pub symbol: &'a str,
    /// Coin, upper case.
    pub coin: &'a str,
    /// Side of the liquidated position.
    pub side: Side,
    /// Price in the quote currency.
    pub price: Decimal,
    /// Quantity in base units.
    pub qty: Decimal,
    /// Notional in USD.
    pub value_usd: Decimal,
    /// Event time.
    pub timestamp: Millis,
    /// Time of receipt.
    pub received_at: Millis,
    /// A small number that identifies the combination of exchange, symbol and coin within the source, if known.
    pub names: Option<u32>,
}

impl<'a> OrderBrief<'a> {
    /// Borrows `order` of `coin`, received at `received_at`; the arrival number is 0.
    #[must_use]
    pub fn of(order: &'a Order, coin: &'a str, received_at: Millis) -> Self {
        Self {
            number: 0,
            exchange: &order.exchange,
            symbol: &order.symbol,
            coin,
            side: order.side,
            price: order.price,
            qty: order.qty,
            value_usd: order.value_usd,
            timestamp: order.timestamp,
            received_at,
            names: None,
        }
    }

    /// The same order with owned names.
    #[must_use]
    pub fn order(&self) -> Order {
        Order {
            exchange: self.exchange.to_owned(),
            symbol: self.symbol.to_owned(),
            side: self.side,
            price: self.price,
            qty: self.qty,
            value_usd: self.value_usd,
            timestamp: self.timestamp,
        }
    }
}

impl<'a> From<&'a ObservedOrder> for OrderBrief<'a> {
    /// If the coin is absent, the name of the pair stands for it; it is not parsed here.
    fn from(observed: &'a ObservedOrder) -> Self {
        let order = &observed.order;
        let coin = observed.coin.as_deref().unwrap_or(&order.symbol);
        Self::of(order, coin, observed.received_at.unwrap_or(order.timestamp))
    }
}
