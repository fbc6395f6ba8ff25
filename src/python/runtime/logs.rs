//! Log records on their way to Python's `logging`.
//!
//! The runtime's threads must not attach to the interpreter, so they only queue what they have to say. The thread that
//! waits for a call hands the records to `logging` when it comes home, holding no lock. Loggers are named after the
//! room: `liqdata.client`. A program that never imported `logging` pays for nothing and hears nothing, except that rows of
//! an archive are missing: that is said on stderr where nobody listens, for the numbers are others without them.

use std::collections::VecDeque;

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::python::runtime::log_queue::{Entry, Queue, is_heard};
use crate::wire::printable;

/// Targets that are ours; other crates' records are not passed on.
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
            // What a service or a venue said may stand in it, and is no line of its own.
            printable(&record.args().to_string()).into_owned(),
        ));
    }

    fn flush(&self) {}
}

/// What keeps our logger quiet where nobody listens.
static QUIET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Starts queueing; a program that embeds another logger keeps that one.
pub(crate) fn start() {
    if log::set_logger(&QUEUE).is_ok() {
        QUEUE.begin();
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Hands what was queued to `logging`: what a thread of Python's does while nobody calls.
#[pyfunction]
pub(crate) fn deliver_logs(py: Python<'_>) -> PyResult<()> {
    deliver(py)
}

/// Hands what was queued to `logging`, on a thread that is attached anyway.
///
/// # Errors
///
/// What is no ordinary exception, such as a `KeyboardInterrupt` that arrived meanwhile; a logging set-up that fails is
/// not this call's failure.
pub(crate) fn deliver(py: Python<'_>) -> PyResult<()> {
    let mut records = QUEUE.take();
    if records.is_empty() {
        return Ok(());
    }
    let passed = pass_on(py, &mut records);
    // Behind the one at which it failed.
    QUEUE.put_back(records);
    match passed {
        Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
        _ => Ok(()),
    }
}

/// Hands on one after the other; what is left in the end was not.
fn pass_on(py: Python<'_>, records: &mut VecDeque<Entry>) -> PyResult<()> {
    let modules = py
        .import("sys")?
        .getattr("modules")?
        .cast_into::<PyDict>()?;
    let logging = match modules.get_item(intern!(py, "logging"))? {
        Some(logging) => logging,
        None if records.iter().any(is_heard) => py.import("logging")?.into_any(),
        None => {
            records.clear();
            return Ok(());
        }
    };
    let quiet = QUIET.get_or_try_init(py, || -> PyResult<_> {
        // A program that has set up no logging hears nothing, as the convention for libraries has it.
        let handler = logging.getattr("NullHandler")?.call0()?;
        logging
            .call_method1("getLogger", (OURS,))?
            .call_method1("addHandler", (&handler,))?;
        Ok(handler.unbind())
    })?;
    while let Some(entry) = records.pop_front() {
        let must_be_heard = is_heard(&entry);
        let (level, target, text) = entry;
        let level = match level {
            Level::Error => 40,
            Level::Warn => 30,
            Level::Info => 20,
            Level::Debug | Level::Trace => 10,
        };
        let logger = logger(&logging, target)?;
        // Every call has something to tell and few listen, which the logger remembers.
        if logger
            .call_method1(intern!(py, "isEnabledFor"), (level,))?
            .is_truthy()?
        {
            logger.call_method1(intern!(py, "log"), (level, "%s", &text))?;
            if must_be_heard && !has_listener(&logger, quiet.bind(py))? {
                let line = format!("liqdata: WARNING: {text}\n");
                py.import("sys")?
                    .getattr("stderr")?
                    .call_method1("write", (line,))?;
            }
        }
    }
    Ok(())
}

/// Whether a record of `logger` comes to any handler but `quiet`, which is ours.
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

/// The logger of that name, which `logging` never replaces.
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
