//! Reference data: the markets of an exchange, their refresh, and a cache on disk.

pub(super) mod instrument_cache;
pub(super) mod markets;
pub(super) mod refresh;
