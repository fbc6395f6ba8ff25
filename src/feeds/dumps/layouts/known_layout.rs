//! One layout of columns, and its way to the columns of a table.

use csv::ByteRecord;

use crate::feeds::dumps::cells::{DumpLine, RowError};
use crate::feeds::dumps::format::Format;

/// The cells of a table's row, from a line.
type Rewrite = Box<dyn Fn(DumpLine<'_>) -> Result<Vec<String>, RowError>>;

/// Columns of a known program.
pub(crate) struct KnownLayout {
    /// The program, for messages.
    pub(crate) writer: &'static str,
    pub(crate) format: Format,
    /// The columns of the table.
    pub(crate) header: Vec<String>,
    rewrite: Rewrite,
}

impl KnownLayout {
    pub(super) fn new(
        writer: &'static str,
        format: Format,
        header: &[&str],
        rewrite: impl Fn(DumpLine<'_>) -> Result<Vec<String>, RowError> + 'static,
    ) -> Self {
        Self {
            writer,
            format,
            header: header.iter().map(|name| (*name).to_owned()).collect(),
            rewrite: Box::new(rewrite),
        }
    }

    /// The row of the table.
    pub(crate) fn row(&self, record: &ByteRecord) -> Result<ByteRecord, RowError> {
        (self.rewrite)(DumpLine(record)).map(ByteRecord::from)
    }

    /// The rows of the table that can be rewritten.
    pub(crate) fn rows(&self, rows: &[Vec<String>]) -> Vec<Vec<String>> {
        let read =
            |row: &Vec<String>| (self.rewrite)(DumpLine(&ByteRecord::from(row.clone()))).ok();
        rows.iter().filter_map(read).collect()
    }
}
