//! Exact money: decimal sums that never pass through a binary float.

use std::cmp::Ordering;

use rust_decimal::Decimal;

const FRACTION_DIGITS: u32 = 28;
/// 10^28: one unit, in the smallest fraction a [`Decimal`] can hold.
const ONE: i128 = 10_i128.pow(FRACTION_DIGITS);

/// An exact sum of decimals: whole units and 10⁻²⁸ fractions are added apart, so no addend is rounded.
///
/// Good for more than ten billion addends of any size a [`Decimal`] can hold.
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
#[derive(Clone, Copy, Debug, Default)]
pub struct ExactSum {
    whole: i128,
    fraction: i128,
}

impl PartialEq for ExactSum {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ExactSum {}

impl PartialOrd for ExactSum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactSum {
    fn cmp(&self, other: &Self) -> Ordering {
        self.carried().cmp(&other.carried())
    }
}

impl ExactSum {
    /// The sum of so many 10⁻¹⁸.
    #[must_use]
    pub fn of_attos(attos: i128) -> Self {
        const UNIT: i128 = 10_i128.pow(18);
        Self {
            whole: attos / UNIT,
            fraction: attos % UNIT * (ONE / UNIT),
        }
    }

    /// Adds `value`.
    pub fn add(&mut self, value: Decimal) {
        let mantissa = value.mantissa();
        let scale = value.scale();
        let unit = 10_i128.pow(scale);
        self.whole += mantissa / unit;
        self.fraction += mantissa % unit * 10_i128.pow(FRACTION_DIGITS - scale);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.whole += other.whole;
        self.fraction += other.fraction;
    }

    /// The sum without trailing zeros; beyond 28 significant digits it is rounded once, half to even.
    #[must_use]
    pub fn decimal(&self) -> Decimal {
        let (whole, fraction) = self.carried();
        let negative = whole < 0 || fraction < 0;
        let digits = format!("{}{:028}", whole.unsigned_abs(), fraction.unsigned_abs());
        let (mantissa, scale) = shortest(digits.trim_start_matches('0'));
        let value = Decimal::try_from_i128_with_scale(mantissa, scale).unwrap_or(Decimal::MAX);
        let value = value.normalize();
        if negative { -value } else { value }
    }

    /// The double nearest to the sum.
    #[must_use]
    pub fn f64(&self) -> f64 {
        let (whole, fraction) = self.carried();
        if let Some(double) = short_f64(whole, fraction) {
            return double;
        }
        let sign = if whole < 0 || fraction < 0 { "-" } else { "" };
        let text = format!(
            "{sign}{}.{:028}",
            whole.unsigned_abs(),
            fraction.unsigned_abs()
        );
        // A plain decimal literal always parses; the standard library rounds it correctly.
        text.parse().unwrap_or(f64::NAN)
    }

    /// Whole units and fraction with the same sign, the fraction below one.
    fn carried(&self) -> (i128, i128) {
        let mut whole = self.whole + self.fraction / ONE;
        let mut fraction = self.fraction % ONE;
        if whole > 0 && fraction < 0 {
            whole -= 1;
            fraction += ONE;
        } else if whole < 0 && fraction > 0 {
            whole += 1;
            fraction -= ONE;
        }
        (whole, fraction)
    }
}

/// The double nearest to a sum of few decimals, as money nearly always is.
fn short_f64(whole: i128, fraction: i128) -> Option<f64> {
    // Both operands are exact below 2^53 and 10^22, so one division rounds correctly (Clinger's fast path).
    const HOLDS: u128 = 1 << 53;
    for (kept, scale) in [(1_i64, 1.0), (100, 1e2), (10_000, 1e4), (100_000_000, 1e8)] {
        let unit = ONE / i128::from(kept);
        if fraction % unit == 0 {
            let units = whole
                .checked_mul(i128::from(kept))?
                .checked_add(fraction / unit)?;
            if units.unsigned_abs() >= HOLDS {
                return None;
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "the units were just shown to fit in 53 bits"
            )]
            return Some(units as f64 / scale);
        }
    }
    None
}

/// The first 28 significant digits of `digits` (which end at scale 28), rounded half to even, with their scale.
fn shortest(digits: &str) -> (i128, u32) {
    let drop = digits.len().saturating_sub(FRACTION_DIGITS as usize);
    let (kept, dropped) = digits.split_at(digits.len() - drop);
    let mut mantissa: i128 = kept.parse().unwrap_or(0);
    let scale = FRACTION_DIGITS.saturating_sub(u32::try_from(drop).unwrap_or(u32::MAX));
    let tie = dropped.starts_with('5') && dropped.bytes().skip(1).all(|digit| digit == b'0');
    let up =
        dropped.bytes().next().is_some_and(|digit| digit >= b'5') && !(tie && mantissa % 2 == 0);
    if up {
        mantissa += 1;
    }
    (mantissa, scale)
}

/// The double nearest to `value`.
#[must_use]
pub fn nearest_f64(value: Decimal) -> f64 {
    let mantissa = value.mantissa();
    // Both operands are exact below 2^53 and 10^22, so one division rounds correctly (Clinger's fast path).
    if mantissa.unsigned_abs() < 1 << 53 && value.scale() <= 22 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "the mantissa was just shown to fit in 53 bits"
        )]
        let mantissa = mantissa as f64;
        #[expect(clippy::cast_possible_wrap, reason = "a scale is at most 28")]
        return mantissa / 10_f64.powi(value.scale() as i32);
    }
    value.to_string().parse().unwrap_or(f64::NAN)
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

    use super::*;

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

    #[test]
    fn a_decimal_becomes_the_nearest_double() {
        for text in [
            "0.1",
            "123456.789",
            "91234.5",
            "0.0000000000000000000000000001",
            "7922816251426433759354395033",
        ] {
            let value = Decimal::from_str(text).unwrap();
            assert_eq!(
                nearest_f64(value).to_bits(),
                text.parse::<f64>().unwrap().to_bits()
            );
        }
    }

    proptest! {
        #[test]
        fn a_sum_becomes_the_double_nearest_to_its_text(
            units in prop_oneof![0_i128..1 << 40, (1_i128 << 52)..(1 << 54), 0_i128..10_i128.pow(16)],
            places in 0_u32..=12,
        ) {
            let sum = ExactSum::of_attos(units * 10_i128.pow(12 - places));
            let nearest: f64 = sum.decimal().to_string().parse().unwrap();
            prop_assert_eq!(sum.f64().to_bits(), nearest.to_bits());
        }
    }
}
