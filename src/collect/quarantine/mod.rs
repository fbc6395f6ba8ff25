//! Quarantine: orders that failed a check, and other data that is not stored.
//!
//! `rejections` counts data that is not stored and writes it to the dead-letter file (`dead_letter`). An order in
//! `quarantine` has a reason, and a price, quantity and value (`quarantined_order`) that decide whether it is
//! readmitted. `retract` removes stored rows.

pub(super) mod dead_letter;
pub(super) mod quarantine;
pub(super) mod quarantined_order;
pub(super) mod rejections;
pub(super) mod retract;
