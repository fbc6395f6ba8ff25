//! The trait of tables that can be imported.

use arrow_array::ArrayRef;

use crate::archive::catalog::manifest::{Day, Partition};
use crate::archive::rows::row::{Fault, Row, check_name, check_time};
use crate::model::{Column, DecimalColumn, FixedPoint, Labels, Millis};

/// A table to import: rows of one kind, stored by column.
pub(crate) trait ColumnTable {
    /// Row kind of the table.
    type Row: Row;

    /// Number of rows.
    fn len(&self) -> usize;
    /// Returns the row with a number, counted from 0.
    fn row(&self, row: usize) -> Option<Self::Row>;
    /// Event time of a row.
    fn timestamp(&self, row: usize) -> Option<Millis>;
    /// When a row was received.
    fn received_at(&self, row: usize) -> Option<Millis>;
    /// Length of a bar in milliseconds; 0 for rows without a length.
    fn interval(&self, _row: usize) -> i64 {
        0
    }
    /// Exchange of a row.
    fn exchange(&self, row: usize) -> Option<&str>;
    /// Coin of a row.
    fn coin(&self, row: usize) -> Option<&str>;
    /// Checks and ranks the names of exchanges and coins, once for all rows.
    fn names(&self) -> NameIndex;
    /// Whether a row can certainly be stored.
    ///
    /// If this returns false, [`Row::check`] must decide.
    fn is_valid(&self, names: &NameIndex, row: usize) -> bool;
    /// Whether rows with the key of this row certainly have its time.
    fn has_time_in_key(&self, _row: usize) -> bool {
        true
    }
    /// Sorts row numbers of one partition into the order of a segment.
    fn arrange(&self, names: &NameIndex, rows: &mut [usize]);
    /// Whether all sorted rows certainly have different keys.
    fn has_unique_keys(&self, rows: &[usize]) -> bool;
    /// Converts these rows, in this order, to the columns of a segment.
    fn arrays(&self, partition: Partition, rows: &[usize]) -> Result<Vec<ArrayRef>, Fault>;
}

/// Creates the columns of a segment by calling `array` with each column name.
pub(crate) fn segment_columns<R: Row>(
    array: impl Fn(&'static str) -> Result<ArrayRef, String>,
) -> Result<Vec<ArrayRef>, Fault> {
    let made =
        |column: &'static Column| array(column.name).map_err(|message| (column.name, message));
    R::filed().map(made).collect()
}

/// Returns the partition of a row.
pub(crate) fn partition<T: ColumnTable>(table: &T, row: usize) -> Option<Partition> {
    Some(Partition {
        day: Day::of(table.timestamp(row)?),
        interval: table.interval(row),
    })
}

/// The validity and the sort order of the names in some columns of a table.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// For each column, whether the name of each code is valid.
    valid: Vec<Vec<bool>>,
    /// For each column, the rank of the name of each code in sorted order.
    ranks: Vec<Vec<u32>>,
}

impl NameIndex {
    /// Creates the index of `columns`.
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

    /// Whether the name of a row is valid.
    ///
    /// `column` is the position of `labels` among the indexed columns.
    pub(crate) fn is_valid(&self, column: usize, labels: &Labels, row: usize) -> bool {
        let code = labels.codes().get(row).copied();
        code.zip(self.valid.get(column))
            .and_then(|(code, valid)| valid.get(code as usize))
            .is_some_and(|valid| *valid)
    }

    /// The rank of a row's name among the sorted names of its column.
    pub(crate) fn rank(&self, column: usize, labels: &Labels, row: usize) -> u32 {
        let code = labels.codes().get(row).copied();
        code.zip(self.ranks.get(column))
            .and_then(|(code, ranks)| ranks.get(code as usize).copied())
            .unwrap_or(u32::MAX)
    }
}

/// The rank of each name of a column in sorted order.
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

/// Whether the instant of a row plus `later` milliseconds is valid.
pub(crate) fn is_time(times: &[Millis], row: usize, later: i64) -> bool {
    let at = times.get(row).map(|at| at.on(later));
    at.is_some_and(|at| check_time("timestamp", at).is_ok())
}

/// A decimal in units of 10⁻¹⁸.
///
/// `None` if it has too many digits for the fast conversion.
#[inline]
pub(crate) fn attos(column: &DecimalColumn, row: usize) -> Option<i128> {
    FixedPoint::of_short(column.short(row)?).map(|value| value.0)
}

/// Sort key of a row in a segment.
///
/// It consists of the rank of the coin, the rank of the exchange, and the time. The first two columns of `names` must
/// be the exchange and the coin.
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

/// Whether no two adjacent rows have the same coin, exchange and time.
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

/// Copies the cells of the row numbers `rows`, in this order.
pub(crate) fn taken<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
    let cells = rows.iter().filter_map(|row| cells.get(*row).copied());
    cells.collect()
}

/// Applies `spell` to each distinct name of a column.
///
/// Returns `None` if a code has no name.
#[must_use]
pub fn spelled(given: &Labels, spell: impl Fn(&str) -> String) -> Option<Labels> {
    let names: Vec<String> = given.names().iter().map(|name| spell(name)).collect();
    Labels::from_parts(given.codes(), &names)
}
