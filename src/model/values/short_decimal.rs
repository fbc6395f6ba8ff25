//! Exact decimals in 64 bits, and their conversion to doubles and text.

use std::fmt::Write as _;

use rust_decimal::Decimal;

use crate::model::values::powers_of_ten::POWERS_OF_TEN_F64;

/// Doubles distinguish all decimals of at most 15 digits, so doubles of at least this size are not converted.
const FIFTEEN_DIGITS: f64 = 1e15;
/// Maximum number of digits after the point that [`ShortDecimal::from_f64`] tries.
const DOUBLE_SCALE: usize = 9;
/// Smallest absolute value that [`ShortDecimal::from_f64`] converts; it returns `None` for smaller ones.
const SMALLEST_DOUBLE: f64 = 1e-4;
/// Size of a text buffer in bytes: for a sign, a point and the digits of a 64-bit integer.
pub const SHORT_TEXT: usize = 24;

/// An exact decimal with a 64-bit mantissa, as nearly every price and amount has.
///
/// It is the compact form of [`Decimal`]: `digits · 10^-scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortDecimal {
    /// All digits as one integer.
    pub digits: i64,
    /// Digits after the point; at most 28.
    pub scale: u8,
}

impl ShortDecimal {
    /// Converts a decimal; `None` if its mantissa needs more than 64 bits.
    #[inline]
    pub fn of(value: Decimal) -> Option<Self> {
        Some(Self {
            digits: i64::try_from(value.mantissa()).ok()?,
            scale: u8::try_from(value.scale()).ok()?,
        })
    }

    /// The decimal that the shortest decimal text of `value` shows.
    ///
    /// `None` if that text has more than 15 digits or 9 decimals, or if `value` is close to zero. No two decimals of
    /// at most 15 digits round to the same double. So the first decimal that rounds to `value` is the decimal that is
    /// printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::ShortDecimal;
    ///
    /// let text = |value| ShortDecimal::from_f64(value).map(|short| short.decimal().to_string());
    /// assert_eq!(text(0.1), Some("0.1".to_owned()));
    /// assert_eq!(text(60_000.0), Some("60000".to_owned()));
    /// assert_eq!(text(0.1 + 0.2), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !(SMALLEST_DOUBLE..FIFTEEN_DIGITS).contains(&value.abs()) {
            return None;
        }
        for (scale, power) in (0..).zip(POWERS_OF_TEN_F64).take(DOUBLE_SCALE + 1) {
            let digits = (value * power).round();
            if digits.abs() >= FIFTEEN_DIGITS {
                return None;
            }
            // Both operands are exact in a double, so the quotient is the double nearest to the decimal.
            #[expect(clippy::float_cmp, reason = "only the identical double counts")]
            let is_equal = digits / power == value;
            if is_equal {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a whole number of fifteen digits"
                )]
                return Some(Self {
                    digits: digits as i64,
                    scale,
                });
            }
        }
        None
    }

    /// The same decimal as a [`Decimal`], trailing zeros included.
    #[inline]
    #[must_use]
    pub fn decimal(self) -> Decimal {
        Decimal::new(self.digits, u32::from(self.scale))
    }

    /// The nearest double.
    #[inline]
    #[must_use]
    pub fn f64(self) -> f64 {
        // Both operands are exact below 2^53 and 10^22, so one division rounds correctly (Clinger's fast path).
        match POWERS_OF_TEN_F64.get(usize::from(self.scale)) {
            Some(power) if self.digits.unsigned_abs() < 1 << 53 => {
                #[expect(clippy::cast_precision_loss, reason = "checked by the guard")]
                let digits = self.digits as f64;
                digits / power
            }
            _ => self.decimal().to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// The same decimal without trailing zeros after the point.
    #[inline]
    #[must_use]
    pub fn normalize(mut self) -> Self {
        while self.scale > 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.scale -= 1;
        }
        self
    }

    /// Writes the decimal into `buffer`, including trailing zeros; `None` if it does not fit.
    pub fn text(self, buffer: &mut [u8; SHORT_TEXT]) -> Option<&str> {
        let mut integer = itoa::Buffer::new();
        let digits = integer.format(self.digits.unsigned_abs()).as_bytes();
        let scale = usize::from(self.scale);
        let mut end = 0;
        let mut put = |bytes: &[u8]| {
            let to = end + bytes.len();
            buffer.get_mut(end..to)?.copy_from_slice(bytes);
            end = to;
            Some(())
        };
        if self.digits < 0 {
            put(b"-")?;
        }
        if scale == 0 {
            put(digits)?;
        } else if let Some((whole, fraction)) = digits
            .len()
            .checked_sub(scale)
            .filter(|&whole| whole > 0)
            .and_then(|whole| digits.split_at_checked(whole))
        {
            put(whole)?;
            put(b".")?;
            put(fraction)?;
        } else {
            put(b"0.")?;
            put(ZEROS.get(..scale - digits.len())?)?;
            put(digits)?;
        }
        std::str::from_utf8(buffer.get(..end)?).ok()
    }
}

/// Zeros for the places between the point and the first digit of a small decimal.
const ZEROS: &[u8; SHORT_TEXT] = &[b'0'; SHORT_TEXT];

/// The double nearest to `value`.
#[must_use]
pub fn nearest_f64(value: Decimal) -> f64 {
    match ShortDecimal::of(value) {
        Some(short) => short.f64(),
        None => value.to_string().parse().unwrap_or(f64::NAN),
    }
}

/// Appends `value` to `text` without trailing zeros.
pub fn push_decimal(text: &mut String, value: Decimal) {
    let short = ShortDecimal::of(value).map(ShortDecimal::normalize);
    match short.and_then(|short| {
        short
            .text(&mut [0; SHORT_TEXT])
            .map(|digits| text.push_str(digits))
    }) {
        Some(()) => {}
        // Writing to a string cannot fail.
        None => drop(write!(text, "{}", value.normalize())),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::str::FromStr;

    use proptest::prelude::*;

    use crate::model::values::short_decimal::*;

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

    fn assert_matches_text(value: f64) {
        let text = value.to_string();
        if let Some(short) = ShortDecimal::from_f64(value) {
            assert_eq!(short.decimal().to_string(), text);
        } else {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let decimals = text
                .split_once('.')
                .map_or(0, |(_, fraction)| fraction.len());
            assert!(
                digits > 15 || decimals > 9 || value.abs() < SMALLEST_DOUBLE,
                "{text}"
            );
        }
    }

    #[test]
    fn a_decimal_that_is_too_long_has_no_short_text() {
        let long = ShortDecimal {
            digits: 1,
            scale: 28,
        };
        assert_eq!(long.text(&mut [0; SHORT_TEXT]), None);
    }

    proptest! {
        #[test]
        fn a_double_becomes_the_decimal_of_its_shortest_text(whole in -99_999_999_999_i64..99_999_999_999, scale in 0_u32..12) {
            assert_matches_text(Decimal::new(whole, scale).to_string().parse().unwrap_or_default());
        }

        #[test]
        fn any_double_becomes_its_shortest_text_or_none(value in prop::num::f64::NORMAL) {
            assert_matches_text(value);
            assert_matches_text(value.abs().log2());
        }

        #[test]
        fn text_is_that_of_the_decimal(digits in any::<i64>(), scale in 0_u8..=28) {
            for digits in [digits, digits % 1000, digits % 1000 * 10_000] {
                let short = ShortDecimal { digits, scale };
                if let Some(text) = short.text(&mut [0; SHORT_TEXT]) {
                    assert_eq!(text, short.decimal().to_string());
                }
                let mut text = "=".to_owned();
                push_decimal(&mut text, short.decimal());
                assert_eq!(text, format!("={}", short.decimal().normalize()));
            }
        }
    }
}
