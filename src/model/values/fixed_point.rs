//! Fixed-point amounts: integers in units of 10⁻¹⁸.

use rust_decimal::Decimal;

use crate::model::values::powers_of_ten::{POWERS_OF_TEN, power_of_ten};
use crate::model::values::short_decimal::ShortDecimal;

/// The smallest positive integer with more than [`FixedPoint::DIGITS`] digits.
const LIMIT: i128 = 10_i128.pow(FixedPoint::DIGITS as u32);
/// Powers of ten, largest first, with their exponents.
const POWERS: [(u64, u32); 4] = [(100_000_000, 8), (10_000, 4), (100, 2), (10, 1)];
const BILLION: u128 = 1_000_000_000;

/// An amount in units of 10⁻¹⁸, as Parquet's `DECIMAL(38, 18)` stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FixedPoint(pub i128);

impl FixedPoint {
    /// Number of digits after the point.
    pub const SCALE: u8 = 18;
    /// Maximum number of significant digits.
    pub const DIGITS: u8 = 38;

    /// Converts `value` without rounding.
    ///
    /// # Errors
    ///
    /// A sentence that says which limit `value` exceeds.
    pub fn of(value: Decimal) -> Result<Self, String> {
        let most = u32::from(Self::SCALE);
        // Most values have few decimals already, so trailing zeros are removed only if necessary.
        let value = if value.scale() > most {
            value.normalize()
        } else {
            value
        };
        let missing = most.checked_sub(value.scale()).ok_or_else(|| {
            format!(
                "{value} has {} decimals; allowed: at most {most} (values are not rounded)",
                value.scale()
            )
        })?;
        power_of_ten(missing)
            .and_then(|power| value.mantissa().checked_mul(power))
            .filter(|units| units.abs() < LIMIT)
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "{value} is too large; allowed: at most {} digits before the decimal point",
                    Self::DIGITS - Self::SCALE
                )
            })
    }

    /// Converts `value` without rounding; `None` if it has more than 18 decimals.
    #[inline]
    #[must_use]
    pub fn of_short(value: ShortDecimal) -> Option<Self> {
        let missing = Self::SCALE.checked_sub(value.scale)?;
        // Each factor has at most 19 digits, so the product fits.
        let power = POWERS_OF_TEN.get(usize::from(missing))?;
        Some(Self(i128::from(value.digits) * i128::from(*power)))
    }

    /// Rounds `value` up to the next amount; `None` if `value` is larger than every amount.
    #[must_use]
    pub fn ceil(value: Decimal) -> Option<Self> {
        let whole = value.trunc_with_scale(Self::SCALE.into());
        let Self(units) = Self::of(whole).ok()?;
        Some(Self(units + i128::from(whole < value)))
    }

    /// The same amount without trailing zeros; `None` if a [`Decimal`] cannot represent it.
    #[must_use]
    pub fn decimal(self) -> Option<Decimal> {
        let mut magnitude = self.0.unsigned_abs();
        let mut scale = u32::from(Self::SCALE);
        // 128-bit division is slow. Removing nine zeros at once brings nearly every value to 64 bits.
        while scale >= 9 {
            let shorter = magnitude / BILLION;
            if shorter * BILLION != magnitude {
                break;
            }
            magnitude = shorter;
            scale -= 9;
        }
        if let Ok(mut small) = u64::try_from(magnitude) {
            for (power, zeros) in POWERS {
                while scale >= zeros && small.is_multiple_of(power) {
                    small /= power;
                    scale -= zeros;
                }
            }
            magnitude = u128::from(small);
        } else {
            for (power, zeros) in POWERS {
                while scale >= zeros && magnitude.is_multiple_of(u128::from(power)) {
                    magnitude /= u128::from(power);
                    scale -= zeros;
                }
            }
        }
        let mantissa = i128::try_from(magnitude).ok()? * self.0.signum();
        Decimal::try_from_i128_with_scale(mantissa, scale).ok()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::model::values::fixed_point::*;

    #[test]
    fn conversion_there_and_back_preserves_a_decimal() {
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
            let back = FixedPoint::of(value).unwrap().decimal().unwrap();
            assert_eq!(back.to_string(), text);
        }
        assert_eq!(
            FixedPoint::of("1.50".parse().unwrap()),
            Ok(FixedPoint(1_500_000_000_000_000_000))
        );
    }

    #[test]
    fn short_decimals_convert_like_all_others() {
        for digits in [0, 1, -1, 826_519, i64::MAX, i64::MIN] {
            for scale in 0..=18 {
                let value = Decimal::new(digits, scale);
                let short = ShortDecimal {
                    digits,
                    scale: u8::try_from(scale).unwrap(),
                };
                assert_eq!(
                    FixedPoint::of_short(short),
                    FixedPoint::of(value).ok(),
                    "{value}"
                );
            }
            assert_eq!(
                FixedPoint::of_short(ShortDecimal { digits, scale: 19 }),
                None
            );
        }
    }

    #[test]
    fn a_value_that_would_be_rounded_is_an_error() {
        let fine: Decimal = "0.0000000000000000001".parse().unwrap();
        assert!(FixedPoint::of(fine).unwrap_err().contains("19 decimals"));
        let zeros: Decimal = "1.0000000000000000000".parse().unwrap();
        assert!(FixedPoint::of(zeros).is_ok());
        let large: Decimal = "100000000000000000000".parse().unwrap();
        assert!(FixedPoint::of(large).unwrap_err().contains("too large"));
        assert!(FixedPoint::of(Decimal::MAX).is_err());
        assert!(FixedPoint::of(Decimal::MIN).is_err());
    }

    #[test]
    fn ceil_is_the_next_larger_amount() {
        let ceil = |text: &str| FixedPoint::ceil(text.parse().unwrap());
        assert_eq!(ceil("10000"), FixedPoint::of("10000".parse().unwrap()).ok());
        assert_eq!(ceil("0.0000000000000000001"), Some(FixedPoint(1)));
        assert_eq!(ceil("-0.0000000000000000001"), Some(FixedPoint(0)));
        assert_eq!(ceil("100000000000000000000"), None);
    }

    #[test]
    fn an_amount_beyond_the_range_of_decimals_is_none() {
        assert_eq!(FixedPoint(10_i128.pow(38) - 1).decimal(), None);
        assert_eq!(FixedPoint(i128::MIN).decimal(), None);
    }
}
