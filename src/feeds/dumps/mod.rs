//! Files of the past, as exchanges, recorders and people publish them: bytes to rows, one file per format.
//!
//! [`Rows`] tells by name and first lines what a file is ([`Format`]), or says why that is not clear, and reads it row by row.
//! A row that is not what its format says is a [`Flaw`] that names the column; nothing is guessed, and the other rows stand.
//! Where bytes come from is others' business.

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
