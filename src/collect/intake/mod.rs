//! Intake: turns frames and reply bodies into archive rows.
//!
//! `intake` shows the steps in order: `decode`, `dedupe` (by `dedupe_keys` and `recent_keys`), the check in
//! [`quality`](super::quality), and `delivery`. Rows without a contract size wait in `pending_rows`; `in_flight` tracks
//! rows that the archive has not taken yet. `coverage_log` records gaps and counts, and `raw_frames` records the frames
//! themselves.

pub(super) mod coverage_log;
pub(super) mod decode;
pub(super) mod dedupe;
pub(super) mod dedupe_keys;
pub(super) mod delivery;
pub(super) mod in_flight;
pub(super) mod intake;
pub(super) mod pending_rows;
pub(super) mod raw_frames;
pub(super) mod recent_keys;
