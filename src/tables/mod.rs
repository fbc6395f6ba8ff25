//! Input tables: rows from any source become typed columns, which one set of rules checks.
//!
//! Tables of a caller, CSV, JSON and Parquet files, and replies of a service pass through the same modules:
//!
//! - `column_names`: the accepted names of each column;
//! - `raw_table`: named columns of unconverted `cells`;
//! - `reading`: typed columns; a cell that cannot be converted to the type of its column is a fault of its row;
//! - `amount_unit`: what an amount counts (coins, contracts, quote currency, USD), and the sizes of contracts;
//! - `rules`: checks of the contract, exchange, time and amounts of each row, and of repeated rows.
//!
//! A fault names its row and column. A `Market` object refuses a table with a fault. An archive stores the rows without
//! faults, and counts the faults by reason.

mod amount_unit;
mod amounts;
mod archive_tables;
mod attribution;
mod cells;
pub(crate) mod column_names;
mod market_tables;
mod observed;
mod price_types;
mod quote_rates;
mod raw_table;
mod reading;
mod row_fault;
mod rules;
mod spreadsheet_text;

pub use amount_unit::ContractSizes;
pub(crate) use amount_unit::{AmountUnit, Counted, UNKNOWN_SIZE};
pub(crate) use amounts::{AmountColumn, decimal};
pub(crate) use archive_tables::{bar_table, interest_table, order_table, total_rows};
pub use attribution::{ExchangeAttribution, UnknownExchange};
pub(crate) use cells::{CellSource, InputCell, InputCells, WIDE, settle};
pub(crate) use column_names::column_of;
pub(crate) use market_tables::{
    MarketTableFault, ObservedMarket, RawMarketTables, TableOptions, observe,
};
pub(crate) use observed::{observed_bars, observed_interest, observed_orders};
pub(crate) use price_types::untraded;
pub use quote_rates::QuoteRates;
pub(crate) use raw_table::{ColumnFault, RawTable, TableKind};
pub(crate) use reading::{
    BarColumns, Defaults, InterestColumns, ReadRows, SideOf, TotalColumns, UnvaluedOrders,
    append_orders, exact_cell, read_bars, read_contract_sizes, read_interest, read_orders,
    read_positions, read_rates, read_totals,
};
pub use row_fault::RowFault;
pub(crate) use row_fault::first;
pub(crate) use rules::{AHEAD, ContractBook, HOW, Judge, Judged, Spacings, TOO_LATE, other_length};
pub(crate) use spreadsheet_text::plain_text;
