//! One decoder per exchange.
//!
//! Each file states its channel, side convention, units and source page, and ends in one `VENUE` value.

pub(super) mod centralized;
pub(super) mod decentralized;
