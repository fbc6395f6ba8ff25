//! Liquidation orders: single rows, grouped rows, columns and batches.

pub(super) mod grouped_order;
pub(super) mod order;
pub(super) mod order_batch;
pub(super) mod order_brief;
pub(super) mod order_columns;
