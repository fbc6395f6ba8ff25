//! One door for tables: rows from any source become typed columns, and one set of rules judges them.
//!
//! Tables of a caller, CSV, JSON and Parquet files, and replies of a service take the same way:
//!
//! - `column_names`: the accepted names of each column;
//! - `raw_table`: named columns of `cells` as they came;
//! - `reading`: typed columns; a cell that its column cannot hold is a fault of its row;
//! - `rules`: what a row may be: its contract, exchange, time, amounts and neighbours.
//!
//! A fault names row and column. A market refuses a table with a fault; an archive stores the other rows and counts the
//! faults by their reason.

mod amounts;
mod archive_tables;
mod attribution;
mod cells;
pub(crate) mod column_names;
mod market_tables;
mod observed;
mod quote_rates;
mod raw_table;
mod reading;
mod row_fault;
mod rules;

pub(crate) use amounts::AmountColumn;
pub(crate) use archive_tables::{bar_table, interest_table, order_table};
pub use attribution::{ExchangeAttribution, UnknownExchange};
pub(crate) use cells::{CellSource, InputCell, InputCells, WIDE, settle};
pub(crate) use column_names::column_of;
pub(crate) use market_tables::{
    MarketTableFault, ObservedMarket, RawMarketTables, TableOptions, observe,
};
pub(crate) use observed::{observed_bars, observed_interest, observed_orders};
pub use quote_rates::QuoteRates;
pub(crate) use raw_table::{ColumnFault, RawTable, TableKind};
pub(crate) use reading::{
    BarColumns, Defaults, InterestColumns, ReadRows, append_orders, exact_cell, read_bars,
    read_interest, read_orders, read_positions, read_rates, read_times, text_cell,
};
pub use row_fault::RowFault;
pub(crate) use row_fault::first;
pub(crate) use rules::{ContractBook, HOW, Judge, Judged, Spacing, Spacings, other_length};
