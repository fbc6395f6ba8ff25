//! Exact sums of decimals, without binary floats.

use std::ops::{AddAssign, SubAssign};

use rust_decimal::Decimal;

use crate::model::values::fixed_point::FixedPoint;
use crate::model::values::powers_of_ten::{POWERS_OF_TEN, power_of_ten};
use crate::model::values::short_decimal::ShortDecimal;

/// Maximum number of digits after the point of a [`Decimal`].
const FRACTION_DIGITS: u32 = 28;
/// Number of digits after the point of a nano (10⁻⁹).
const NANO_DIGITS: u32 = 9;
/// Number of further digits after those of a nano: 10⁻²⁸ is the smallest fraction of a [`Decimal`].
const REST_DIGITS: u32 = FRACTION_DIGITS - NANO_DIGITS;
/// Number of units of 10⁻¹⁸ in a nano, and number of units of 10⁻²⁸ in a unit of 10⁻¹⁸.
const ATTOS_OF_NANO: i64 = 1_000_000_000;
const REST_OF_ATTO: u64 = 10_u64.pow(REST_DIGITS - 9);
/// Number of units of 10⁻²⁸ in a nano.
const NANO: u64 = 10_u64.pow(REST_DIGITS);

/// An exact sum of decimals.
///
/// Whole nanos (10⁻⁹) and the fraction below them (in 10⁻²⁸) are stored separately, so no addend is rounded.
///
/// The range is ±10²⁹; sums saturate beyond it.
///
/// # Examples
///
/// ```
/// use liqdata::model::ExactSum;
/// use rust_decimal::Decimal;
///
/// let mut sum = ExactSum::default();
/// for _ in 0..10 {
///     sum.add(Decimal::new(1, 1));
/// }
/// assert_eq!(sum.decimal(), Decimal::ONE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
// 24 bytes instead of 32: an `i128` would align the sum to 16 bytes.
#[repr(Rust, packed(8))]
pub struct ExactSum {
    nanos: i128,
    /// The fraction above `nanos`, in units of 10⁻²⁸; less than one nano.
    rest: u64,
}

impl From<Decimal> for ExactSum {
    fn from(value: Decimal) -> Self {
        if let Some(short) = ShortDecimal::of(value) {
            return short.into();
        }
        let (mantissa, scale) = (value.mantissa(), value.scale());
        // A scale is at most 28.
        let ten = |digits: u32| power_of_ten(digits).unwrap_or(i128::MAX);
        let Some(beyond) = scale.checked_sub(NANO_DIGITS) else {
            return Self::of_nanos(mantissa * ten(NANO_DIGITS - scale));
        };
        let (unit, fraction) = (ten(beyond), ten(REST_DIGITS.saturating_sub(beyond)));
        Self {
            nanos: mantissa.div_euclid(unit),
            rest: u64::try_from(mantissa.rem_euclid(unit) * fraction).unwrap_or_default(),
        }
    }
}

impl From<ShortDecimal> for ExactSum {
    #[inline]
    fn from(ShortDecimal { digits, scale }: ShortDecimal) -> Self {
        let ten = |digits: u32| POWERS_OF_TEN.get(digits as usize).copied().unwrap_or(NANO);
        let scale = u32::from(scale);
        let Some(beyond) = scale.checked_sub(NANO_DIGITS) else {
            // The product of two 64-bit numbers fits 128 bits.
            let unit = ten(NANO_DIGITS - scale);
            return Self::of_nanos(i128::from(digits) * i128::from(unit));
        };
        let (unit, fraction) = (ten(beyond), ten(REST_DIGITS.saturating_sub(beyond)));
        let size = digits.unsigned_abs();
        let mut sum = Self::of_nanos((size / unit).into());
        sum.rest = size % unit * fraction;
        if digits < 0 {
            let mut below = Self::default();
            below -= sum;
            return below;
        }
        sum
    }
}

impl From<FixedPoint> for ExactSum {
    fn from(FixedPoint(units): FixedPoint) -> Self {
        let (unit, fraction) = (i128::from(ATTOS_OF_NANO), REST_OF_ATTO);
        // Division in 64 bits is several times faster than in 128 bits.
        let (nanos, rest) = match i64::try_from(units) {
            Ok(short) => (
                i128::from(short.div_euclid(ATTOS_OF_NANO)),
                short.rem_euclid(ATTOS_OF_NANO),
            ),
            Err(_) => (
                units.div_euclid(unit),
                i64::try_from(units.rem_euclid(unit)).unwrap_or_default(),
            ),
        };
        Self {
            nanos,
            rest: rest.unsigned_abs() * fraction,
        }
    }
}

impl AddAssign for ExactSum {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        let mut nanos = other.nanos;
        // Amounts of money rarely have a fraction below 10⁻⁹.
        if other.rest != 0 {
            let room = NANO - other.rest;
            let carry = self.rest >= room;
            self.rest = if carry {
                self.rest - room
            } else {
                self.rest + other.rest
            };
            nanos += i128::from(carry);
        }
        self.nanos = match self.nanos.checked_add(nanos) {
            Some(sum) => sum,
            None => beyond(nanos),
        };
    }
}

impl SubAssign for ExactSum {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        let mut nanos = other.nanos;
        if other.rest != 0 {
            let borrow = self.rest < other.rest;
            self.rest = if borrow {
                self.rest + (NANO - other.rest)
            } else {
                self.rest - other.rest
            };
            nanos += i128::from(borrow);
        }
        self.nanos = match self.nanos.checked_sub(nanos) {
            Some(sum) => sum,
            None => beyond(nanos.saturating_neg()),
        };
    }
}

/// The saturated sum if adding `nanos` has overflowed.
#[cold]
fn beyond(nanos: i128) -> i128 {
    if nanos < 0 { i128::MIN } else { i128::MAX }
}

impl ExactSum {
    /// The sum with the value `nanos` · 10⁻⁹.
    #[must_use]
    pub const fn of_nanos(nanos: i128) -> Self {
        Self { nanos, rest: 0 }
    }

    /// Adds `value`.
    pub fn add(&mut self, value: Decimal) {
        *self += Self::from(value);
    }

    /// The sum of `self` and `other`.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self += other;
        self
    }

    /// The sum without trailing zeros, rounded half to even beyond 28 significant digits.
    #[must_use]
    pub fn decimal(&self) -> Decimal {
        if self.rest == 0
            && let Ok(nanos) = i64::try_from(self.nanos)
        {
            let (digits, scale) = without_zeros(nanos, NANO_DIGITS);
            return Decimal::new(digits, scale);
        }
        if self.rest == 0
            && let Ok(value) = Decimal::try_from_i128_with_scale(self.nanos, NANO_DIGITS)
        {
            return value.normalize();
        }
        let (nanos, rest) = self.size();
        let digits = format!("{nanos}{rest:019}");
        let (mantissa, scale) = shortest(digits.trim_start_matches('0'));
        let value = Decimal::try_from_i128_with_scale(mantissa, scale).unwrap_or(Decimal::MAX);
        let value = value.normalize();
        if self.nanos < 0 { -value } else { value }
    }

    /// The double nearest to the sum.
    #[must_use]
    pub fn f64(&self) -> f64 {
        if let Some(double) = self.short_f64() {
            return double;
        }
        let (nanos, rest) = self.size();
        let sign = if self.nanos < 0 { "-" } else { "" };
        // A decimal literal always parses, and the standard library rounds correctly.
        let text = format!("{sign}{nanos}.{rest:019}e-9");
        text.parse().unwrap_or(f64::NAN)
    }

    /// The whole nanos and the fraction of the absolute value.
    fn size(self) -> (u128, u64) {
        if self.nanos < 0 && self.rest > 0 {
            ((self.nanos + 1).unsigned_abs(), NANO - self.rest)
        } else {
            (self.nanos.unsigned_abs(), self.rest)
        }
    }

    /// The nearest double if the sum has few digits, which is so for nearly all amounts of money.
    fn short_f64(self) -> Option<f64> {
        // Both operands are exact below 2^53 and 10^22, so one division rounds correctly (Clinger's fast path).
        const HOLDS: u128 = 1 << 53;
        if self.rest != 0 {
            return None;
        }
        for (nanos, scale) in [
            (1_000_000_000, 1.0),
            (10_000_000, 1e2),
            (100_000, 1e4),
            (10, 1e8),
            (1, 1e9),
        ] {
            if self.nanos % nanos == 0 {
                let units = self.nanos / nanos;
                #[expect(clippy::cast_precision_loss, reason = "the units fit 53 bits")]
                return (units.unsigned_abs() < HOLDS).then(|| units as f64 / scale);
            }
        }
        None
    }
}

/// Removes trailing zeros after the point; returns the digits and the scale.
fn without_zeros(mut digits: i64, mut scale: u32) -> (i64, u32) {
    for (unit, zeros) in [(100_000_000, 8), (10_000, 4), (100, 2), (10, 1)] {
        while scale >= zeros && digits % unit == 0 {
            digits /= unit;
            scale -= zeros;
        }
    }
    (digits, scale)
}

/// The first 28 significant digits of `digits`, rounded half to even, and their scale. The last of `digits` has scale
/// 28.
fn shortest(digits: &str) -> (i128, u32) {
    let drop = digits.len().saturating_sub(FRACTION_DIGITS as usize);
    let (remaining, dropped) = digits.split_at(digits.len() - drop);
    let mut mantissa: i128 = remaining.parse().unwrap_or(0);
    let scale = FRACTION_DIGITS.saturating_sub(u32::try_from(drop).unwrap_or(u32::MAX));
    let tie = dropped.starts_with('5') && dropped.bytes().skip(1).all(|digit| digit == b'0');
    let up =
        dropped.bytes().next().is_some_and(|digit| digit >= b'5') && !(tie && mantissa % 2 == 0);
    if up {
        mantissa += 1;
    }
    (mantissa, scale)
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test may fail loudly, and these sums are exact"
)]
mod tests {
    use std::str::FromStr;

    use proptest::prelude::*;

    use crate::model::values::exact_sum::*;

    fn sum(values: &[&str]) -> ExactSum {
        let mut sum = ExactSum::default();
        for value in values {
            sum.add(Decimal::from_str(value).unwrap());
        }
        sum
    }

    #[test]
    fn small_and_large_addends_keep_every_digit() {
        let total = sum(&[
            "0.0000000000000000000000000001",
            "9999999999999999",
            "-9999999999999999",
        ]);
        assert_eq!(
            total.decimal().to_string(),
            "0.0000000000000000000000000001"
        );
        assert_eq!(sum(&["0.1", "0.2"]).decimal().to_string(), "0.3");
        assert_eq!(sum(&["0.1", "0.2"]).f64(), 0.3);
        assert_eq!(sum(&["1", "-1.5"]).decimal().to_string(), "-0.5");
        assert_eq!(sum(&["1", "-1.5"]).f64(), -0.5);
        assert_eq!(sum(&[]).decimal(), Decimal::ZERO);
    }

    #[test]
    fn beyond_28_digits_the_sum_is_rounded_once_half_to_even() {
        let total = sum(&["123456789012", "0.12345678901234565"]);
        assert_eq!(total.decimal().to_string(), "123456789012.1234567890123456");
        let total = sum(&["123456789012", "0.12345678901234575"]);
        assert_eq!(total.decimal().to_string(), "123456789012.1234567890123458");
    }

    fn decimal() -> impl Strategy<Value = Decimal> {
        let digits = prop_oneof![
            any::<i64>().prop_map(i128::from),
            -(10_i128.pow(28))..10_i128.pow(28)
        ];
        (digits, 0_u32..=28)
            .prop_map(|(digits, scale)| Decimal::from_i128_with_scale(digits, scale))
    }

    proptest! {
        #[test]
        fn a_sum_of_one_is_that_one_and_stands_where_it_stands(one in decimal(), other in decimal()) {
            let (sum, more) = (ExactSum::from(one), ExactSum::from(other));
            prop_assert_eq!(sum.decimal(), one);
            prop_assert_eq!(sum.f64().to_bits(), one.normalize().to_string().parse::<f64>().unwrap().to_bits());
            prop_assert_eq!(sum.cmp(&more), one.cmp(&other));
        }

        #[test]
        fn a_sum_of_fixed_points_is_that_of_their_decimals(
            units in prop_oneof![any::<i64>().prop_map(i128::from), -(10_i128.pow(28))..10_i128.pow(28)],
        ) {
            let value = Decimal::from_i128_with_scale(units, 18);
            prop_assert_eq!(ExactSum::from(FixedPoint(units)), ExactSum::from(value));
        }

        #[test]
        fn what_was_added_can_be_taken_away(values in prop::collection::vec(decimal(), 0..20)) {
            let mut sum = ExactSum::default();
            for value in &values {
                sum.add(*value);
            }
            let mut turned = ExactSum::default();
            for value in values.iter().rev() {
                turned += ExactSum::from(*value);
            }
            prop_assert_eq!(sum, turned);
            for value in &values {
                sum -= ExactSum::from(*value);
            }
            prop_assert_eq!(sum, ExactSum::default());
        }

        #[test]
        fn a_sum_becomes_the_double_nearest_to_its_text(
            units in prop_oneof![0_i128..1 << 40, (1_i128 << 52)..(1 << 54), 0_i128..10_i128.pow(16)],
            places in 0_u32..=12,
        ) {
            let sum = ExactSum::from(Decimal::from_i128_with_scale(units, 6 + places));
            let nearest: f64 = sum.decimal().to_string().parse().unwrap();
            prop_assert_eq!(sum.f64().to_bits(), nearest.to_bits());
        }
    }
}
