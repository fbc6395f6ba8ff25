//! Readers of historical files from exchanges, recorders and users, one file per format.
//!
//! [`DumpReader`] detects the [`Format`] from content and name, or says why it is ambiguous, and reads row by row. An
//! invalid row is a [`RowError`] that names the column; nothing is guessed, and the other rows are read. Callers open the
//! files.
//!
//! `content` says what a file is by its first bytes and gives its text. `syntax` gives a header and records of cells, from
//! separated text or JSON. `layouts` rewrites the columns of known programs to those of tables.

mod binance;
pub(super) mod cells;
mod content;
pub(super) mod detection;
pub(super) mod file_name;
mod format;
mod hyperliquid;
mod layouts;
pub(super) mod occurrence;
mod reader;
mod row;
mod syntax;
mod table;
mod tardis;

pub use cells::RowError;
pub use content::FileContent;
pub(crate) use content::unpacked;
pub use detection::{TAKES_TOTALS, TOTALS};
pub use file_name::FileName;
pub use format::{Format, UnclearFile};
pub use reader::DumpReader;
pub use row::{DumpRow, RowBar, RowOrder, RowReading};
