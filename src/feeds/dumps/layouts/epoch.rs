//! Parsing of epoch times in any unit.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use crate::contract::decode::exact_decimal;
use crate::feeds::dumps::cells::{DumpColumn, DumpLine, RowError};
use crate::model::Millis;

/// Smaller numbers are epoch seconds; larger ones are milliseconds of the years 1973 to 5138, or finer units.
const SECONDS: i64 = 100_000_000_000;

/// Parses epoch seconds, milliseconds, microseconds or nanoseconds.
///
/// The size of the number gives the unit. Seconds may have a fraction.
pub(super) fn epoch(text: &str) -> Option<Millis> {
    // A number with an exponent has lost its last digits.
    if text.contains(['e', 'E']) {
        return None;
    }
    let value = exact_decimal(text).ok()?;
    let size = value.trunc().to_i64()?.checked_abs()?;
    let millis = if size < SECONDS {
        value.checked_mul(Decimal::ONE_THOUSAND)?.round()
    } else if size < SECONDS * 1000 {
        value.trunc()
    } else if size < SECONDS * 1_000_000 {
        (value / Decimal::ONE_THOUSAND).floor()
    } else {
        (value / Decimal::from(1_000_000)).floor()
    };
    millis.to_i64().map(Millis)
}

/// Reads a column that contains an epoch time or ISO 8601.
pub(super) fn instant(line: DumpLine<'_>, column: DumpColumn) -> Result<Millis, RowError> {
    let text = line.text(column)?;
    epoch(text)
        .or_else(|| Millis::read_iso(text))
        .ok_or_else(|| {
            let name = column.name;
            RowError::new(
                format!("{name}: not an instant (an epoch, or ISO 8601)"),
                text,
            )
        })
}

#[cfg(test)]
mod tests {
    use crate::feeds::dumps::layouts::epoch::*;

    #[test]
    fn the_unit_is_known_by_the_size() {
        let at = Some(Millis(1_704_153_600_123));
        for text in [
            "1704153600.1234",
            "1704153600123",
            "1704153600123456",
            "1704153600123456789",
        ] {
            assert_eq!(epoch(text), at, "{text}");
        }
        assert_eq!(epoch("1704153600"), Some(Millis(1_704_153_600_000)));
        assert_eq!(epoch("1.7041536E+12"), None);
        assert_eq!(epoch("2024-01-02"), None);
    }
}
