//! Quarantine: rows that failed a check, how they are readmitted, and how stored rows are retracted.

pub(super) mod dead_letter;
pub(super) mod quarantine;
pub(super) mod quarantined_order;
pub(super) mod rejections;
pub(super) mod retract;
