//! Backfill: requests orders, bars and open interest that the archive lacks.
//!
//! `missing` finds the gaps of the archive, and `queue` orders them with the new gaps of the connections. `backfill`
//! requests the gaps; each attempt is a `pass`. `poll` polls exchanges without WebSocket feeds, and `history` requests
//! bars and open interest.

pub(super) mod backfill;
pub(super) mod history;
pub(super) mod missing;
pub(super) mod pass;
pub(super) mod poll;
pub(super) mod queue;
