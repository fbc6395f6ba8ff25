//! Intake: turns frames and reply bodies into archive rows.
//!
//! `intake` shows the steps in order: `decode`, the removal of duplicates, the check of each order (`order_check`,
//! `unchecked_orders`), and the delivery. Rows without a contract size wait in `pending_rows`; `in_flight` tracks rows
//! that the archive has not taken yet. `rejections` are counted and written to the dead-letter file. `coverage_log`
//! records gaps and `daily_counts`, and `requests` passes new gaps to the backfill. `raw_frames` records the frames
//! themselves.

pub(super) mod coverage_log;
pub(super) mod daily_counts;
pub(super) mod decode;
pub(super) mod in_flight;
pub(super) mod intake;
pub(super) mod order_check;
pub(super) mod pending_rows;
pub(super) mod raw_frames;
pub(super) mod rejections;
pub(super) mod requests;
pub(super) mod unchecked_orders;
