//! Start and end of the UTC day to which a fit applies.

use crate::model::Millis;

/// Start of the UTC day of an instant.
pub fn day_of(instant: Millis) -> Millis {
    Millis(instant.0.div_euclid(Millis::DAY) * Millis::DAY)
}

/// End of the UTC day of an instant. An order of that day that is received after this end counts as late.
pub fn last_of_day(instant: Millis) -> Millis {
    day_of(instant).on(Millis::DAY)
}
