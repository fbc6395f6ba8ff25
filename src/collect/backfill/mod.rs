//! Backfill: asks an exchange again for orders, bars and open interest that the archive lacks.

pub(super) mod backfill;
pub(super) mod history;
pub(super) mod missing;
pub(super) mod pass;
pub(super) mod poll;
pub(super) mod queue;
pub(super) mod requests;
