//! Maintenance margin, brackets and liquidation prices.

pub(super) mod brackets;
pub(super) mod liquidation_price;
