//! Rows of a file as columns of cells.

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use std::sync::Arc;

use crate::feeds::dumps::row_error::RowError;

/// Some rows of a file, as columns.
#[derive(Debug, Default)]
pub(crate) struct FileBatch {
    /// The columns that were asked for.
    pub(crate) columns: Vec<ArrayRef>,
    /// The line of each row, or its number; see [`RowNumbers`](super::RowNumbers).
    pub(crate) lines: Vec<u64>,
    /// The lines that are no rows, with their errors.
    pub(crate) faults: Vec<(u64, RowError)>,
}

/// Collects rows of text into columns.
pub(super) struct BatchBuilder {
    columns: Vec<StringBuilder>,
    batch: FileBatch,
}

impl BatchBuilder {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns: (0..columns).map(|_| StringBuilder::new()).collect(),
            batch: FileBatch::default(),
        }
    }

    /// Number of lines so far.
    pub(super) fn len(&self) -> usize {
        self.batch.lines.len() + self.batch.faults.len()
    }

    /// Adds a row; a blank cell is a missing one.
    pub(super) fn push<'c>(&mut self, line: u64, cells: impl Iterator<Item = &'c str>) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.append_value(cell);
        }
        self.batch.lines.push(line);
    }

    pub(super) fn fault(&mut self, line: u64, fault: RowError) {
        self.batch.faults.push((line, fault));
    }

    pub(super) fn end(mut self) -> FileBatch {
        let columns = self.columns.iter_mut();
        self.batch.columns = columns
            .map(|column| Arc::new(column.finish()) as ArrayRef)
            .collect();
        self.batch
    }
}
