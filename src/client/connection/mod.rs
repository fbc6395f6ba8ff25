//! Connections and their pool, which belongs to one process.

pub(super) mod connections;
pub(super) mod pace;
pub(super) mod pool;
