//! Intake: turns received frames into archive rows.
//!
//! A frame is decoded, its events are deduplicated and checked, rows without a contract size or price wait, and the result
//! is delivered to the archive.

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
