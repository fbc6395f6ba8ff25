//! One decoder per exchange.
//!
//! The docs of each file state channel, side convention, units, backfill and source page. The file then defines
//! limits, the `VENUE` value, market names, the decoder, control messages, listings and backfill, in this order.

pub(super) mod centralized;
pub(super) mod decentralized;
