//! Checks of an exchange as a whole: stored orders are compared with the totals that the exchange publishes.

pub(super) mod venue_totals;
