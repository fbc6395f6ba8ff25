//! Files of the past, as exchanges, recorders and people publish them: bytes to rows, one file per format.
//!
//! [`Rows`] tells by name and first lines what a file is ([`Format`]), or says why that is not clear, and reads it row by row.
//! A row that is not what its format says is a [`Flaw`] that names the column; nothing is guessed, and the other rows stand.
//! Where bytes come from is others' business.

mod binance;
mod ccxt;
mod format;
mod hyperliquid;
mod line;
mod name;
mod reader;
mod row;
mod seen;
mod signs;
mod table;
mod tardis;

pub use format::{Format, Unclear};
pub use line::Flaw;
pub use name::Name;
pub use reader::Rows;
pub use row::{Row, RowBar, RowOrder, RowReading};
pub use signs::{TAKES_TOTALS, TOTALS};
