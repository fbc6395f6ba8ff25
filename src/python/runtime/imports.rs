//! Imports Python packages before the binding uses their C interface.
//!
//! The numpy crate panics if its own import of numpy fails or is interrupted. A plain import before that raises the
//! proper exception instead, for example `KeyboardInterrupt`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyImportError, PyKeyboardInterrupt};
use pyo3::prelude::*;

use crate::python::error::Failure;

/// Whether the numpy crate has been used successfully. After that it does not import numpy again.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Imports numpy before its arrays are read or created.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<()> {
    if FOUND.load(Ordering::Acquire) {
        return Ok(());
    }
    py.import("numpy")?;
    // The first use imports internal modules of numpy, which may also be interrupted.
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
