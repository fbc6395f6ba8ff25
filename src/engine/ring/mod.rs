//! Orders in memory: time-ordered columns with running sums for every window of the last 24 hours.
//!
//! A [`Ring`] of an archive holds the last day and moves on with time. Four cursors walk it, one for each window. An
//! order enters the sums of its exchange and coin when it arrives, and leaves those of a window when the window's cursor
//! passes it, so a total is read off and never counted again. An order that arrives late lands where it belongs in time.
//! The ring of a table holds all of its orders, and stands where the table's time ends.
//!
//! Two things are kept up beside the sums, so that no question looks at every order: what each pair had in each hour,
//! and a bound of the amounts of every block of orders. A ring of many orders is put together of parts that are filled
//! side by side ([`RingPart`]).

mod columns;
mod decimals;
mod hours;
mod names;
mod part;
mod peaks;
mod rolling;
mod spots;
mod sums;

pub(super) use names::SumName;
pub use part::RingPart;
pub use rolling::{Ring, RingFault};
pub(super) use sums::Sums;
