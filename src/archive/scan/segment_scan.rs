//! Scan of order segments by column; decodes only needed columns and matching rows.

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ArrowPredicate, ArrowPredicateFn, RowFilter};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::ChunkReader;
use ::parquet::file::statistics::Statistics;
use ::parquet::schema::types::SchemaDescriptor;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;

use crate::archive::filter::Filter;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::{Fault, Row};
use crate::archive::segment::batch_columns::{amounts, names_of, times};
use crate::archive::segment::parquet::{SegmentError, check_rows, groups};
use crate::archive::segment::projection;
use crate::model::{FiledColumns, FiledOrders, FixedPoint, Millis, Numbered};

/// Passes the matching orders of a segment to `sink`, as columns.
///
/// `wanted` lists the optional columns.
pub(crate) fn show(
    file: impl ChunkReader + 'static,
    filter: &Filter,
    wanted: &FiledColumns,
    sink: &mut dyn FnMut(&FiledOrders<'_>),
) -> Result<(), SegmentError> {
    // Orders have neither a kind nor a version, so a filter on one of them matches no orders.
    if filter.kind.is_some() || filter.version.is_some() {
        return Ok(());
    }
    let reader = projection::open(file)?;
    check_rows(reader.metadata())?;
    let groups = groups::<OrderRow>(reader.metadata(), filter);
    let within: Vec<&RowGroupMetaData> = groups
        .iter()
        .filter_map(|group| reader.metadata().row_groups().get(*group))
        .collect();
    let conditions = conditions(filter, wanted, &within, reader.parquet_schema());
    let names = filter.all_names().into_iter();
    let names = names.filter_map(|(column, name)| Some((column, name?)));
    // Names are compared after decoding, which is faster than a Parquet row selection.
    let names: Vec<(&'static str, &str)> = names
        .filter(|(column, name)| !within.iter().all(|group| is_only(group, column, name)))
        .collect();
    let read = columns(wanted).chain(names.iter().map(|(column, _)| *column));
    let columns = ProjectionMask::columns(reader.parquet_schema(), read);
    let mut reader = reader
        .with_row_groups(groups)
        .with_projection(columns)
        .with_batch_size(OrderRow::GROUP);
    if !conditions.is_empty() {
        reader = reader.with_row_filter(RowFilter::new(conditions));
    }
    for batch in reader.build()? {
        let batch = batch?;
        let orders = orders(&batch, wanted).map_err(SegmentError::Column)?;
        match rows_of(&batch, &names).map_err(SegmentError::Column)? {
            None => sink(&orders),
            Some(rows) => show_some(&orders, &rows, sink),
        }
    }
    Ok(())
}

/// Columns to decode for matching rows.
fn columns(wanted: &FiledColumns) -> impl Iterator<Item = &'static str> {
    let named = [
        ("exchange", wanted.exchange),
        ("symbol", wanted.symbol),
        ("coin", wanted.coin),
        ("price", wanted.amounts),
        ("qty", wanted.amounts),
    ];
    let named = named
        .into_iter()
        .filter_map(|(name, is)| is.then_some(name));
    ["timestamp", "value_usd", "side"].into_iter().chain(named)
}

/// The conditions to evaluate for each row, fastest first.
///
/// A condition is left out if all rows meet it according to the statistics of the row groups.
fn conditions(
    filter: &Filter,
    wanted: &FiledColumns,
    within: &[&RowGroupMetaData],
    schema: &SchemaDescriptor,
) -> Vec<Box<dyn ArrowPredicate>> {
    let mut conditions: Vec<Box<dyn ArrowPredicate>> = Vec::new();
    let mut add = |names: &[&str], rows: RowPredicate| {
        let columns = ProjectionMask::columns(schema, names.iter().copied());
        conditions.push(Box::new(ArrowPredicateFn::new(columns, rows)));
    };
    let range = |column| ColumnRange::of(within, column);
    let happened = range("timestamp");
    let (start, end, as_of) = (filter.start, filter.end, filter.as_of);
    let whole = start.is_none_or(|start| happened.least >= start)
        && end.is_none_or(|end| happened.most < end);
    if !whole {
        let rows: RowPredicate = Box::new(move |batch| {
            let asked = |at: i64| {
                start.is_none_or(|start| at >= start.0) && end.is_none_or(|end| at < end.0)
            };
            let instants = instants(&batch, "timestamp")?;
            Ok(met(instants, |at| asked(*at)))
        });
        add(&["timestamp"], rows);
    }
    if let Some(as_of) = as_of {
        for column in ["timestamp", "received_at"] {
            if range(column).most > as_of {
                let rows: RowPredicate = Box::new(move |batch| {
                    let instants = instants(&batch, column)?;
                    Ok(met(instants, |at| *at <= as_of.0))
                });
                add(&[column], rows);
            }
        }
    }
    if let Some(least) = wanted.least {
        // The bound is rounded up to a representable amount, which does not change the matching rows. `None` means that
        // it exceeds every amount.
        let least = FixedPoint::ceil(least);
        let rows: RowPredicate = Box::new(move |batch| {
            let amounts = amounts(&batch, "value_usd").map_err(refused)?;
            Ok(met(amounts, |amount| {
                least.is_some_and(|least| *amount >= least.0)
            }))
        });
        add(&["value_usd"], rows);
    }
    conditions
}

/// Function that evaluates a condition for each row of a batch.
type RowPredicate = Box<dyn FnMut(RecordBatch) -> Result<BooleanArray, ArrowError> + Send>;

/// Smallest and largest instant of a column according to the statistics of the row groups.
#[derive(Clone, Copy)]
struct ColumnRange {
    least: Millis,
    most: Millis,
}

impl ColumnRange {
    fn of(within: &[&RowGroupMetaData], column: &str) -> Self {
        let unknown = (i64::MIN, i64::MAX);
        let ranges = within.iter().map(|group| match statistics(group, column) {
            Some(Statistics::Int64(range)) => (
                range.min_opt().map_or(unknown.0, |min| *min),
                range.max_opt().map_or(unknown.1, |max| *max),
            ),
            _ => unknown,
        });
        let (least, most) = ranges.fold((i64::MAX, i64::MIN), |(least, most), (min, max)| {
            (least.min(min), most.max(max))
        });
        Self {
            least: Millis(least),
            most: Millis(most),
        }
    }
}

fn statistics<'a>(group: &'a RowGroupMetaData, column: &str) -> Option<&'a Statistics> {
    let mut columns = group.columns().iter();
    let column = columns.find(|chunk| chunk.column_descr().name() == column)?;
    column.statistics()
}

/// Whether the statistics prove that every row of a row group has this name.
fn is_only(group: &RowGroupMetaData, column: &str, name: &str) -> bool {
    let Some(Statistics::ByteArray(range)) = statistics(group, column) else {
        return false;
    };
    let is = |end: Option<&::parquet::data_type::ByteArray>| {
        end.is_some_and(|end| end.data() == name.as_bytes())
    };
    // Truncated statistics are not exact, so they prove nothing.
    range.min_is_exact() && range.max_is_exact() && is(range.min_opt()) && is(range.max_opt())
}

fn refused((column, message): Fault) -> ArrowError {
    ArrowError::ParquetError(format!("column {column:?}: {message}"))
}

fn instants<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a [i64], ArrowError> {
    times(batch, name).map_err(refused)
}

/// Evaluates a condition for each cell.
fn met<T>(cells: &[T], condition: impl Fn(&T) -> bool) -> BooleanArray {
    BooleanArray::from(cells.iter().map(condition).collect::<Vec<bool>>())
}

/// Numbers of the rows that match all `names`; `None` if `names` is empty.
fn rows_of(
    batch: &RecordBatch,
    names: &[(&'static str, &str)],
) -> Result<Option<Vec<usize>>, Fault> {
    let mut rows: Option<Vec<usize>> = None;
    for (column, name) in names {
        let names = names_of(batch, column)?;
        let is: Vec<bool> = names.values.iter().map(|known| known == name).collect();
        let has = |row: &usize| {
            let number = names.numbers.get(*row).copied().map(usize::try_from);
            matches!(number, Some(Ok(place)) if is.get(place) == Some(&true))
        };
        rows = Some(match rows {
            None => (0..batch.num_rows()).filter(has).collect(),
            Some(rows) => rows.into_iter().filter(has).collect(),
        });
    }
    Ok(rows)
}

/// Passes the rows with the given numbers to `sink`.
fn show_some(orders: &FiledOrders<'_>, rows: &[usize], sink: &mut dyn FnMut(&FiledOrders<'_>)) {
    fn some<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
        rows.iter()
            .filter_map(|row| cells.get(*row).copied())
            .collect()
    }
    fn named<'a, T: Clone>(column: &Numbered<'_, T>, numbers: &'a [i32]) -> Numbered<'a, T> {
        Numbered {
            values: column.values.clone(),
            numbers,
        }
    }
    fn given<'a, 'b>(
        column: Option<&Numbered<'_, &'b str>>,
        numbers: Option<&'a Vec<i32>>,
    ) -> Option<Numbered<'a, &'b str>> {
        Some(named(column?, numbers?))
    }
    let names = [&orders.exchange, &orders.symbol, &orders.coin];
    let numbers = names.map(|column| column.as_ref().map(|column| some(column.numbers, rows)));
    let [exchange, symbol, coin] = &numbers;
    let sides = some(orders.side.numbers, rows);
    let [price, qty] = [orders.price, orders.qty].map(|cells| cells.map(|cells| some(cells, rows)));
    sink(&FiledOrders {
        timestamp: &some(orders.timestamp, rows),
        value_usd: &some(orders.value_usd, rows),
        price: price.as_deref(),
        qty: qty.as_deref(),
        side: named(&orders.side, &sides),
        exchange: given(orders.exchange.as_ref(), exchange.as_ref()),
        symbol: given(orders.symbol.as_ref(), symbol.as_ref()),
        coin: given(orders.coin.as_ref(), coin.as_ref()),
    });
}

/// Borrows the columns of a batch.
fn orders<'a>(batch: &'a RecordBatch, wanted: &FiledColumns) -> Result<FiledOrders<'a>, Fault> {
    let sides = names_of(batch, "side")?;
    let values: Result<Vec<_>, Fault> = sides
        .values
        .iter()
        .map(|name| projection::side_of(name).map_err(|message| ("side", message)))
        .collect();
    let named = |is: bool, name| is.then(|| names_of(batch, name)).transpose();
    let exact = |name| wanted.amounts.then(|| amounts(batch, name)).transpose();
    Ok(FiledOrders {
        timestamp: times(batch, "timestamp")?,
        value_usd: amounts(batch, "value_usd")?,
        price: exact("price")?,
        qty: exact("qty")?,
        side: Numbered {
            values: values?,
            numbers: sides.numbers,
        },
        exchange: named(wanted.exchange, "exchange")?,
        symbol: named(wanted.symbol, "symbol")?,
        coin: named(wanted.coin, "coin")?,
    })
}
