//! The process around the binding: runtimes, signals, logs and panics.

pub(super) mod defect;
pub(super) mod imports;
pub(super) mod log_queue;
pub(super) mod logs;
pub(super) mod runtime;
pub(super) mod signals;
