//! Decimals as the archive keeps them: whole numbers of 10⁻¹⁸, at most 38 digits, never rounded.

use rust_decimal::Decimal;

/// Decimals behind the point that are kept.
pub(super) const SCALE: u32 = 18;
/// The same, as a column's type counts them.
pub(super) const SCALE_OF_TYPE: i8 = 18;
/// Digits that are kept.
pub(super) const DIGITS: u8 = 38;
/// The first whole number that has too many digits.
const LIMIT: i128 = 10_i128.pow(DIGITS as u32);

/// `value` in units of 10⁻¹⁸.
///
/// # Errors
///
/// Says why the value cannot be kept as it is.
pub(super) fn scaled(value: Decimal) -> Result<i128, String> {
    let value = value.normalize();
    let missing = SCALE.checked_sub(value.scale()).ok_or_else(|| {
        format!(
            "{value} has {} decimals; at most {SCALE} are kept, and nothing is rounded",
            value.scale()
        )
    })?;
    value
        .mantissa()
        .checked_mul(10_i128.pow(missing))
        .filter(|scaled| scaled.abs() < LIMIT)
        .ok_or_else(|| {
            format!(
                "{value} is too large; at most {} digits before the point are kept",
                u32::from(DIGITS) - SCALE
            )
        })
}

/// The decimal that is `scaled` units of 10⁻¹⁸, where a [`Decimal`] can hold it.
pub(super) fn unscaled(mut scaled: i128) -> Option<Decimal> {
    let mut scale = SCALE;
    for step in [16, 8, 4, 2, 1] {
        let unit = 10_i128.pow(step);
        while scale >= step && scaled % unit == 0 {
            scaled /= unit;
            scale -= step;
        }
    }
    Decimal::try_from_i128_with_scale(scaled, scale).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_comes_back_as_it_was() {
        for text in [
            "0",
            "1",
            "-1",
            "0.000000000000000001",
            "82651.9",
            "0.0044461",
            "99999999999.999999999999999999",
            "-79228162514.26433759354395",
            "12345678901234567890",
            "100000000000000000",
        ] {
            let value: Decimal = text.parse().unwrap();
            let kept = scaled(value).unwrap();
            assert_eq!(unscaled(kept), Some(value), "{text}");
        }
        assert_eq!(
            scaled("1.50".parse().unwrap()),
            Ok(1_500_000_000_000_000_000)
        );
    }

    #[test]
    fn what_would_be_rounded_is_refused() {
        let fine: Decimal = "0.0000000000000000001".parse().unwrap();
        assert!(scaled(fine).unwrap_err().contains("19 decimals"));
        let zeros: Decimal = "1.0000000000000000000".parse().unwrap();
        assert!(scaled(zeros).is_ok());
        let large: Decimal = "100000000000000000000".parse().unwrap();
        assert!(scaled(large).unwrap_err().contains("too large"));
        assert!(scaled(Decimal::MAX).is_err());
        assert!(scaled(Decimal::MIN).is_err());
    }

    #[test]
    fn a_number_no_decimal_can_hold_is_not_rounded() {
        assert_eq!(unscaled(10_i128.pow(38) - 1), None);
    }
}
