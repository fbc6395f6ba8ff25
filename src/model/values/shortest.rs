//! Doubles as the decimals that their shortest texts say, without the text; and decimals as text, quickly.

use std::fmt::Write as _;

use rust_decimal::Decimal;

/// Powers of ten that a double holds exactly, one for each count of decimals that is looked for.
const TENS: [f64; 10] = [1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// Decimals of so many digits are told apart by doubles.
const FIFTEEN_DIGITS: f64 = 1e15;
/// What is smaller is written with an exponent.
const LEAST: f64 = 1e-4;

/// The decimal that the shortest text of `value` says, with as many decimals; `None` where that text has more than fifteen
/// digits or nine decimals, and of numbers near zero.
///
/// Of two decimals of at most fifteen digits no two are nearest to the same double, so that the first that is nearest to
/// this one is the one that is written.
///
/// # Examples
///
/// ```
/// use liqdata::model::short_decimal;
///
/// assert_eq!(short_decimal(0.1).map(|value| value.to_string()), Some("0.1".to_owned()));
/// assert_eq!(short_decimal(60_000.0).map(|value| value.to_string()), Some("60000".to_owned()));
/// assert_eq!(short_decimal(0.1 + 0.2), None);
/// ```
#[must_use]
pub fn short_decimal(value: f64) -> Option<Decimal> {
    let (digits, scale) = short_digits(value)?;
    Some(Decimal::new(digits, u32::from(scale)))
}

/// The digits of [`short_decimal`], and how many of them stand behind the point.
#[inline]
#[must_use]
pub(crate) fn short_digits(value: f64) -> Option<(i64, u8)> {
    if !(LEAST..FIFTEEN_DIGITS).contains(&value.abs()) {
        return None;
    }
    for (scale, ten) in (0..).zip(TENS) {
        let whole = (value * ten).round();
        if whole.abs() >= FIFTEEN_DIGITS {
            return None;
        }
        // Both are exact, so that the quotient is the double nearest to the decimal.
        #[expect(
            clippy::float_cmp,
            reason = "it is this double or another, not one near it"
        )]
        let is_it = whole / ten == value;
        if is_it {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a whole number of fifteen digits"
            )]
            return Some((whole as i64, scale));
        }
    }
    None
}

/// Writes a decimal behind `text`, as it shows itself.
pub fn push_decimal(text: &mut String, value: Decimal) {
    let scale = value.scale();
    let unit = 10_u64.checked_pow(scale);
    let digits = u64::try_from(value.mantissa()).ok();
    // Nothing is refused by a text.
    let _ = match digits.zip(unit) {
        Some((digits, unit)) if scale > 0 && !value.is_sign_negative() => {
            let (whole, rest) = (digits / unit, digits % unit);
            write!(text, "{whole}.{rest:0width$}", width = scale as usize)
        }
        Some((digits, _)) if !value.is_sign_negative() => write!(text, "{digits}"),
        _ => write!(text, "{value}"),
    };
}

/// Writes the decimal of these digits, of which `scale` stand behind the point, behind `text`, without zeros at its end.
pub(crate) fn push_short(text: &mut String, (mut digits, mut scale): (i64, u8)) {
    while scale > 0 && digits % 10 == 0 {
        digits /= 10;
        scale -= 1;
    }
    let mut number = itoa::Buffer::new();
    let unit = crate::model::TENS.get(usize::from(scale)).copied();
    match unit.and_then(|unit| i64::try_from(unit).ok()) {
        _ if scale == 0 => text.push_str(number.format(digits)),
        Some(unit) if digits > 0 => {
            text.push_str(number.format(digits / unit));
            text.push('.');
            let behind = number.format(digits % unit);
            for _ in behind.len()..usize::from(scale) {
                text.push('0');
            }
            text.push_str(behind);
        }
        _ => push_decimal(text, Decimal::new(digits, u32::from(scale))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::model::values::shortest::*;

    fn is_its_text(value: f64) {
        let text = value.to_string();
        if let Some(short) = short_decimal(value) {
            assert_eq!(short.to_string(), text);
        } else {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let decimals = text.split_once('.').map_or(0, |(_, behind)| behind.len());
            assert!(digits > 15 || decimals > 9 || value.abs() < LEAST, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_what_the_shortest_text_says(whole in -99_999_999_999_i64..99_999_999_999, scale in 0_u32..12) {
            is_its_text(Decimal::new(whole, scale).to_string().parse().unwrap_or_default());
        }

        #[test]
        fn a_decimal_is_written_as_it_shows_itself(digits in any::<i64>(), scale in 0_u32..=28) {
            for value in [Decimal::new(digits, scale), Decimal::new(digits % 1000, scale), -Decimal::ZERO] {
                let mut text = "=".to_owned();
                push_decimal(&mut text, value);
                assert_eq!(text, format!("={value}"));
            }
            for digits in [digits, digits % 1000, digits % 1000 * 10_000] {
                let mut text = "=".to_owned();
                push_short(&mut text, (digits, u8::try_from(scale).unwrap_or_default()));
                assert_eq!(text, format!("={}", Decimal::new(digits, scale).normalize()));
            }
        }

        #[test]
        fn so_it_is_of_any_double(value in prop::num::f64::NORMAL) {
            is_its_text(value);
            is_its_text(value.abs().log2());
        }
    }
}
