//! Orders of the rolling windows in memory, with running sums.
//!
//! A [`Ring`] stores orders in time-ordered columns. The ring of an archive holds the last 24 hours and moves with
//! time. Each window has a cursor: an order enters the sums when it arrives and leaves them when the cursor passes it,
//! so totals need no scan. Late orders are sorted in by event time. The ring of a table holds all of its orders and
//! stands at the end of its time range.
//!
//! Two more aggregates avoid scans: sums per pair and UTC hour, and upper bounds per block of orders. A large ring is
//! built from parts that threads fill in parallel ([`RingPart`]).

pub(super) mod block_bounds;
pub(super) mod decimal_queue;
pub(super) mod gather;
pub(super) mod hourly_sums;
pub(super) mod listing_names;
pub(super) mod ring;
pub(super) mod ring_columns;
pub(super) mod ring_part;
pub(super) mod window_sums;

pub(super) use listing_names::SumKey;
pub use ring::{Ring, RingFault};
pub use ring_part::RingPart;
pub(super) use window_sums::SideSums;
