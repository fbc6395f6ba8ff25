//! Readers of historical files from exchanges, recorders and users, one file per format.
//!
//! [`Rows`] detects the [`Format`] from name and first lines, or says why it is ambiguous, and reads row by row. An
//! invalid row is a [`Flaw`] that names the column; nothing is guessed, and the other rows are read. Callers open the
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

pub use cells::Flaw;
pub use detection::{TAKES_TOTALS, TOTALS};
pub use file_name::Name;
pub use format::{Format, Unclear};
pub use reader::Rows;
pub use row::{Row, RowBar, RowOrder, RowReading};
