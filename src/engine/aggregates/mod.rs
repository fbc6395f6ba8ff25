//! Exact aggregates of orders: totals, rankings and sums over time.

pub(super) mod arrived_orders;
pub(super) mod largest_orders;
pub(super) mod period_totals;
pub(super) mod rankings;
pub(super) mod row_groups;
pub(super) mod timeline;
