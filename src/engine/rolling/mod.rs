//! In-memory orders of the rolling windows, with running sums.
//!
//! A [`Ring`] stores orders in columns, sorted by event time. The ring of an archive contains the last 24 hours and
//! moves forward with time. Each window has a cursor. An order enters the sums of the window when it arrives, and
//! leaves them when the cursor passes it, so totals need no scan. An order that arrives late is inserted at its event
//! time. The ring of a table contains all orders of the table; its windows end where the time range of the table ends.
//!
//! Two more aggregates avoid scans: sums per trading pair and UTC hour, and upper bounds of the values in each block of
//! orders. Threads fill the parts ([`RingPart`]) of a large ring in parallel.

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
