//! Replies as Python values: dict rows, numpy arrays, Arrow tables.

pub(super) mod arrow;
pub(super) mod arrow_validation;
pub(super) mod batches;
pub(super) mod columns;
pub(super) mod decimal;
pub(super) mod deferred_drop;
pub(super) mod events;
pub(super) mod features;
pub(super) mod lazy_rows;
pub(super) mod map_arrays;
pub(super) mod provenance;
pub(super) mod reply_object;
pub(super) mod rows;
