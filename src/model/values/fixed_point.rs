//! Numbers of a fixed point: whole digits, and how many of them stand behind the point; with the powers of ten.

use rust_decimal::Decimal;

/// The powers of ten that 64 bits hold.
pub(crate) const TENS: [u64; 20] = {
    let mut tens = [1; 20];
    let mut place = 1;
    while place < tens.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            tens[place] = tens[place - 1] * 10;
        }
        place += 1;
    }
    tens
};

/// The powers of ten that a double holds exactly.
pub(crate) const TENS_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Ten to the power of `digits`, where 127 bits hold it.
#[inline]
#[must_use]
pub(crate) const fn power_of_ten(digits: u32) -> Option<i128> {
    10_i128.checked_pow(digits)
}

/// A decimal whose digits 64 bits hold, as nearly every price and amount is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    /// The digits as one whole number.
    pub(crate) digits: i64,
    /// How many of them stand behind the point; at most 28.
    pub(crate) scale: u8,
}

impl Fixed {
    /// The decimal, if it is so short.
    #[inline]
    pub(crate) fn of(value: Decimal) -> Option<Self> {
        Some(Self {
            digits: i64::try_from(value.mantissa()).ok()?,
            scale: u8::try_from(value.scale()).ok()?,
        })
    }

    /// The decimal, with its zeros at the end.
    #[inline]
    pub(crate) fn decimal(self) -> Decimal {
        Decimal::new(self.digits, u32::from(self.scale))
    }

    /// The double nearest to it.
    #[inline]
    pub(crate) fn f64(self) -> f64 {
        // Both operands are exact below 2^53 and 10^22, so one division rounds correctly (Clinger's fast path).
        match TENS_F64.get(usize::from(self.scale)) {
            Some(ten) if self.digits.unsigned_abs() < 1 << 53 => {
                #[expect(clippy::cast_precision_loss, reason = "it was just shown to fit")]
                let digits = self.digits as f64;
                digits / ten
            }
            _ => self.decimal().to_string().parse().unwrap_or(f64::NAN),
        }
    }
}

/// The double nearest to `value`.
#[must_use]
pub fn nearest_f64(value: Decimal) -> f64 {
    match Fixed::of(value) {
        Some(fixed) => fixed.f64(),
        None => value.to_string().parse().unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::str::FromStr;

    use crate::model::values::fixed_point::*;

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
}
