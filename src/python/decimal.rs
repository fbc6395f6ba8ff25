//! Exact decimals as Python objects: `decimal.Decimal`, `float` or text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyString, PyType};
use rust_decimal::Decimal;

use crate::model::{Fixed, nearest_f64};

/// What decimals become in dicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `decimal.Decimal`.
    Exact,
    /// The nearest double.
    Float,
    /// Text with every digit.
    Text,
}

impl Form {
    pub(super) fn of(decimals: &str) -> PyResult<Self> {
        match decimals {
            "decimal" => Ok(Self::Exact),
            "float" => Ok(Self::Float),
            "text" => Ok(Self::Text),
            _ => Err(PyValueError::new_err(format!(
                "decimals: {decimals:?} is not \"decimal\", \"float\" or \"text\""
            ))),
        }
    }

    /// The object for a decimal.
    pub(super) fn decimal(self, py: Python<'_>, value: Decimal) -> PyResult<Bound<'_, PyAny>> {
        match (self, Fixed::of(value)) {
            (Self::Float, _) => Ok(PyFloat::new(py, nearest_f64(value)).into_any()),
            (_, Some(Fixed { digits, scale })) => self.short(py, digits, scale),
            (_, None) => self.text(PyString::new(py, &value.to_string())),
        }
    }

    /// The object for the decimal of these digits, `scale` of which stand behind the point.
    pub(super) fn short(
        self,
        py: Python<'_>,
        digits: i64,
        scale: u8,
    ) -> PyResult<Bound<'_, PyAny>> {
        if self == Self::Float {
            return Ok(PyFloat::new(py, Fixed { digits, scale }.f64()).into_any());
        }
        if let Some(text) = short_text(digits, scale, &mut [0; SHORT]) {
            return self.text(PyString::new(py, text));
        }
        let text = Fixed { digits, scale }.decimal().to_string();
        self.text(PyString::new(py, &text))
    }

    fn text(self, text: Bound<'_, PyString>) -> PyResult<Bound<'_, PyAny>> {
        static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        if self == Self::Text {
            return Ok(text.into_any());
        }
        DECIMAL
            .import(text.py(), "decimal", "Decimal")?
            .call1((text,))
    }
}

/// Room for a sign, a point and the digits of 64 bits.
const SHORT: usize = 24;

/// The text of a decimal, written into `room`; `None` where it has no room.
fn short_text(digits: i64, scale: u8, room: &mut [u8; SHORT]) -> Option<&str> {
    let mut buffer = itoa::Buffer::new();
    let written = buffer.format(digits.unsigned_abs()).as_bytes();
    let scale = usize::from(scale);
    let mut end = 0;
    let mut put = |bytes: &[u8]| {
        let to = end + bytes.len();
        room.get_mut(end..to)?.copy_from_slice(bytes);
        end = to;
        Some(())
    };
    if digits < 0 {
        put(b"-")?;
    }
    if scale == 0 {
        put(written)?;
    } else if let Some((whole, behind)) = written
        .len()
        .checked_sub(scale)
        .filter(|&whole| whole > 0)
        .and_then(|whole| written.split_at_checked(whole))
    {
        put(whole)?;
        put(b".")?;
        put(behind)?;
    } else {
        put(b"0.")?;
        put(ZEROS.get(..scale - written.len())?)?;
        put(written)?;
    }
    std::str::from_utf8(room.get(..end)?).ok()
}

/// What stands between the point and the digits of a small decimal.
const ZEROS: &[u8; SHORT] = &[b'0'; SHORT];

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
            "-9223372036854775808",
        ] {
            let value: Decimal = text.parse().unwrap();
            let digits = i64::try_from(value.mantissa()).unwrap();
            let scale = u8::try_from(value.scale()).unwrap();
            assert_eq!(short_text(digits, scale, &mut [0; SHORT]), Some(text));
        }
    }

    #[test]
    fn a_decimal_without_room_is_left_to_the_general_way() {
        assert_eq!(short_text(1, 28, &mut [0; SHORT]), None);
    }
}
