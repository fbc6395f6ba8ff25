//! Turns a panic into the exception `liqdata.errors.Defect`, which asks for a report.
//!
//! `PyO3` catches every panic before it reaches Python. It raises `PanicException`, which is not a subclass of
//! `Exception`, so that programs end. This module makes `PanicException` a subclass of `Defect`. If a runtime thread
//! panics, the call that waits for it raises a `Defect`.
//!
//! The exception contains the panic message. Standard error therefore does not show that message unless
//! `RUST_BACKTRACE` is set. Panics on threads that no call waits for, such as those of a server, are logged. Without a
//! handler they are printed.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::{env, panic, thread};

use pyo3::panic::PanicException;
use pyo3::prelude::*;

use crate::python::runtime::log_queue::DEFECTS;

/// Name prefix of threads that no call waits for. Panics on these threads are logged.
const ALONE: &str = "liqdata-";

/// Installs a panic hook that prints no messages for panics within calls, and logs the others. The hook affects this
/// library only.
fn keep_quiet() {
    let aloud = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let current = thread::current();
        if let Some(name) = current.name().filter(|name| name.starts_with(ALONE)) {
            let trace = Backtrace::capture();
            let trace = match trace.status() {
                BacktraceStatus::Captured => format!("\n{trace}"),
                _ => String::new(),
            };
            log::error!(target: DEFECTS, "thread {name}: {panic}{trace}");
        } else if env::var_os("RUST_BACKTRACE").is_some_and(|asked| asked != "0") {
            aloud(panic);
        }
    }));
}

/// Makes `PanicException` a subclass of `Defect`.
pub(crate) fn declare(module: &Bound<'_, PyModule>) -> PyResult<()> {
    keep_quiet();
    let py = module.py();
    let defect = py.import("liqdata.errors")?.getattr("Defect")?;
    let panic = py.get_type::<PanicException>();
    for name in ["__name__", "__qualname__", "__module__", "__doc__"] {
        panic.setattr(name, defect.getattr(name)?)?;
    }
    panic.setattr("__bases__", (defect,))?;
    // A test helper that is not exported.
    #[cfg(debug_assertions)]
    module.setattr("_Faulty", py.get_type::<faulty::Faulty>())?;
    Ok(())
}

/// Panics on purpose, by every path from Python into Rust.
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

    /// A Python class with methods that all panic.
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

        /// Panics directly.
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

        /// Panics with the interpreter released.
        fn compute(&self, py: Python<'_>) -> PyResult<u64> {
            compute(py, || panic!("{}", self.said))
        }

        /// Panics in a Python callback.
        fn calling<'py>(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            function.call0()
        }

        /// Panics on a thread that no call waits for, and returns once it has ended.
        fn alone(&self) -> PyResult<()> {
            let said = self.said.clone();
            let thread = std::thread::Builder::new().name("liqdata-alone".to_owned());
            let _ = thread.spawn(move || panic!("{said}"))?.join();
            Ok(())
        }

        /// Panics on a runtime thread.
        #[pyo3(signature = (bridge=None, token=0))]
        fn begin(&self, bridge: Option<&Bound<'_, Bridge>>, token: u64) -> PyResult<Call> {
            let said = self.said.clone();
            Call::begin(async move { panic!("{said}") }, wakeup(bridge, token))
        }
    }
}
