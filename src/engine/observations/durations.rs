//! Conversion of durations.

use crate::model::Millis;

/// Converts milliseconds to days.
#[expect(
    clippy::cast_precision_loss,
    reason = "a length in milliseconds below 2^53 is exact, and longer ones are nearest"
)]
pub fn days(millis: i64) -> f64 {
    millis as f64 / Millis::DAY as f64
}
