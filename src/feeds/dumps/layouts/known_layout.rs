//! Conversion of a known program's columns to those of a common table.

use csv::ByteRecord;

use crate::feeds::dumps::cells::{DumpLine, RowError};
use crate::feeds::dumps::format::Format;

/// Converts a line of the file to the cells of a table row.
type Rewrite = Box<dyn Fn(DumpLine<'_>) -> Result<Vec<String>, RowError>>;

/// The column layout of the files of a known program.
pub(crate) struct KnownLayout {
    /// Description of the program's files for messages.
    pub(crate) writer: &'static str,
    pub(crate) format: Format,
    /// Column names of the table to which lines are converted.
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

    /// Converts a record of the file to a table row.
    pub(crate) fn row(&self, record: &ByteRecord) -> Result<ByteRecord, RowError> {
        (self.rewrite)(DumpLine(record)).map(ByteRecord::from)
    }

    /// Converts rows of the file to table rows; rows that cannot be converted are skipped.
    pub(crate) fn rows(&self, rows: &[Vec<String>]) -> Vec<Vec<String>> {
        let read =
            |row: &Vec<String>| (self.rewrite)(DumpLine(&ByteRecord::from(row.clone()))).ok();
        rows.iter().filter_map(read).collect()
    }
}
