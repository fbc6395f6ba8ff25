//! Quality checks: orders against a reference price, units, and the totals that an exchange reports itself.

pub(super) mod daily_counts;
pub(super) mod order_check;
pub(super) mod ratio;
pub(super) mod reference_price;
pub(super) mod unchecked_orders;
pub(super) mod unit_check;
pub(super) mod venue_totals;
