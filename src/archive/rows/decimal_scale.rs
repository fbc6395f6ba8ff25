//! Decimals as the archive keeps them: whole numbers of 10⁻¹⁸, at most 38 digits, never rounded.

use rust_decimal::Decimal;

pub(crate) use crate::model::decimal_of_attos as unscaled;
use crate::model::{TENS, power_of_ten};

/// Decimals behind the point that are kept.
pub(crate) const SCALE: u32 = 18;
/// The same, as a column's type counts them.
pub(crate) const SCALE_OF_TYPE: i8 = 18;
/// Digits that are kept.
pub(crate) const DIGITS: u8 = 38;
/// The first whole number that has too many digits.
const LIMIT: i128 = 10_i128.pow(DIGITS as u32);

/// `value` in units of 10⁻¹⁸.
///
/// # Errors
///
/// Says why the value cannot be kept as it is.
pub(crate) fn scaled(value: Decimal) -> Result<i128, String> {
    // Zeros at the end are no decimals; most values have few enough without looking for any.
    let value = if value.scale() > SCALE {
        value.normalize()
    } else {
        value
    };
    let missing = SCALE.checked_sub(value.scale()).ok_or_else(|| {
        format!(
            "{value} has {} decimals; at most {SCALE} are kept, and nothing is rounded",
            value.scale()
        )
    })?;
    power_of_ten(missing)
        .and_then(|unit| value.mantissa().checked_mul(unit))
        .filter(|scaled| scaled.abs() < LIMIT)
        .ok_or_else(|| {
            format!(
                "{value} is too large; at most {} digits before the point are kept",
                u32::from(DIGITS) - SCALE
            )
        })
}

/// As [`scaled`] has it, the decimal of these digits of which `scale` stand behind the point; `None` where those are more than
/// are kept.
#[inline]
pub(crate) fn of_short((digits, scale): (i64, u8)) -> Option<i128> {
    let missing = SCALE.checked_sub(u32::from(scale))?;
    // Neither has more than nineteen digits.
    let unit = TENS.get(missing as usize)?;
    Some(i128::from(digits) * i128::from(*unit))
}

/// The smallest number of 10⁻¹⁸ that is `value` or more, if one of so few digits is.
pub(crate) fn least(value: Decimal) -> Option<i128> {
    let whole = value.trunc_with_scale(SCALE);
    let least = scaled(whole).ok()?;
    Some(least + i128::from(whole < value))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::rows::decimal_scale::*;

    #[test]
    fn a_decimal_comes_back_as_it_was() {
        for text in [
            "0",
            "1",
            "-1",
            "0.000000000000000001",
            "82651.9",
            "0.0044461",
            "9999999999.999999999999999999",
            "-79228162514.26433759354395",
            "12345678901234567890",
            "100000000000000000",
        ] {
            let value = Decimal::from_str_exact(text).unwrap();
            let kept = scaled(value).unwrap();
            let back = unscaled(kept).unwrap();
            assert_eq!(back.to_string(), text);
        }
        assert_eq!(
            scaled("1.50".parse().unwrap()),
            Ok(1_500_000_000_000_000_000)
        );
    }

    #[test]
    fn short_decimals_are_scaled_as_all_are() {
        for digits in [0, 1, -1, 826_519, i64::MAX, i64::MIN] {
            for scale in 0..=18 {
                let value = Decimal::new(digits, scale);
                let short = of_short((digits, u8::try_from(scale).unwrap()));
                assert_eq!(short, scaled(value).ok(), "{value}");
            }
            assert_eq!(of_short((digits, 19)), None);
        }
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
    fn a_bound_between_two_numbers_is_the_next_one() {
        let least = |text: &str| least(text.parse().unwrap());
        assert_eq!(least("10000"), scaled("10000".parse().unwrap()).ok());
        assert_eq!(least("0.0000000000000000001"), Some(1));
        assert_eq!(least("-0.0000000000000000001"), Some(0));
        assert_eq!(least("100000000000000000000"), None);
    }

    #[test]
    fn a_number_no_decimal_can_hold_is_not_rounded() {
        assert_eq!(unscaled(10_i128.pow(38) - 1), None);
        assert_eq!(unscaled(i128::MIN), None);
    }
}
