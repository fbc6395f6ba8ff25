//! Quarantine: orders that failed a check, and other data that is not stored.
//!
//! Data that is not stored is written to the dead-letter file (`dead_letter`). An order in `quarantine` has a reason,
//! and a price, quantity and value (`quarantined_order`) that decide by their `ratio` whether it is readmitted.

pub(super) mod dead_letter;
pub(super) mod quarantine;
pub(super) mod quarantined_order;
pub(super) mod ratio;
