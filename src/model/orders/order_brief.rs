//! An order in brief: what totals are made of, handed on without copying a name.

use rust_decimal::Decimal;

use crate::model::{Millis, ObservedOrder, Order, Side};

/// What a total is made of, of one order; its names are borrowed, so that they need not be copied for every order.
#[derive(Clone, Copy, Debug)]
pub struct OrderBrief<'a> {
    /// Its number in the order of arrival; 0 where it has none.
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
    /// When it was received.
    pub received_at: Millis,
    /// What stands for its exchange, symbol and coin where it comes from, if that is known: no others there have it, and
    /// it is small.
    pub names: Option<u32>,
}

impl<'a> OrderBrief<'a> {
    /// An order that has just been met: of this coin, received at this instant, without a number.
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

    /// The order itself, with names of its own.
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
    /// An order without a coin stands under the name of its pair, as nothing is derived here.
    fn from(observed: &'a ObservedOrder) -> Self {
        let order = &observed.order;
        let coin = observed.coin.as_deref().unwrap_or(&order.symbol);
        Self::of(order, coin, observed.received_at.unwrap_or(order.timestamp))
    }
}
