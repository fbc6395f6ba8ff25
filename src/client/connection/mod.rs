//! Connections and their pool, which belongs to one process.

pub(super) mod connections;
pub(super) mod minute_limit;
pub(super) mod pool;
pub(super) mod retry_quota;
pub(super) mod spare_buffers;
