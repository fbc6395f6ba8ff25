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

pub(super) mod block_bounds;
pub(super) mod decimal_queue;
pub(super) mod gather;
pub(super) mod hourly_sums;
pub(super) mod listing_names;
pub(super) mod ring;
pub(super) mod ring_columns;
pub(super) mod ring_part;
pub(super) mod window_sums;

pub(crate) use crate::engine::rolling::listing_names::SumName;
pub use crate::engine::rolling::ring::{Ring, RingFault};
pub use crate::engine::rolling::ring_part::RingPart;
pub(crate) use crate::engine::rolling::window_sums::Sums;
