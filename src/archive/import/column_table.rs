//! The trait of tables that can be imported.

use arrow_array::ArrayRef;

use crate::archive::catalog::manifest::{Day, Partition};
use crate::archive::rows::row::{Fault, Row, check_name, check_time};
use crate::model::{Column, DecimalColumn, FixedPoint, Labels, Millis};

/// A table of one kind of rows, by columns.
pub(crate) trait ColumnTable {
    /// The kind of row.
    type Row: Row;

    /// Number of rows.
    fn len(&self) -> usize;
    /// The row of a number.
    fn row(&self, row: usize) -> Option<Self::Row>;
    /// Event time of a row.
    fn timestamp(&self, row: usize) -> Option<Millis>;
    /// When a row was received.
    fn received_at(&self, row: usize) -> Option<Millis>;
    /// Length of a row in milliseconds, or 0.
    fn interval(&self, _row: usize) -> i64 {
        0
    }
    /// Exchange of a row.
    fn exchange(&self, row: usize) -> Option<&str>;
    /// Coin of a row.
    fn coin(&self, row: usize) -> Option<&str>;
    /// Checks and ranks the names once, for the methods that take the index.
    fn names(&self) -> NameIndex;
    /// Whether a row can certainly be stored; [`Row::check`] decides about the others.
    fn is_valid(&self, names: &NameIndex, row: usize) -> bool;
    /// Sorts rows of one partition into the order of a segment.
    fn arrange(&self, names: &NameIndex, rows: &mut [usize]);
    /// Whether each of the arranged rows certainly has a key of its own.
    fn has_unique_keys(&self, rows: &[usize]) -> bool;
    /// The columns of a segment with these rows, in this order.
    fn arrays(&self, partition: Partition, rows: &[usize]) -> Result<Vec<ArrayRef>, Fault>;
}

/// The columns of a segment, each made by `array`.
pub(crate) fn segment_columns<R: Row>(
    array: impl Fn(&'static str) -> Result<ArrayRef, String>,
) -> Result<Vec<ArrayRef>, Fault> {
    let made =
        |column: &'static Column| array(column.name).map_err(|message| (column.name, message));
    R::filed().map(made).collect()
}

/// The partition of a row.
pub(crate) fn partition<T: ColumnTable>(table: &T, row: usize) -> Option<Partition> {
    Some(Partition {
        day: Day::of(table.timestamp(row)?),
        interval: table.interval(row),
    })
}

/// The names in some columns of a table: which are valid, and their order.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// For each column, whether each name is valid.
    valid: Vec<Vec<bool>>,
    /// For each column, the rank of each name.
    ranks: Vec<Vec<u32>>,
}

impl NameIndex {
    /// Indexes columns.
    pub(crate) fn of(columns: &[&Labels]) -> Self {
        let valid = columns.iter().map(|column| {
            let names = column.names().iter();
            names.map(|name| check_name("", name).is_ok()).collect()
        });
        Self {
            valid: valid.collect(),
            ranks: columns.iter().map(|column| ranks(column)).collect(),
        }
    }

    /// Whether the name of a row is valid; `column` is the place of `labels` among the indexed columns.
    pub(crate) fn is_valid(&self, column: usize, labels: &Labels, row: usize) -> bool {
        let code = labels.codes().get(row).copied();
        code.zip(self.valid.get(column))
            .and_then(|(code, valid)| valid.get(code as usize))
            .is_some_and(|valid| *valid)
    }

    /// The rank of a row's name among all names of its column.
    pub(crate) fn rank(&self, column: usize, labels: &Labels, row: usize) -> u32 {
        let code = labels.codes().get(row).copied();
        code.zip(self.ranks.get(column))
            .and_then(|(code, ranks)| ranks.get(code as usize).copied())
            .unwrap_or(u32::MAX)
    }
}

/// The rank of each name of a column.
fn ranks(column: &Labels) -> Vec<u32> {
    let names = column.names();
    let mut ordered: Vec<(&str, usize)> = names.iter().map(String::as_str).zip(0..).collect();
    ordered.sort_unstable();
    let mut ranks = vec![0; names.len()];
    for ((_, code), rank) in ordered.into_iter().zip(0..) {
        if let Some(place) = ranks.get_mut(code) {
            *place = rank;
        }
    }
    ranks
}

/// Whether a row may have an instant, `later` by some milliseconds.
pub(crate) fn is_time(times: &[Millis], row: usize, later: i64) -> bool {
    let at = times.get(row).map(|at| at.on(later));
    at.is_some_and(|at| check_time("timestamp", at).is_ok())
}

/// A short decimal in units of 10⁻¹⁸.
#[inline]
pub(crate) fn attos(column: &DecimalColumn, row: usize) -> Option<i128> {
    FixedPoint::of_short(column.short(row)?).map(|value| value.0)
}

/// Place of a row of a coin and an exchange in a segment; the first two indexed columns are the exchange and the coin.
pub(crate) fn place(
    names: &NameIndex,
    (exchange, coin): (&Labels, &Labels),
    timestamp: &[Millis],
    row: usize,
) -> (u32, u32, Option<Millis>) {
    (
        names.rank(1, coin, row),
        names.rank(0, exchange, row),
        timestamp.get(row).copied(),
    )
}

/// Whether no two neighbours are of the same coin, exchange and time.
pub(crate) fn are_distinct(
    (exchange, coin): (&Labels, &Labels),
    timestamp: &[Millis],
    rows: &[usize],
) -> bool {
    let key = |row: &usize| {
        (
            coin.codes().get(*row),
            exchange.codes().get(*row),
            timestamp.get(*row),
        )
    };
    rows.is_sorted_by(|one, other| key(one) != key(other))
}

/// Copies the cells of rows, in this order.
pub(crate) fn taken<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
    let cells = rows.iter().filter_map(|row| cells.get(*row).copied());
    cells.collect()
}

/// Maps each distinct name of a column; `None` if a code has no name.
#[must_use]
pub fn spelled(given: &Labels, spell: impl Fn(&str) -> String) -> Option<Labels> {
    let names: Vec<String> = given.names().iter().map(|name| spell(name)).collect();
    Labels::from_parts(given.codes(), &names)
}
