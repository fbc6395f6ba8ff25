//! Exact products, and quotients rounded to eight decimals.

use rust_decimal::{Decimal, RoundingStrategy};

/// Number of decimals to which a quotient is rounded.
const QUOTIENT_DIGITS: u32 = 8;

/// Returns the same number without trailing zeros after the point.
#[inline]
#[must_use]
pub fn stripped(value: Decimal) -> Decimal {
    match i64::try_from(value.mantissa()) {
        Ok(mantissa) => {
            let (mantissa, scale) = strip(mantissa, value.scale());
            Decimal::new(mantissa, scale)
        }
        Err(_) => value.normalize(),
    }
}

/// Removes trailing zeros of the fraction; returns the new mantissa and scale.
#[inline]
fn strip(mut mantissa: i64, mut scale: u32) -> (i64, u32) {
    if mantissa == 0 {
        return (0, 0);
    }
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    (mantissa, scale)
}

/// Returns the exact product `a · b`; `None` if no decimal can represent it.
#[must_use]
pub fn product(a: Decimal, b: Decimal) -> Option<Decimal> {
    let (a, b) = (stripped(a), stripped(b));
    let mantissa = a.mantissa().checked_mul(b.mantissa())?;
    Decimal::try_from_i128_with_scale(mantissa, a.scale() + b.scale())
        .ok()
        .map(stripped)
}

/// Returns `a / b`, rounded half to even at eight decimals.
///
/// `None` if `b` is zero or no decimal can represent the result.
#[must_use]
pub fn quotient(a: Decimal, b: Decimal) -> Option<Decimal> {
    let rounded = match whole_quotient(a, b) {
        Some(eighths) => Decimal::try_from_i128_with_scale(eighths, QUOTIENT_DIGITS).ok()?,
        // The scaled numbers exceed 128 bits, so the quotient is first rounded to 28 digits.
        None => a
            .checked_div(b)?
            .round_dp_with_strategy(QUOTIENT_DIGITS, RoundingStrategy::MidpointNearestEven),
    };
    Some(stripped(rounded))
}

/// Returns `a / b` in units of the eighth decimal, rounded once; `a` and `b` are positive.
fn whole_quotient(a: Decimal, b: Decimal) -> Option<i128> {
    let (mut above, mut below) = (a.mantissa(), b.mantissa());
    let lift = QUOTIENT_DIGITS + b.scale();
    if lift >= a.scale() {
        above = above.checked_mul(10_i128.checked_pow(lift - a.scale())?)?;
    } else {
        below = below.checked_mul(10_i128.checked_pow(a.scale() - lift)?)?;
    }
    let (whole, rest) = (above.checked_div(below)?, above.checked_rem(below)?);
    let up = match rest.checked_mul(2)?.cmp(&below) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => whole % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    Some(whole + i128::from(up))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::model::values::products::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn a_quotient_is_rounded_once_half_to_even() {
        for (a, b, rounded) in [
            ("300", "9352.7", "0.0320763"),
            ("390", "0.55205", "706.45774839"),
            ("143.330431857868", "0.500280739469", "286.5"),
            ("0.00000001", "2", "0"),
            ("0.00000003", "2", "0.00000002"),
            ("0.0000000300000000000000000001", "2", "0.00000002"),
            ("0.0000000100000000000000000001", "2", "0.00000001"),
            ("1", "3", "0.33333333"),
            ("9999999999999999999999999999", "0.0000000001", ""),
        ] {
            let expected = (!rounded.is_empty()).then(|| decimal(rounded));
            assert_eq!(quotient(decimal(a), decimal(b)), expected, "{a} / {b}");
        }
        assert_eq!(quotient(Decimal::ONE, Decimal::ZERO), None);
    }

    #[test]
    fn a_number_loses_its_zeros_and_nothing_else() {
        for (written, plain) in [
            ("0.190", "0.19"),
            ("-12.500", "-12.5"),
            ("1000", "1000"),
            ("100.00", "100"),
            ("-0.0", "0"),
            ("0.000", "0"),
            ("9223372036854775807.0", "9223372036854775807"),
            ("92233720368547758.080", "92233720368547758.08"),
            (
                "-9999999999999999999999999.990",
                "-9999999999999999999999999.99",
            ),
        ] {
            let value = decimal(written);
            assert_eq!(stripped(value).to_string(), plain);
            assert_eq!(stripped(value).serialize(), value.normalize().serialize());
        }
    }

    #[test]
    fn a_product_is_exact_or_none() {
        assert_eq!(
            product(decimal("0.190"), decimal("82651.90")).map(|exact| exact.to_string()),
            Some("15703.861".to_owned())
        );
        assert_eq!(
            product(
                decimal("12345678901234567890"),
                decimal("0.12345678901234567890")
            ),
            None
        );
    }
}
