//! Backfill: asks an exchange again for orders, bars and open interest that the archive lacks.

pub(super) mod history;
pub(super) mod queue;
pub(super) mod task;
