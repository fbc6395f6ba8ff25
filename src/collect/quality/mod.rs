//! Checks of an exchange as a whole.
//!
//! `unit_check` tests whether orders are decoded in the right unit, and `retract` removes stored rows that are in
//! doubt. `venue_totals` compares stored orders with the totals that the exchange publishes.

pub(super) mod retract;
pub(super) mod unit_check;
pub(super) mod venue_totals;
