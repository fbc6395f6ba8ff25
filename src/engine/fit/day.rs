//! The UTC day that a fit is made for.

use crate::model::Millis;

/// The beginning of the UTC day that an instant lies in.
pub(super) fn day_of(instant: Millis) -> Millis {
    Millis(instant.0.div_euclid(Millis::DAY) * Millis::DAY)
}

/// The end of the UTC day that an instant lies in: a fit knows of an event what was received by then, or is asked for as
/// of a later instant.
pub(in crate::engine) fn last_of_day(instant: Millis) -> Millis {
    day_of(instant).on(Millis::DAY)
}
