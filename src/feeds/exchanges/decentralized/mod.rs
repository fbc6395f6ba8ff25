//! Decoders of decentralized exchanges.

pub(in crate::feeds) mod aster;
pub(in crate::feeds) mod dydx;
pub(in crate::feeds) mod extended;
pub mod hyperliquid;
pub(in crate::feeds) mod lighter;
pub(in crate::feeds) mod lighter_robinhood;
pub(in crate::feeds) mod orderly;
pub(in crate::feeds) mod pacifica;
