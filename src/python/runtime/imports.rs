//! Python packages that the binding calls natively, brought in through Python first.
//!
//! The numpy crate ends in a panic where its first use meets an import that fails or is interrupted; an import of
//! Python's own ends in its exception, `KeyboardInterrupt` among them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyImportError, PyKeyboardInterrupt};
use pyo3::prelude::*;

use crate::python::error::Failure;

/// Whether the numpy crate has been used once, after which it does not look for numpy any more.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Sees to it that numpy is there, before its arrays are read or made.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<()> {
    if FOUND.load(Ordering::Acquire) {
        return Ok(());
    }
    py.import("numpy")?;
    // It looks into numpy with Python's means, which may be interrupted as well.
    let looked = catch_unwind(AssertUnwindSafe(|| {
        drop(PyArray1::from_vec(py, vec![0.0_f64]));
        drop(PyArray1::from_vec(py, vec![0.0_f64]).readonly());
    }));
    match looked {
        Ok(()) => {
            FOUND.store(true, Ordering::Release);
            Ok(())
        }
        Err(panic) => match Failure::of_panic(panic.as_ref()) {
            Failure::Panic(said) if said.contains("KeyboardInterrupt") => {
                Err(PyKeyboardInterrupt::new_err(()))
            }
            Failure::Panic(said) => Err(PyImportError::new_err(said)),
            _ => Err(PyImportError::new_err("numpy cannot be used")),
        },
    }
}
