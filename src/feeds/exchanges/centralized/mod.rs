//! Decoders of centralized exchanges.

pub(in crate::feeds) mod binance;
pub(in crate::feeds) mod bitfinex;
pub(in crate::feeds) mod bitget;
pub(in crate::feeds) mod bitmex;
pub(in crate::feeds) mod bybit;
pub(in crate::feeds) mod coinex;
pub(in crate::feeds) mod deribit;
pub(in crate::feeds) mod gate;
pub(in crate::feeds) mod gate_stats;
pub(in crate::feeds) mod htx;
pub(in crate::feeds) mod kraken;
pub(in crate::feeds) mod okx;
