//! The rows of a source, whatever its content.

use std::io::Read;

use crate::collect::import::column_rows::ColumnRows;
use crate::feeds::dumps::{FileBatch, FileHead, TextRows};

/// The rows of a source, in batches of columns.
pub(crate) enum FileRows<'a> {
    Text(TextRows<'a>),
    Columns(Box<ColumnRows>),
}

impl<'a> FileRows<'a> {
    /// Opens text; `bytes` are uncompressed.
    pub(crate) fn text(bytes: Box<dyn Read + 'a>) -> Result<Self, String> {
        TextRows::open(bytes).map(Self::Text)
    }

    pub(crate) fn head(&self) -> &FileHead {
        match self {
            Self::Text(rows) => &rows.head,
            Self::Columns(rows) => &rows.head,
        }
    }

    /// Whether each row is one line, so that an incomplete last line may mean that the file is truncated.
    pub(crate) fn is_by_lines(&self) -> bool {
        match self {
            Self::Text(rows) => rows.is_by_lines(),
            Self::Columns(_) => false,
        }
    }

    /// Reads the `wanted` columns of up to `most` rows; `None` at the end.
    pub(crate) fn next(&mut self, wanted: &[usize], most: usize) -> Option<FileBatch> {
        match self {
            Self::Text(rows) => rows.next(wanted, most),
            Self::Columns(rows) => rows.next(wanted, most),
        }
    }
}
