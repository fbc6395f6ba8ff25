//! Instants, time ranges and the reading of ISO 8601.

pub(super) mod iso8601;
pub(super) mod millis;
pub(super) mod time_range;
