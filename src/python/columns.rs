//! Rows as columns: what a reply becomes on the runtime's side, before it meets Python.

use rust_decimal::Decimal;

use crate::archive::{Gap, MapRow};
use crate::engine::VenueCoverage;
use crate::feeds::Event;
use crate::model::{
    Bar, ChartRow, CoinTotals, Decimals, ExchangeTotals, Labels, Millis, ObservedBar,
    ObservedOpenInterest, ObservedOrder, Order, OrderColumns, Position, Side, Vocabulary,
};

/// The cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cells {
    /// Text, as codes into distinct names.
    Text(Labels),
    /// Exact decimals.
    Decimal(Decimals),
    /// Doubles.
    Float(Vec<f64>),
    /// Whole numbers.
    Int(Vec<i64>),
    /// Instants in epoch milliseconds.
    Time(Vec<i64>),
    /// True or false.
    Bool(Vec<bool>),
}

impl Cells {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Decimal(cells) => cells.len(),
            Self::Float(cells) => cells.len(),
            Self::Int(cells) | Self::Time(cells) => cells.len(),
            Self::Bool(cells) => cells.len(),
        }
    }

    fn take(&self, rows: &[usize]) -> Self {
        fn pick<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter()
                .filter_map(|&row| cells.get(row).copied())
                .collect()
        }
        match self {
            Self::Text(cells) => Self::Text(cells.take(rows)),
            Self::Decimal(cells) => Self::Decimal(cells.take(rows)),
            Self::Float(cells) => Self::Float(pick(cells, rows)),
            Self::Int(cells) => Self::Int(pick(cells, rows)),
            Self::Time(cells) => Self::Time(pick(cells, rows)),
            Self::Bool(cells) => Self::Bool(pick(cells, rows)),
        }
    }
}

/// One named column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) cells: Cells,
    /// Which cells are present; all of them where absent.
    pub(super) present: Option<Vec<bool>>,
}

impl Column {
    /// Adds the cells of another column of the same name and kind; `None` where it is another.
    fn append(&mut self, more: &Self) -> Option<()> {
        let before = self.cells.len();
        (self.name == more.name).then_some(())?;
        match (&mut self.cells, &more.cells) {
            (Cells::Text(cells), Cells::Text(more)) => cells.append(more, 0..more.len()),
            (Cells::Decimal(cells), Cells::Decimal(more)) => cells.append(more, 0..more.len()),
            (Cells::Float(cells), Cells::Float(more)) => cells.extend_from_slice(more),
            (Cells::Int(cells), Cells::Int(more)) | (Cells::Time(cells), Cells::Time(more)) => {
                cells.extend_from_slice(more);
            }
            (Cells::Bool(cells), Cells::Bool(more)) => cells.extend_from_slice(more),
            _ => return None,
        }
        if self.present.is_some() || more.present.is_some() {
            let mut present = self.present.take().unwrap_or_else(|| vec![true; before]);
            match &more.present {
                Some(more) => present.extend_from_slice(more),
                None => present.resize(self.cells.len(), true),
            }
            self.present = Some(present);
        }
        Some(())
    }

    /// Whether `row` holds a value.
    pub(super) fn has(&self, row: usize) -> bool {
        self.present
            .as_ref()
            .is_none_or(|present| present.get(row).copied().unwrap_or(false))
    }
}

/// Rows of one kind, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Columns {
    fn of(rows: usize) -> Self {
        Self {
            columns: Vec::new(),
            rows,
        }
    }

    fn with(mut self, name: &str, cells: Cells) -> Self {
        self.columns.push(Column {
            name: name.to_owned(),
            cells,
            present: None,
        });
        self
    }

    fn with_optional(mut self, name: &str, cells: Cells, present: Vec<bool>) -> Self {
        self.columns.push(Column {
            name: name.to_owned(),
            cells,
            present: Some(present),
        });
        self
    }

    /// The orders of several, one after the other; `None` where their columns are no orders'.
    pub(super) fn joined<'a>(parts: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let parts: Vec<&Self> = parts.collect();
        let rows = parts.iter().map(|part| part.rows).sum();
        let mut joined = Self::from(OrderColumns::with_capacity(rows));
        for part in parts {
            if part.columns.len() != joined.columns.len() {
                return None;
            }
            for (column, more) in joined.columns.iter_mut().zip(&part.columns) {
                column.append(more)?;
            }
            joined.rows += part.rows;
        }
        Some(joined)
    }

    /// These rows, in this order.
    pub(super) fn take(&self, rows: &[usize]) -> Self {
        let columns = self
            .columns
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                cells: column.cells.take(rows),
                present: column
                    .present
                    .as_ref()
                    .map(|_| rows.iter().map(|&row| column.has(row)).collect()),
            })
            .collect();
        Self {
            columns,
            rows: rows.len(),
        }
    }
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> Cells {
    Cells::Text(values.collect())
}

fn sides(values: impl Iterator<Item = Side>) -> Cells {
    let names = [Side::Long, Side::Short].map(|side| side.name().to_owned());
    let codes: Vec<u32> = values.map(|side| u32::from(side == Side::Short)).collect();
    Labels::from_parts(&codes, &names).map_or_else(|| Cells::Text(Labels::default()), Cells::Text)
}

fn count(value: u64) -> i64 {
    // Counts are read as i64 from the wire and counted from memory, so they fit.
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl From<Vec<CoinTotals>> for Columns {
    fn from(rows: Vec<CoinTotals>) -> Self {
        Self::of(rows.len())
            .with("coin", text(rows.iter().map(|row| row.coin.as_str())))
            .with(
                "long_usd",
                Cells::Float(rows.iter().map(|row| row.long_usd).collect()),
            )
            .with(
                "short_usd",
                Cells::Float(rows.iter().map(|row| row.short_usd).collect()),
            )
            .with(
                "total_usd",
                Cells::Float(rows.iter().map(|row| row.total_usd).collect()),
            )
            .with(
                "cnt",
                Cells::Int(rows.iter().map(|row| count(row.cnt)).collect()),
            )
    }
}

impl From<Vec<ExchangeTotals>> for Columns {
    fn from(rows: Vec<ExchangeTotals>) -> Self {
        Self::of(rows.len())
            .with(
                "exchange",
                text(rows.iter().map(|row| row.exchange.as_str())),
            )
            .with(
                "long_usd",
                Cells::Decimal(rows.iter().map(|row| row.long_usd).collect()),
            )
            .with(
                "short_usd",
                Cells::Decimal(rows.iter().map(|row| row.short_usd).collect()),
            )
            .with(
                "total_usd",
                Cells::Decimal(rows.iter().map(|row| row.total_usd).collect()),
            )
            .with(
                "cnt",
                Cells::Int(rows.iter().map(|row| count(row.cnt)).collect()),
            )
    }
}

impl From<OrderColumns> for Columns {
    fn from(orders: OrderColumns) -> Self {
        Self::of(orders.len())
            .with("exchange", Cells::Text(orders.exchange))
            .with("symbol", Cells::Text(orders.symbol))
            .with("side", sides(orders.side.iter().copied()))
            .with("price", Cells::Decimal(orders.price))
            .with("qty", Cells::Decimal(orders.qty))
            .with("value_usd", Cells::Decimal(orders.value_usd))
            .with(
                "timestamp",
                Cells::Time(orders.timestamp.into_iter().map(|at| at.0).collect()),
            )
    }
}

impl From<Vec<Order>> for Columns {
    fn from(rows: Vec<Order>) -> Self {
        rows.iter().collect::<OrderColumns>().into()
    }
}

impl From<&[ObservedOrder]> for Columns {
    fn from(rows: &[ObservedOrder]) -> Self {
        Self::from(rows.iter().map(|row| &row.order).collect::<OrderColumns>())
            .with(
                "coin",
                text(
                    rows.iter()
                        .map(|row| row.coin.as_deref().unwrap_or_default()),
                ),
            )
            .with(
                "received_at",
                Cells::Time(
                    rows.iter()
                        .map(|row| row.received_at.unwrap_or(row.order.timestamp).0)
                        .collect(),
                ),
            )
    }
}

impl From<Vec<ChartRow>> for Columns {
    fn from(rows: Vec<ChartRow>) -> Self {
        Self::of(rows.len())
            .with(
                "hour",
                Cells::Time(rows.iter().map(|row| row.hour.0).collect()),
            )
            .with("side", sides(rows.iter().map(|row| row.side)))
            .with(
                "total_usd",
                Cells::Decimal(rows.iter().map(|row| row.total_usd).collect()),
            )
    }
}

impl From<&[Position]> for Columns {
    fn from(rows: &[Position]) -> Self {
        Self::of(rows.len())
            .with("symbol", text(rows.iter().map(|row| row.symbol.as_str())))
            .with("side", sides(rows.iter().map(|row| row.side)))
            .with(
                "leverage",
                Cells::Float(rows.iter().map(|row| row.leverage).collect()),
            )
            .with(
                "entry_price",
                Cells::Float(rows.iter().map(|row| row.entry_price).collect()),
            )
            .with(
                "liquidation_price",
                Cells::Float(rows.iter().map(|row| row.liquidation_price).collect()),
            )
            .with(
                "qty",
                Cells::Float(rows.iter().map(|row| row.qty).collect()),
            )
    }
}

impl From<Vec<VenueCoverage>> for Columns {
    fn from(rows: Vec<VenueCoverage>) -> Self {
        Self::of(rows.len())
            .with(
                "exchange",
                text(rows.iter().map(|row| row.exchange.as_str())),
            )
            .with_optional(
                "connected_share",
                Cells::Float(
                    rows.iter()
                        .map(|row| row.connected_share.unwrap_or(f64::NAN))
                        .collect(),
                ),
                rows.iter()
                    .map(|row| row.connected_share.is_some())
                    .collect(),
            )
            .with(
                "completeness",
                text(rows.iter().map(|row| row.completeness)),
            )
            .with_optional(
                "last_event",
                Cells::Time(
                    rows.iter()
                        .map(|row| row.last_event.map_or(0, |at| at.0))
                        .collect(),
                ),
                rows.iter().map(|row| row.last_event.is_some()).collect(),
            )
            .with(
                "gaps",
                Cells::Int(rows.iter().map(|row| count(row.gaps)).collect()),
            )
            .with(
                "cnt",
                Cells::Int(rows.iter().map(|row| count(row.cnt)).collect()),
            )
    }
}

impl From<&[Event]> for Columns {
    fn from(rows: &[Event]) -> Self {
        type Amount = fn(&Event) -> Option<Decimal>;
        type Time = fn(&Event) -> Option<Millis>;

        let amounts = |amount: Amount| {
            (
                Cells::Decimal(
                    rows.iter()
                        .map(|row| amount(row).unwrap_or_default())
                        .collect(),
                ),
                rows.iter().map(|row| amount(row).is_some()).collect(),
            )
        };
        let times = |time: Time| {
            (
                Cells::Time(
                    rows.iter()
                        .map(|row| time(row).unwrap_or_default().0)
                        .collect(),
                ),
                rows.iter().map(|row| time(row).is_some()).collect(),
            )
        };
        let (qty, has_qty) = amounts(|row| row.qty);
        let (value, has_value) = amounts(|row| row.value_usd);
        let (timestamp, has_timestamp) = times(|row| row.timestamp);
        let (received_at, has_received_at) = times(|row| row.received_at);
        Self::of(rows.len())
            .with("exchange", text(rows.iter().map(|row| row.exchange)))
            .with("symbol", text(rows.iter().map(|row| row.symbol.as_str())))
            .with("coin", text(rows.iter().map(|row| row.coin.as_str())))
            .with("side", sides(rows.iter().map(|row| row.side)))
            .with(
                "price",
                Cells::Decimal(rows.iter().map(|row| row.price).collect()),
            )
            .with(
                "price_kind",
                text(rows.iter().map(|row| row.price_kind.name())),
            )
            .with_optional("qty", qty, has_qty)
            .with_optional("value_usd", value, has_value)
            .with_optional("timestamp", timestamp, has_timestamp)
            .with_optional("received_at", received_at, has_received_at)
            .with(
                "native_id",
                text(rows.iter().map(|row| row.native_id.as_str())),
            )
            .with(
                "sampled",
                Cells::Bool(rows.iter().map(|row| row.sampled).collect()),
            )
            .with(
                "dedupe_key",
                text(rows.iter().map(|row| row.dedupe_key.as_str())),
            )
    }
}

/// The bars of one coin.
pub(super) fn bars(symbol: &str, rows: &[Bar]) -> Columns {
    let observed: Vec<ObservedBar> = rows
        .iter()
        .map(|bar| ObservedBar {
            symbol: symbol.to_owned(),
            timestamp: bar.open_time,
            interval: Some(bar.interval),
            open: bar.open,
            high: bar.high,
            low: bar.low,
            close: bar.close,
            volume: bar.volume,
        })
        .collect();
    observed_bars(&observed)
}

/// The bars of any coins.
pub(super) fn observed_bars(rows: &[ObservedBar]) -> Columns {
    Columns::of(rows.len())
        .with("symbol", text(rows.iter().map(|bar| bar.symbol.as_str())))
        .with(
            "timestamp",
            Cells::Time(rows.iter().map(|bar| bar.timestamp.0).collect()),
        )
        .with(
            "open",
            Cells::Float(rows.iter().map(|bar| bar.open).collect()),
        )
        .with(
            "high",
            Cells::Float(rows.iter().map(|bar| bar.high).collect()),
        )
        .with(
            "low",
            Cells::Float(rows.iter().map(|bar| bar.low).collect()),
        )
        .with(
            "close",
            Cells::Float(rows.iter().map(|bar| bar.close).collect()),
        )
        .with(
            "volume",
            Cells::Float(rows.iter().map(|bar| bar.volume).collect()),
        )
        .with(
            "interval",
            Cells::Int(
                rows.iter()
                    .map(|bar| bar.interval.unwrap_or_default())
                    .collect(),
            ),
        )
}

/// Readings of open interest; an exchange that is not named is absent.
pub(super) fn open_interest(rows: &[ObservedOpenInterest]) -> Columns {
    Columns::of(rows.len())
        .with("symbol", text(rows.iter().map(|row| row.symbol.as_str())))
        .with_optional(
            "exchange",
            text(
                rows.iter()
                    .map(|row| row.exchange.as_deref().unwrap_or_default()),
            ),
            rows.iter().map(|row| row.exchange.is_some()).collect(),
        )
        .with(
            "timestamp",
            Cells::Time(rows.iter().map(|row| row.timestamp.0).collect()),
        )
        .with(
            "open_interest",
            Cells::Float(rows.iter().map(|row| row.open_interest).collect()),
        )
}

impl From<Vec<MapRow>> for Columns {
    fn from(rows: Vec<MapRow>) -> Self {
        Self::of(rows.len())
            .with("kind", text(rows.iter().map(|row| row.kind.as_str())))
            .with("symbol", text(rows.iter().map(|row| row.symbol.as_str())))
            .with("params", text(rows.iter().map(|row| row.params.as_str())))
            .with(
                "timestamp",
                Cells::Time(rows.iter().map(|row| row.timestamp.0).collect()),
            )
            .with(
                "computed_at",
                Cells::Time(rows.iter().map(|row| row.computed_at.0).collect()),
            )
            .with("reply", text(rows.iter().map(|row| row.reply.as_str())))
            .with_optional(
                "explain",
                text(
                    rows.iter()
                        .map(|row| row.explain.as_deref().unwrap_or_default()),
                ),
                rows.iter().map(|row| row.explain.is_some()).collect(),
            )
    }
}

impl From<Vec<Gap>> for Columns {
    fn from(rows: Vec<Gap>) -> Self {
        Self::of(rows.len())
            .with(
                "exchange",
                text(rows.iter().map(|row| row.exchange.as_str())),
            )
            .with(
                "start",
                Cells::Time(rows.iter().map(|row| row.start.0).collect()),
            )
            .with(
                "end",
                Cells::Time(rows.iter().map(|row| row.end.0).collect()),
            )
            .with("reason", text(rows.iter().map(|row| row.reason.as_str())))
    }
}
