//! Exact decimals as Python's `decimal.Decimal`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rust_decimal::Decimal;

/// The exact decimal.
pub(super) fn exact(py: Python<'_>, value: Decimal) -> PyResult<Bound<'_, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match short_text(value, &mut [0; SHORT]) {
        Some(text) => DECIMAL.import(py, "decimal", "Decimal")?.call1((text,)),
        None => value.into_pyobject(py),
    }
}

/// Room for a sign, a point and the digits of 64 bits.
const SHORT: usize = 24;

/// The text of a decimal of few digits, written from the end of `room`.
fn short_text(value: Decimal, room: &mut [u8; SHORT]) -> Option<&str> {
    let scale = usize::try_from(value.scale()).ok()?;
    let mut left = u64::try_from(value.mantissa().unsigned_abs()).ok()?;
    let mut start = SHORT;
    let mut put = |byte| {
        start = start.checked_sub(1)?;
        *room.get_mut(start)? = byte;
        Some(start)
    };
    let mut digits = 0;
    while left > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            put(b'.')?;
        }
        put(b'0' + u8::try_from(left % 10).ok()?)?;
        left /= 10;
        digits += 1;
    }
    if value.is_sign_negative() {
        put(b'-')?;
    }
    std::str::from_utf8(room.get(start..)?).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_short_decimal_is_written_as_it_came() {
        for text in [
            "0",
            "0.0",
            "0.190",
            "-12.50",
            "5",
            "-0.001",
            "63190.00",
            "1234567890.12345678",
            "0.000000000000000001",
            "-18446744073709551615",
        ] {
            let value: Decimal = text.parse().unwrap();
            assert_eq!(short_text(value, &mut [0; SHORT]), Some(text));
        }
    }

    #[test]
    fn a_long_decimal_is_left_to_the_general_way() {
        for text in ["18446744073709551616", "0.0000000000000000000000000001"] {
            let value: Decimal = text.parse().unwrap();
            assert_eq!(short_text(value, &mut [0; SHORT]), None);
        }
    }
}
