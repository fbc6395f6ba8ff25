//! Converts exact decimals to `decimal.Decimal`, `float` or text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyString, PyType};
use rust_decimal::Decimal;

use crate::model::{SHORT_TEXT, ShortDecimal, nearest_f64};

/// The Python type of decimals in dicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `decimal.Decimal`.
    Exact,
    /// The nearest double.
    Float,
    /// Text with all digits.
    Text,
}

impl Form {
    pub(crate) fn of(decimals: &str) -> PyResult<Self> {
        match decimals {
            "decimal" => Ok(Self::Exact),
            "float" => Ok(Self::Float),
            "text" => Ok(Self::Text),
            _ => Err(PyValueError::new_err(format!(
                "decimals: {decimals:?} is not \"decimal\", \"float\" or \"text\""
            ))),
        }
    }

    /// Converts a decimal to a Python object.
    pub(crate) fn decimal(self, py: Python<'_>, value: Decimal) -> PyResult<Bound<'_, PyAny>> {
        match (self, ShortDecimal::of(value)) {
            (Self::Float, _) => Ok(PyFloat::new(py, nearest_f64(value)).into_any()),
            (_, Some(short)) => self.short(py, short),
            (_, None) => self.text(PyString::new(py, &value.to_string())),
        }
    }

    /// Converts a decimal with a 64-bit mantissa to a Python object.
    pub(crate) fn short(self, py: Python<'_>, value: ShortDecimal) -> PyResult<Bound<'_, PyAny>> {
        if self == Self::Float {
            return Ok(PyFloat::new(py, value.f64()).into_any());
        }
        if let Some(text) = value.text(&mut [0; SHORT_TEXT]) {
            return self.text(PyString::new(py, text));
        }
        self.text(PyString::new(py, &value.decimal().to_string()))
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
