//! Instants, time ranges and ISO 8601 parsing.

pub(super) mod iso8601;
pub(super) mod millis;
pub(super) mod period_length;
pub(super) mod time_range;
pub(super) mod time_unit;
