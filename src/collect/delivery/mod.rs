//! Delivery: deduplicates events, and hands rows to the archive.
//!
//! `dedupe` finds duplicates by `dedupe_keys` and `recent_keys`. `delivery` waits for the archive's write queue and
//! counts the rows that are durable.

pub(super) mod dedupe;
pub(super) mod dedupe_keys;
pub(super) mod delivery;
pub(super) mod recent_keys;
