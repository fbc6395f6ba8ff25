//! Connections and their pool, which belongs to one process.

pub(super) mod connections;
pub(super) mod minute_limit;
pub(super) mod pool;
