//! Liquidation orders in columns.

use std::ops::Range;

use crate::model::{DecimalColumn, GroupedOrder, Labels, Millis, Order, Side};

/// Liquidation orders in columns: the same values as a list of [`Order`]s in less memory.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Millis, Order, OrderColumns, Side};
///
/// let order = Order {
///     exchange: "binance".to_owned(),
///     symbol: "BTCUSDT".to_owned(),
///     side: Side::Long,
///     price: "63250.10".parse().unwrap(),
///     qty: "0.190".parse().unwrap(),
///     value_usd: "12017.519".parse().unwrap(),
///     timestamp: Millis(1_790_000_000_000),
/// };
/// let columns: OrderColumns = [&order].into_iter().collect();
/// assert_eq!(columns.get(0), Some(order));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrderColumns {
    /// Exchanges, lower case.
    pub exchange: Labels,
    /// Trading pairs, such as `BTCUSDT`.
    pub symbol: Labels,
    /// Sides of the liquidated positions.
    pub side: Vec<Side>,
    /// Prices in the quote currency.
    pub price: DecimalColumn,
    /// Quantities in base units.
    pub qty: DecimalColumn,
    /// Notionals in USD.
    pub value_usd: DecimalColumn,
    /// Event times.
    pub timestamp: Vec<Millis>,
    /// Ids shared by the fills of a liquidation; empty if no order has one.
    pub group_id: Vec<Option<String>>,
}

impl OrderColumns {
    /// An empty table with capacity for `rows` orders.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            exchange: Labels::with_capacity(rows),
            symbol: Labels::with_capacity(rows),
            side: Vec::with_capacity(rows),
            price: DecimalColumn::with_capacity(rows),
            qty: DecimalColumn::with_capacity(rows),
            value_usd: DecimalColumn::with_capacity(rows),
            timestamp: Vec::with_capacity(rows),
            group_id: Vec::new(),
        }
    }

    /// Number of orders.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timestamp.len()
    }

    /// Whether there are no orders.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.timestamp.is_empty()
    }

    /// Adds an order.
    pub fn push(&mut self, order: &Order) {
        self.push_grouped(order, None);
    }

    /// Adds an order with its group id, if any.
    pub fn push_grouped(&mut self, order: &Order, group: Option<String>) {
        self.exchange.push(&order.exchange);
        self.symbol.push(&order.symbol);
        self.side.push(order.side);
        self.price.push(order.price);
        self.qty.push(order.qty);
        self.value_usd.push(order.value_usd);
        self.timestamp.push(order.timestamp);
        self.push_group(group);
    }

    /// Sets the group id of the last order, if any.
    pub fn push_group(&mut self, group: Option<String>) {
        let rows = self.len();
        if group.is_some() || !self.group_id.is_empty() {
            self.group_id.resize(rows.saturating_sub(1), None);
            self.group_id.push(group);
        }
    }

    /// The order in `row`, with its group id.
    #[must_use]
    pub fn grouped(&self, row: usize) -> Option<GroupedOrder> {
        Some(GroupedOrder {
            order: self.get(row)?,
            group_id: self.group_id.get(row).cloned().flatten(),
        })
    }

    /// The order in `row`, without its group id.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Order> {
        Some(Order {
            exchange: self.exchange.get(row)?.to_owned(),
            symbol: self.symbol.get(row)?.to_owned(),
            side: *self.side.get(row)?,
            price: self.price.get(row)?,
            qty: self.qty.get(row)?,
            value_usd: self.value_usd.get(row)?,
            timestamp: *self.timestamp.get(row)?,
        })
    }

    /// Iterates over the orders.
    pub fn iter(&self) -> impl Iterator<Item = Order> + '_ {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Appends the orders of `other` in the range `rows`.
    pub fn append(&mut self, other: &Self, rows: Range<usize>) {
        let (Some(sides), Some(times)) = (
            other.side.get(rows.clone()),
            other.timestamp.get(rows.clone()),
        ) else {
            return;
        };
        self.exchange.append(&other.exchange, rows.clone());
        self.symbol.append(&other.symbol, rows.clone());
        self.side.extend_from_slice(sides);
        self.price.append(&other.price, rows.clone());
        self.qty.append(&other.qty, rows.clone());
        self.value_usd.append(&other.value_usd, rows.clone());
        let before = self.len();
        self.timestamp.extend_from_slice(times);
        let groups = other.group_id.get(rows).unwrap_or_default();
        if !groups.is_empty() || !self.group_id.is_empty() {
            self.group_id.resize(before, None);
            self.group_id.extend_from_slice(groups);
            self.group_id.resize(self.timestamp.len(), None);
        }
    }

    /// Whether the order in `row` equals the order in row `theirs` of `other`.
    pub fn same(&self, row: usize, other: &Self, theirs: usize) -> bool {
        // The column that differs most often comes first.
        self.timestamp.get(row) == other.timestamp.get(theirs)
            && self.value_usd.same(row, &other.value_usd, theirs)
            && self.price.same(row, &other.price, theirs)
            && self.qty.same(row, &other.qty, theirs)
            && self.side.get(row) == other.side.get(theirs)
            && self.symbol.same(row, &other.symbol, theirs)
            && self.exchange.same(row, &other.exchange, theirs)
    }
}

impl From<OrderColumns> for Vec<Order> {
    fn from(columns: OrderColumns) -> Self {
        columns.iter().collect()
    }
}

impl From<OrderColumns> for Vec<GroupedOrder> {
    fn from(columns: OrderColumns) -> Self {
        let rows = 0..columns.len();
        rows.filter_map(|row| columns.grouped(row)).collect()
    }
}

impl FromIterator<GroupedOrder> for OrderColumns {
    fn from_iter<T: IntoIterator<Item = GroupedOrder>>(orders: T) -> Self {
        let orders = orders.into_iter();
        let mut columns = Self::with_capacity(orders.size_hint().0);
        for GroupedOrder { order, group_id } in orders {
            columns.push_grouped(&order, group_id);
        }
        columns
    }
}

impl<'a> FromIterator<&'a Order> for OrderColumns {
    fn from_iter<T: IntoIterator<Item = &'a Order>>(orders: T) -> Self {
        let orders = orders.into_iter();
        let mut columns = Self::with_capacity(orders.size_hint().0);
        for order in orders {
            columns.push(order);
        }
        columns
    }
}
