//! The largest orders of any number of orders, added in any sequence.

use std::cmp::Reverse;
use std::sync::Arc;

use rust_decimal::Decimal;

use crate::engine::View;
use crate::engine::aggregates::rankings::{OrderFilter, largest};
use crate::model::{
    FiledColumns, FiledOrders, FixedPoint, Millis, Order, OrderBrief, Symbol, TimeRange, sort_small,
};

/// Minimum number of orders that are sorted together.
const SORTED: usize = 64;

/// A question about the largest orders of a time range.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestQuestion {
    /// The time of the orders.
    pub range: TimeRange,
    /// Orders of this trading pair, or of all pairs of this coin.
    pub symbol: Option<Symbol>,
    /// Orders of this exchange only.
    pub exchange: Option<String>,
    /// Orders of at least this many USD only.
    pub least: Option<Decimal>,
    /// Maximum number of orders.
    pub limit: usize,
}

impl LargestQuestion {
    /// Returns the orders of a view, largest first; of orders with equal USD, the newest first.
    #[must_use]
    pub fn of(&self, view: &View<'_>) -> Vec<Order> {
        let wanted = OrderFilter {
            symbol: self.symbol.as_ref(),
            exchange: self.exchange.as_deref(),
            least: self.least,
        };
        largest(view, self.range, wanted, self.limit)
    }

    /// Whether an order of these names matches.
    fn names(&self, exchange: &str, symbol: &str, coin: &str) -> bool {
        let wanted = self.exchange.as_deref();
        wanted.is_none_or(|wanted| wanted == exchange)
            && (self.symbol.as_ref()).is_none_or(|wanted| wanted.means(symbol, coin))
    }
}

/// The largest orders found so far.
#[derive(Clone, Debug)]
pub struct LargestOrders {
    asked: Arc<LargestQuestion>,
    /// The largest orders, and fewer smaller ones than the maximum.
    found: Vec<Order>,
    /// The USD that an order needs to be among the largest.
    floor: Option<Decimal>,
}

impl LargestOrders {
    /// Creates an empty list.
    #[must_use]
    pub fn new(asked: &Arc<LargestQuestion>) -> Self {
        Self {
            asked: Arc::clone(asked),
            found: Vec::new(),
            floor: asked.least,
        }
    }

    fn push(&mut self, order: Order) {
        self.found.push(order);
        if self.found.len() >= self.asked.limit.saturating_mul(2).max(SORTED) {
            self.settle();
        }
    }

    /// Sorts the orders and drops those beyond the maximum.
    fn settle(&mut self) {
        sort_small(&mut self.found, |one, other| {
            let rank = |order: &Order| (Reverse(order.value_usd), Reverse(order.timestamp));
            rank(one)
                .cmp(&rank(other))
                .then_with(|| (&one.exchange, &one.symbol).cmp(&(&other.exchange, &other.symbol)))
        });
        self.found.truncate(self.asked.limit);
        if self.found.len() == self.asked.limit {
            self.floor = self.found.last().map(|least| least.value_usd);
        }
    }

    /// Adds an order, if it matches the question.
    pub fn take(&mut self, order: &OrderBrief<'_>) {
        let asked = &self.asked;
        if asked.range.contains(order.timestamp)
            && self.floor.is_none_or(|floor| order.value_usd >= floor)
            && asked.names(order.exchange, order.symbol, order.coin)
        {
            self.push(order.order());
        }
    }

    /// The columns of stored orders that the list needs.
    #[must_use]
    pub fn columns(&self) -> FiledColumns {
        FiledColumns {
            exchange: true,
            symbol: true,
            coin: true,
            amounts: true,
            least: self.asked.least,
        }
    }

    /// Adds the matching orders of a batch.
    pub fn take_columns(&mut self, orders: &FiledOrders<'_>) {
        let asked = Arc::clone(&self.asked);
        let (Some(exchanges), Some(symbols), Some(coins)) =
            (&orders.exchange, &orders.symbol, &orders.coin)
        else {
            return;
        };
        let (Some(prices), Some(amounts)) = (orders.price, orders.qty) else {
            return;
        };
        let floor = |list: &Self| list.floor.and_then(FixedPoint::ceil).map(|usd| usd.0);
        let mut least = floor(self);
        let exact = |cells: &[i128], row: usize| FixedPoint(*cells.get(row)?).decimal();
        for (row, (at, usd)) in orders.timestamp.iter().zip(orders.value_usd).enumerate() {
            if least.is_some_and(|least| *usd < least) || !asked.range.contains(Millis(*at)) {
                continue;
            }
            let named = exchanges.at(row).zip(symbols.at(row)).zip(coins.at(row));
            let Some(((exchange, symbol), coin)) = named else {
                continue;
            };
            if !asked.names(exchange, symbol, coin) {
                continue;
            }
            let figures = exact(prices, row).zip(exact(amounts, row));
            let figures = figures.zip(FixedPoint(*usd).decimal());
            if let (Some(side), Some(((price, qty), value_usd))) = (orders.side.at(row), figures) {
                self.push(Order {
                    exchange: exchange.to_owned(),
                    symbol: symbol.to_owned(),
                    side,
                    price,
                    qty,
                    value_usd,
                    timestamp: Millis(*at),
                });
                least = floor(self);
            }
        }
    }

    /// Adds the orders of another list.
    pub fn join(&mut self, other: Self) {
        for order in other.found {
            self.push(order);
        }
    }

    /// Returns the orders, largest first.
    #[must_use]
    pub fn orders(mut self) -> Vec<Order> {
        self.settle();
        self.found
    }
}
