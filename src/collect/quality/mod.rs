//! Quality checks of the data that an exchange sends.
//!
//! `order_check` compares orders with the prices in `reference_price`. `unit_check` tests whether orders are decoded in
//! the right unit. `venue_totals` compares stored orders with the totals that the exchange publishes. `daily_counts`
//! and `unchecked_orders` count the results.

pub(super) mod daily_counts;
pub(super) mod order_check;
pub(super) mod ratio;
pub(super) mod reference_price;
pub(super) mod unchecked_orders;
pub(super) mod unit_check;
pub(super) mod venue_totals;
