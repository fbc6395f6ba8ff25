//! Readers of historical files from exchanges, recorders and users, one file per format.
//!
//! [`DumpReader`] detects the [`Format`] from name and first lines, or says why it is ambiguous, and reads row by row. An
//! invalid row is a [`RowError`] that names the column; nothing is guessed, and the other rows are read. Callers open the
//! files.

mod binance;
mod ccxt;
pub(super) mod cells;
pub(super) mod detection;
pub(super) mod file_name;
mod format;
mod hyperliquid;
pub(super) mod occurrence;
mod reader;
mod row;
mod table;
mod tardis;

pub use cells::RowError;
pub use detection::{TAKES_TOTALS, TOTALS};
pub use file_name::FileName;
pub use format::{Format, UnclearFile};
pub use reader::DumpReader;
pub use row::{DumpRow, RowBar, RowOrder, RowReading};
