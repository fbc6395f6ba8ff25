//! An import table that stores its rows as single values instead of columns.

use std::cmp::Ordering;

use arrow_array::ArrayRef;

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::column_table::{ColumnTable, NameIndex};
use crate::archive::rows::row::{Fault, Row};
use crate::archive::segment::arrow_columns;
use crate::model::Millis;

/// An import table that stores its rows as single values.
pub(crate) struct RowTable<R>(pub(crate) Vec<R>);

impl<R: Row> ColumnTable for RowTable<R> {
    type Row = R;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn row(&self, row: usize) -> Option<R> {
        self.0.get(row).cloned()
    }

    fn timestamp(&self, row: usize) -> Option<Millis> {
        self.0.get(row).map(Row::timestamp)
    }

    fn received_at(&self, row: usize) -> Option<Millis> {
        self.0.get(row).map(Row::received_at)
    }

    fn interval(&self, row: usize) -> i64 {
        self.0.get(row).map_or(0, Row::interval)
    }

    fn exchange(&self, row: usize) -> Option<&str> {
        self.0.get(row)?.exchange()
    }

    fn coin(&self, row: usize) -> Option<&str> {
        self.0.get(row).map(Row::coin)
    }

    fn names(&self) -> NameIndex {
        NameIndex::default()
    }

    fn is_valid(&self, _: &NameIndex, _: usize) -> bool {
        false
    }

    fn has_time_in_key(&self, _: usize) -> bool {
        false
    }

    fn arrange(&self, _: &NameIndex, rows: &mut [usize]) {
        let row = |place: &usize| self.0.get(*place);
        rows.sort_by(|one, other| match (row(one), row(other)) {
            (Some(one), Some(other)) => one.file_order(other),
            _ => Ordering::Equal,
        });
    }

    fn has_unique_keys(&self, _: &[usize]) -> bool {
        false
    }

    fn arrays(&self, _: Partition, rows: &[usize]) -> Result<Vec<ArrayRef>, Fault> {
        arrow_columns::encode(rows.iter().filter_map(|row| self.0.get(*row)))
    }
}
