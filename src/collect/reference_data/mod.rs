//! Reference data of an exchange: its markets, their cache on disk, and the prices that orders are compared with.

pub(super) mod instrument_cache;
pub(super) mod markets;
pub(super) mod reference_price;
