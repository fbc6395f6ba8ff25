//! Quality checks of what an exchange sends.
//!
//! `order_check` compares orders with `reference_price`, `unit_check` tests how rows are read, and `venue_totals` compares
//! stored orders with the totals of the exchange. `daily_counts` and `unchecked_orders` count the results.

pub(super) mod daily_counts;
pub(super) mod order_check;
pub(super) mod ratio;
pub(super) mod reference_price;
pub(super) mod unchecked_orders;
pub(super) mod unit_check;
pub(super) mod venue_totals;
