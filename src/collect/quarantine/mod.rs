//! Quarantine: rows that failed a check, how they are readmitted, and how stored rows are retracted.

pub(super) mod dead_letter;
pub(super) mod readmit;
pub(super) mod retract;
