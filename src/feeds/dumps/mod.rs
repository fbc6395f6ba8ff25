//! Readers of historical files from exchanges, recording programs and users.
//!
//! [`DumpReader`] detects the [`Format`] from the content and the name of a file, and reads the file row by row. If the
//! format is ambiguous, the error says why. An invalid row is a [`RowError`] that names the column; no value is
//! guessed, and all other rows are read. Callers open the files.
//!
//! The module `content` detects the kind of content from the first bytes and returns the text. `syntax` reads delimited
//! text or JSON as a header and records of cells. `layouts` converts the columns of known programs to those of common
//! tables.

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
