//! Delivers log records to Python's `logging`.
//!
//! Runtime threads must not attach to the interpreter, so they only queue records. The Python thread that waits for a
//! call delivers the records when the call returns. It does not lock the queue while it calls `logging`. Loggers are
//! named after modules, such as `liqdata.client`.
//!
//! If the program has not imported `logging`, records are dropped, except warnings about missing archive rows. If no
//! handler receives such a warning, it is written to standard error, because missing rows change results.

use std::collections::VecDeque;

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::contract::decode::printable;
use crate::python::runtime::log_queue::{Entry, Queue, is_never_lost};

/// The target prefix of this crate. Records of other crates are not delivered.
const OURS: &str = "liqdata";

static QUEUE: Queue = Queue::new();

impl Log for Queue {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(OURS)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        self.push((
            record.level(),
            record.target().replace("::", "."),
            // Text from a service could contain line breaks, which would fake further log lines.
            printable(&record.args().to_string()).into_owned(),
        ));
    }

    fn flush(&self) {}
}

/// The `NullHandler` of the logger `liqdata`.
static QUIET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Starts to queue log records, unless the program has installed another logger.
pub(crate) fn start() {
    if log::set_logger(&QUEUE).is_ok() {
        QUEUE.begin();
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Delivers queued records to `logging`. A Python thread calls this function while no call is running.
#[pyfunction]
pub(crate) fn deliver_logs(py: Python<'_>) -> PyResult<()> {
    deliver(py)
}

/// Delivers queued records to `logging`. The thread must be attached to the interpreter.
///
/// # Errors
///
/// Exceptions outside `Exception`, such as `KeyboardInterrupt`. Failures of logging handlers are not errors of this
/// call.
pub(crate) fn deliver(py: Python<'_>) -> PyResult<()> {
    let mut records = QUEUE.take();
    if records.is_empty() {
        return Ok(());
    }
    let passed = pass_on(py, &mut records);
    // The remaining records follow the one at which delivery failed.
    QUEUE.put_back(records);
    match passed {
        Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
        _ => Ok(()),
    }
}

/// Delivers records one by one and removes them. After an error, `records` contains those not tried yet.
fn pass_on(py: Python<'_>, records: &mut VecDeque<Entry>) -> PyResult<()> {
    let modules = py
        .import("sys")?
        .getattr("modules")?
        .cast_into::<PyDict>()?;
    let logging = match modules.get_item(intern!(py, "logging"))? {
        Some(logging) => logging,
        None if records.iter().any(is_never_lost) => py.import("logging")?.into_any(),
        None => {
            records.clear();
            return Ok(());
        }
    };
    let quiet = QUIET.get_or_try_init(py, || -> PyResult<_> {
        // By convention, a library writes no logs if the program has not configured logging.
        let handler = logging.getattr("NullHandler")?.call0()?;
        logging
            .call_method1("getLogger", (OURS,))?
            .call_method1("addHandler", (&handler,))?;
        Ok(handler.unbind())
    })?;
    while let Some(entry) = records.pop_front() {
        let is_never_lost = is_never_lost(&entry);
        let (level, target, text) = entry;
        let level = match level {
            Level::Error => 40,
            Level::Warn => 30,
            Level::Info => 20,
            Level::Debug | Level::Trace => 10,
        };
        let logger = logger(&logging, target)?;
        // Most programs ignore these records, and `logging` caches the result of `isEnabledFor`.
        if logger
            .call_method1(intern!(py, "isEnabledFor"), (level,))?
            .is_truthy()?
        {
            logger.call_method1(intern!(py, "log"), (level, "%s", &text))?;
            if is_never_lost && !has_listener(&logger, quiet.bind(py))? {
                let line = format!("liqdata: WARNING: {text}\n");
                py.import("sys")?
                    .getattr("stderr")?
                    .call_method1("write", (line,))?;
            }
        }
    }
    Ok(())
}

/// Whether a record of `logger` reaches any handler except `quiet`, the `NullHandler` of this library.
fn has_listener(logger: &Bound<'_, PyAny>, quiet: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut next = logger.clone();
    while !next.is_none() {
        for handler in next.getattr("handlers")?.try_iter()? {
            if !handler?.is(quiet) {
                return Ok(true);
            }
        }
        if !next.getattr("propagate")?.is_truthy()? {
            return Ok(false);
        }
        next = next.getattr("parent")?;
    }
    Ok(false)
}

/// Returns the logger of that name from a cache, because `logging` never replaces loggers.
fn logger<'py>(logging: &Bound<'py, PyAny>, name: String) -> PyResult<Bound<'py, PyAny>> {
    static KNOWN: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

    let py = logging.py();
    let known = KNOWN.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    if let Some(logger) = known.get_item(&name)? {
        return Ok(logger);
    }
    let logger = logging.call_method1("getLogger", (&name,))?;
    known.set_item(name, &logger)?;
    Ok(logger)
}
