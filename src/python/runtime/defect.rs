//! A panic is a bug, and ends as an exception like any other: `liqdata.errors.Defect`, which asks for a report.
//!
//! `PyO3` catches every panic that comes to the border, in functions, methods, properties, iterators and finalisers alike,
//! and raises one class of its own, which stands beside `Exception` so that it ends programs. That class is made a
//! `Defect` here, once for all of them. What ends on a thread of the runtime comes home with its call as the same.
//!
//! Since the exception has the message, Rust's own words on standard error are left out, unless `RUST_BACKTRACE` asks for
//! them. What ends where no call waits, in a thread of a server or of an archive that is written, is said there as ever.

use std::{env, panic, thread};

use pyo3::panic::PanicException;
use pyo3::prelude::*;

/// What the names of threads begin with whose panics nobody is told of but by standard error; those that calls wait for
/// are called `liqdata` or have no name.
const ALONE: &str = "liqdata-";

/// Leaves what a caller is told to the exception. It is of this library alone: others have hooks of their own.
fn keep_quiet() {
    let aloud = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let asked = env::var_os("RUST_BACKTRACE").is_some_and(|asked| asked != "0");
        let alone = thread::current();
        if asked || alone.name().is_some_and(|name| name.starts_with(ALONE)) {
            aloud(panic);
        }
    }));
}

/// Makes every panic that is raised a `Defect`.
pub(crate) fn declare(module: &Bound<'_, PyModule>) -> PyResult<()> {
    keep_quiet();
    let py = module.py();
    let defect = py.import("liqdata.errors")?.getattr("Defect")?;
    let panic = py.get_type::<PanicException>();
    for name in ["__name__", "__qualname__", "__module__", "__doc__"] {
        panic.setattr(name, defect.getattr(name)?)?;
    }
    panic.setattr("__bases__", (defect,))?;
    // No part of the module's face, so not among what it exports.
    #[cfg(debug_assertions)]
    module.setattr("_Faulty", py.get_type::<faulty::Faulty>())?;
    Ok(())
}

/// A bug on purpose, in whatever way Python may call: it shows what becomes of one.
#[cfg(debug_assertions)]
mod faulty {
    #![expect(
        clippy::panic,
        clippy::unused_self,
        clippy::panic_in_result_fn,
        reason = "panics on purpose, in methods of every kind"
    )]

    use pyo3::prelude::*;

    use crate::python::calls::asyncio_waker::{Bridge, wakeup};
    use crate::python::calls::call::{Call, compute};

    /// Panics wherever it is touched.
    #[pyclass(frozen, name = "_Faulty", module = "liqdata._core")]
    pub(in crate::python) struct Faulty {
        said: String,
        at_the_end: bool,
    }

    impl Drop for Faulty {
        fn drop(&mut self) {
            assert!(!self.at_the_end, "{}", self.said);
        }
    }

    #[pymethods]
    impl Faulty {
        #[new]
        #[pyo3(signature = (said, at_the_end=false))]
        fn new(said: String, at_the_end: bool) -> Self {
            Self { said, at_the_end }
        }

        /// At once.
        fn call(&self) -> u64 {
            panic!("{}", self.said)
        }

        #[getter]
        fn member(&self) -> u64 {
            panic!("{}", self.said)
        }

        fn __len__(&self) -> usize {
            panic!("{}", self.said)
        }

        fn __iter__(slf: Py<Self>) -> Py<Self> {
            slf
        }

        fn __next__(&self) -> Option<u64> {
            panic!("{}", self.said)
        }

        /// With the interpreter released.
        fn compute(&self, py: Python<'_>) -> PyResult<u64> {
            compute(py, || panic!("{}", self.said))
        }

        /// In what Python calls and is called by.
        fn calling<'py>(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            function.call0()
        }

        /// On a thread of the runtime.
        #[pyo3(signature = (bridge=None, token=0))]
        fn begin(&self, bridge: Option<&Bound<'_, Bridge>>, token: u64) -> PyResult<Call> {
            let said = self.said.clone();
            Call::begin(async move { panic!("{said}") }, wakeup(bridge, token))
        }
    }
}
