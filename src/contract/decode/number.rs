//! Number parsing: JSON grammar, exact decimals, exact integers, nearest doubles.
//!
//! All parsers work on text. A service may send a number as a token or as a string, and a decimal must not pass
//! through a binary float.

use rust_decimal::Decimal;

use super::damage::shown;
use crate::model;

/// Maximum number of significant digits of a decimal, trailing zeros excluded.
const DIGITS: i64 = 28;
/// Maximum number of digits of a decimal after the point.
const SCALE: i64 = 28;

/// A number split according to JSON's grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    exponent: i64,
}

/// The digits of a number: `mantissa · 10^(zeros − scale)`. The mantissa does not end in zero.
struct Digits {
    mantissa: i128,
    /// Number of digits of the mantissa.
    length: i64,
    /// Trailing zeros after the mantissa.
    zeros: i64,
    /// Digits after the point, minus the exponent.
    scale: i64,
}

/// Splits `text` after its leading decimal digits.
fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

fn power_of_ten(exponent: i64) -> Option<i128> {
    model::power_of_ten(u32::try_from(exponent).ok()?)
}

impl<'a> Number<'a> {
    /// Splits `text`; `None` unless it is a JSON number.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix('-');
        let (integer, rest) = leading_digits(unsigned.unwrap_or(text));
        if integer.is_empty() || (integer.len() > 1 && integer.starts_with('0')) {
            return None;
        }
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => {
                let (fraction, rest) = leading_digits(rest);
                (!fraction.is_empty()).then_some((fraction, rest))?
            }
            None => ("", rest),
        };
        let exponent = match rest.strip_prefix(['e', 'E']) {
            Some(rest) => {
                let (down, rest) = match rest.strip_prefix('-') {
                    Some(rest) => (true, rest),
                    None => (false, rest.strip_prefix('+').unwrap_or(rest)),
                };
                let (digits, rest) = leading_digits(rest);
                if digits.is_empty() || !rest.is_empty() {
                    return None;
                }
                // An exponent beyond 64 bits gives the same result as the largest one.
                let size = digits.parse::<i64>().unwrap_or(i64::MAX);
                if down { -size } else { size }
            }
            None if rest.is_empty() => 0,
            None => return None,
        };
        Some(Self {
            negative: unsigned.is_some(),
            integer,
            fraction,
            exponent,
        })
    }

    /// The digits; `None` if more than 28 of them are significant.
    fn digits(&self) -> Option<Digits> {
        let (mut mantissa, mut length, mut zeros) = (0_i128, 0_i64, 0_i64);
        for byte in self.integer.bytes().chain(self.fraction.bytes()) {
            let digit = i128::from(byte - b'0');
            if digit == 0 {
                zeros += i64::from(mantissa != 0);
                continue;
            }
            length += zeros + 1;
            if length > DIGITS {
                return None;
            }
            mantissa = mantissa * power_of_ten(zeros + 1)? + digit;
            zeros = 0;
        }
        let written = i64::try_from(self.fraction.len()).ok()?;
        Some(Digits {
            mantissa,
            length,
            zeros,
            scale: written.saturating_sub(self.exponent),
        })
    }

    fn signed(&self, size: i128) -> i128 {
        if self.negative { -size } else { size }
    }

    /// The exact decimal; keeps the scale as written if it fits.
    fn decimal(&self) -> Option<Decimal> {
        let digits = self.digits()?;
        let in_reach = 0..=SCALE;
        let stripped = digits.scale.saturating_sub(digits.zeros);
        let (size, scale) = if digits.mantissa == 0 {
            let scale = Some(digits.scale).filter(|scale| in_reach.contains(scale));
            (0, scale.unwrap_or(0))
        } else if in_reach.contains(&digits.scale) && digits.length + digits.zeros <= DIGITS {
            (digits.mantissa * power_of_ten(digits.zeros)?, digits.scale)
        } else if stripped < 0 {
            let unit = power_of_ten(stripped.checked_neg()?)?;
            (digits.mantissa.checked_mul(unit)?, 0)
        } else if stripped <= SCALE {
            (digits.mantissa, stripped)
        } else {
            return None;
        };
        Decimal::try_from_i128_with_scale(self.signed(size), u32::try_from(scale).ok()?).ok()
    }

    /// The number times 10^`shift`, if that is an integer that fits 128 bits.
    pub(super) fn whole(&self, shift: i64) -> Option<i128> {
        let digits = self.digits()?;
        if digits.mantissa == 0 {
            return Some(0);
        }
        let exponent = digits
            .zeros
            .saturating_sub(digits.scale)
            .saturating_add(shift);
        let size = digits.mantissa.checked_mul(power_of_ten(exponent)?)?;
        Some(self.signed(size))
    }
}

/// Parses a decimal of at most 18 characters without an exponent, the form of nearly every price and amount.
fn short_decimal(text: &str) -> Option<Decimal> {
    const DIGITS: usize = 18;
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > DIGITS {
        return None;
    }
    if let [b'0', next, ..] = digits
        && *next != b'.'
    {
        return None;
    }
    let mut size = 0_i64;
    let mut point = None;
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => size = size * 10 + i64::from(byte - b'0'),
            b'.' if point.is_none() && at > 0 => point = Some(at),
            _ => return None,
        }
    }
    let scale = match point {
        Some(point) => digits.len() - point - 1,
        None => 0,
    };
    if digits.is_empty() || (point.is_some() && scale == 0) {
        return None;
    }
    let size = if negative { -size } else { size };
    Some(Decimal::new(size, u32::try_from(scale).ok()?))
}

/// Parses an exact decimal by JSON's number grammar.
///
/// The scale stays as written if it fits (`0.190` stays `0.190`); otherwise trailing zeros are dropped. Nothing is
/// rounded, and nothing passes through a binary float. Negative zero becomes zero.
///
/// # Errors
///
/// A message that quotes `text`, if it is not a JSON number, or if it needs more than 28 significant digits or more
/// than 28 digits after the point.
///
/// # Examples
///
/// ```
/// use liqdata::contract::decode::exact_decimal;
///
/// assert_eq!(exact_decimal("0.190")?.to_string(), "0.190");
/// assert_eq!(exact_decimal("1e-7")?.to_string(), "0.0000001");
/// assert!(exact_decimal("0.1234567890123456789012345678901").is_err());
/// assert!(exact_decimal("+1").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn exact_decimal(text: &str) -> Result<Decimal, String> {
    if let Some(short) = short_decimal(text) {
        return Ok(short);
    }
    let number = Number::read(text).ok_or_else(|| not_a_number(text))?;
    number.decimal().ok_or_else(|| {
        format!(
            "{} does not fit a decimal exactly; at most {DIGITS} digits, {SCALE} of them behind the point, are allowed",
            shown(text)
        )
    })
}

/// Parses the nearest double by JSON's number grammar.
///
/// # Errors
///
/// A message that quotes `text`, if it is not a JSON number or is beyond the largest double.
pub fn nearest_double(text: &str) -> Result<f64, String> {
    Number::read(text)
        .and_then(|_| text.parse().ok())
        .ok_or_else(|| not_a_number(text))
        .and_then(|value: f64| {
            if value.is_finite() {
                Ok(value)
            } else {
                Err(format!("{} is beyond the largest double", shown(text)))
            }
        })
}

/// Parses an integer by JSON's number grammar; `5.0` and `1e3` are integers.
pub(in crate::contract) fn whole_number<T>(text: &str, range: &str) -> Result<T, String>
where
    T: TryFrom<i128>,
{
    let number = Number::read(text).ok_or_else(|| not_a_number(text))?;
    number
        .whole(0)
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| format!("{} is not a whole number {range}", shown(text)))
}

pub(super) fn not_a_number(text: &str) -> String {
    format!("{} is not a valid JSON number", shown(text))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIGNED: &str = "in 64 bits";

    #[test]
    fn a_decimal_keeps_its_text_where_it_fits() {
        for text in [
            "0",
            "5",
            "100",
            "0.190",
            "-12.50",
            "0.000",
            "63250.1",
            "9999999999999999999999999999",
            "0.0000000000000000000000000001",
        ] {
            assert_eq!(exact_decimal(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn exponents_and_zeros_beyond_reach_are_worked_off_exactly() {
        for (text, value) in [
            ("1e-7", "0.0000001"),
            ("1.50e3", "1500"),
            ("1E+28", "10000000000000000000000000000"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("0e99999999999999999999", "0"),
            ("1.50000000000000000000000000000000000", "1.5"),
            ("100.0000000000000000000000000000000000", "100"),
            ("1200e-2", "12.00"),
            ("1000000000000000000000000000000e-30", "1"),
        ] {
            assert_eq!(exact_decimal(text).unwrap().to_string(), value, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_never_rounded() {
        for text in [
            "1E+30",
            "8e28",
            "12345678901234567890123456789",
            "79228162514264337593543950335",
            "1e-29",
            "1.00000000000000000000000000001",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "123456789012345678901234567890.123456789012345678901234567890",
        ] {
            assert!(exact_decimal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_jsons_grammar_is_a_number() {
        for text in [
            "", "-", "+1", ".5", "5.", "01", "-01", "1_000", "1,000", "NaN", "nan", "Infinity",
            "-inf", "1e", "1e+", "1e1.5", "0x10", " 1", "1 ", "１", "1.5.2", "--1", "1e5e5",
            "\u{661}",
        ] {
            assert!(exact_decimal(text).is_err(), "{text:?}");
            assert!(nearest_double(text).is_err(), "{text:?}");
            assert!(whole_number::<i64>(text, SIGNED).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_double_beyond_the_largest_is_refused() {
        assert!(nearest_double("1e400").is_err());
        assert!(nearest_double("-1e400").is_err());
        assert_eq!(nearest_double("1e-400").unwrap().to_bits(), 0);
        assert_eq!(
            nearest_double("-0").unwrap().to_bits(),
            (-0.0_f64).to_bits()
        );
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_point_or_an_exponent() {
        for (text, value) in [("5.0", 5), ("1e3", 1000), ("-120e-1", -12), ("-0", 0)] {
            assert_eq!(whole_number::<i64>(text, SIGNED), Ok(value), "{text}");
        }
        assert_eq!(
            whole_number::<i64>("9223372036854775807", SIGNED),
            Ok(i64::MAX)
        );
        assert!(whole_number::<i64>("9223372036854775808", SIGNED).is_err());
        assert_eq!(
            whole_number::<u64>("18446744073709551615", SIGNED),
            Ok(u64::MAX)
        );
        assert!(whole_number::<u64>("-1", SIGNED).is_err());
        assert!(whole_number::<i64>("5.5", SIGNED).is_err());
        assert!(whole_number::<i64>("1e-1", SIGNED).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_short_decimal_is_what_its_parts_give(text in "-?[0-9]{0,12}\\.?[0-9]{0,8}|-?0{0,2}[0-9.]{0,4}") {
            let by_parts = Number::read(&text).and_then(|number| number.decimal());
            if let Some(short) = short_decimal(&text) {
                prop_assert_eq!(Some(short.to_string()), by_parts.map(|value| value.to_string()), "{}", text);
            } else {
                prop_assert!(by_parts.is_none() || text.len() > 18, "{}", text);
            }
        }
    }
}
