//! Backfill: requests orders, bars and open interest that the archive lacks.
//!
//! `missing` finds the gaps of the archive, `requests` takes new ones from the connections, and `queue` orders them.
//! `backfill` runs them; each attempt is a `pass`. `poll` serves exchanges without connections, and `history` requests
//! bars and open interest.

pub(super) mod backfill;
pub(super) mod history;
pub(super) mod missing;
pub(super) mod pass;
pub(super) mod poll;
pub(super) mod queue;
pub(super) mod requests;
