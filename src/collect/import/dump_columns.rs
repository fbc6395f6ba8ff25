//! Collects the rows of files into columns, the form in which [`Judge`](crate::tables::Judge) checks them.

use rust_decimal::Decimal;

use crate::archive::Completeness;
use crate::feeds::dumps::{DumpRow, RowBar, RowOrder, RowReading};
use crate::model::{Labels, Vocabulary};
use crate::tables::{AmountUnit, BarColumns, InterestColumns, ReadRows, UnvaluedOrders};

/// The price kind of orders if their file format does not define it.
const UNKNOWN_PRICE: &str = "unknown";

/// The line number of each row in its file, by table.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) orders: Vec<u64>,
    pub(super) bars: Vec<u64>,
    pub(super) open_interest: Vec<u64>,
}

/// Rows of a file, by table. A row's number is its index in these columns.
#[derive(Debug, Default)]
pub(super) struct DumpColumns {
    pub(super) orders: ReadRows<UnvaluedOrders>,
    pub(super) bars: ReadRows<BarColumns>,
    pub(super) open_interest: ReadRows<InterestColumns>,
    pub(super) lines: Lines,
}

impl DumpColumns {
    /// Creates columns without rows. `unit` is that of the file's amounts.
    pub(super) fn of(unit: AmountUnit) -> Self {
        let mut columns = Self::default();
        columns.orders.columns.unit = unit;
        columns.bars.columns.unit = unit;
        columns.open_interest.columns.unit = unit;
        columns
    }

    /// Number of rows in all tables.
    pub(super) fn len(&self) -> usize {
        self.lines.orders.len() + self.lines.bars.len() + self.lines.open_interest.len()
    }

    /// Adds the row at line `line` of its file.
    pub(super) fn push(&mut self, row: DumpRow, line: u64) {
        match row {
            DumpRow::Order(row) => self.order(row, line),
            DumpRow::Bar(row) => self.bar(&row, line),
            DumpRow::Reading(row) => self.reading(&row, line, false),
            DumpRow::ReadingInUsd(row) => self.reading(&row, line, true),
        }
    }

    fn order(&mut self, row: RowOrder, line: u64) {
        let UnvaluedOrders {
            given: orders,
            is_unvalued,
            ..
        } = &mut self.orders.columns;
        let order = row.order;
        orders.exchange.push(&order.exchange);
        orders.symbol.push(&order.symbol);
        orders.side.push(order.side);
        orders.price.push(order.price);
        orders.qty.push(order.qty);
        orders.value_usd.push(order.value_usd);
        orders.timestamp.push(order.timestamp);
        // An order without a time of receipt counts as received at its event time.
        orders
            .received_at
            .push(row.received_at.unwrap_or(order.timestamp));
        orders
            .coin
            .get_or_insert_with(Labels::default)
            .push(&row.coin);
        orders
            .dedupe_key
            .get_or_insert_with(Vec::new)
            .push(row.dedupe_key);
        orders
            .price_kind
            .get_or_insert_with(Labels::default)
            .push(row.price_kind.map_or(UNKNOWN_PRICE, Vocabulary::name));
        orders
            .completeness
            .get_or_insert_with(Vec::<Completeness>::new)
            .push(row.completeness);
        orders
            .native_id
            .get_or_insert_with(Labels::default)
            .push(row.native_id.as_deref().unwrap_or_default());
        is_unvalued.push(!row.is_valued);
        self.orders.places.push(self.lines.orders.len());
        self.lines.orders.push(line);
    }

    fn bar(&mut self, row: &RowBar, line: u64) {
        let bars = &mut self.bars.columns;
        let [open, high, low, close] = row.prices;
        bars.exchange.push(&row.exchange);
        bars.symbol.push(&row.contract);
        bars.timestamp.push(row.timestamp);
        bars.interval.push(row.interval);
        bars.open.push(open);
        bars.high.push(high);
        bars.low.push(low);
        bars.close.push(close);
        bars.volume.push(row.volume);
        if row.trades.is_some() || bars.trades.is_some() {
            let trades = bars.trades.get_or_insert_default();
            while trades.len() + 1 < bars.timestamp.len() {
                trades.push(Decimal::ZERO);
            }
            trades.push(row.trades.unwrap_or_default());
        }
        self.bars.places.push(self.lines.bars.len());
        self.lines.bars.push(line);
    }

    fn reading(&mut self, row: &RowReading, line: u64, in_usd: bool) {
        let readings = &mut self.open_interest.columns;
        readings.in_usd = in_usd;
        readings.exchange.push(&row.exchange);
        readings.symbol.push(&row.contract);
        readings.timestamp.push(row.timestamp);
        readings.open_interest.push(row.open_interest);
        readings
            .received_at
            .get_or_insert_with(Vec::new)
            .push(row.received_at.unwrap_or(row.timestamp));
        self.open_interest
            .places
            .push(self.lines.open_interest.len());
        self.lines.open_interest.push(line);
    }
}
