//! Typed columns of each kind of table.
//!
//! If a cell cannot be converted to the type of its column, its row is faulty. Rows without a fault are read.

mod column_reader;
mod consistency;
mod kinds;
mod positions;
mod stated;
mod times;

pub(crate) use column_reader::exact_cell;
pub(crate) use kinds::{
    BarColumns, Defaults, InterestColumns, NOT_STATED, ReadRows, SideOf, TotalColumns,
    UnvaluedOrders, append_orders, read_bars, read_contract_sizes, read_interest, read_orders,
    read_rates, read_totals, take_orders,
};
pub(crate) use positions::read_positions;
pub(crate) use stated::StatedRow;
