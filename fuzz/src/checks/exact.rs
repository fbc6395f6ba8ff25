//! What a number is, worked out digit by digit on its text: slow, plain, and apart from how the package reads it.

use serde_json::value::RawValue;

/// `±digits · 10^exponent`; the digits neither begin nor end with a zero, and there are none in zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) digits: String,
    pub(super) exponent: i128,
}

/// Whether `text` is a number by JSON's grammar, as another reader of JSON says.
pub(super) fn is_number(text: &str) -> bool {
    let begins = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let ends = text.ends_with(|last: char| last.is_ascii_digit());
    begins && ends && serde_json::from_str::<&RawValue>(text).is_ok()
}

impl Exact {
    /// The value of a number by JSON's grammar.
    pub(super) fn of(text: &str) -> Self {
        let (negative, size) = match text.strip_prefix('-') {
            Some(size) => (true, size),
            None => (false, text),
        };
        let (mantissa, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = format!("{whole}{fraction}");
        let digits = written.trim_end_matches('0');
        // An exponent of more digits than these is out of all reach.
        let far = if exponent.starts_with('-') {
            i128::MIN / 2
        } else {
            i128::MAX / 2
        };
        let exponent = exponent.parse().unwrap_or(far);
        let moved = count(&written) - count(digits) - count(fraction);
        let digits = digits.trim_start_matches('0').to_owned();
        let zero = digits.is_empty();
        Self {
            negative: negative && !zero,
            digits,
            exponent: if zero { 0 } else { exponent + moved },
        }
    }

    /// How many digits there are.
    pub(super) fn length(&self) -> i128 {
        count(&self.digits)
    }

    /// This times `10^shift`, where that is whole and has at most 38 digits.
    pub(super) fn whole(&self, shift: i128) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let size: i128 = self.digits.parse().ok()?;
        let zeros = u32::try_from(self.exponent + shift).ok()?;
        let size = size.checked_mul(10_i128.checked_pow(zeros)?)?;
        Some(if self.negative { -size } else { size })
    }
}

fn count(text: &str) -> i128 {
    i128::try_from(text.len()).unwrap_or(i128::MAX)
}
