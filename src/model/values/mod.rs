//! Exact decimals, exact sums and notional checks.

pub(super) mod decimal_column;
pub(super) mod exact_sum;
pub(super) mod fixed_point;
pub(super) mod notional;
pub(super) mod shortest;
