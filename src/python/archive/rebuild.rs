//! Decodes the stored exchange messages (frames) of an archive again.

use std::path::PathBuf;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::collect::{self, CollectError, RebuildCounts, RebuildOptions};
use crate::model::Millis;
use crate::python::error;
use crate::python::runtime::logs;

/// Decodes stored frames again, and compares the orders with the stored ones or replaces these. Calls `seen` with the
/// number of bytes read and the total.
#[pyfunction]
#[pyo3(signature = (path, start, end, exchanges, dry_run, seen=None))]
pub(crate) fn rebuild(
    py: Python<'_>,
    path: PathBuf,
    start: Option<i64>,
    end: Option<i64>,
    exchanges: Vec<String>,
    dry_run: bool,
    seen: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyDict>> {
    let again = RebuildOptions {
        start: start.map(Millis),
        end: end.map(Millis),
        venues: exchanges,
        dry_run,
    };
    let (done, raised) = py.detach(move || {
        let mut raised = None;
        let done = collect::rebuild(&path, &again, &mut |read, of| {
            // After an exception, every further call also makes the work stop.
            if raised.is_some() {
                return false;
            }
            let went_on = Python::attach(|py| {
                py.check_signals()?;
                match &seen {
                    Some(seen) => seen.call1(py, (read, of)).map(drop),
                    None => Ok(()),
                }
            });
            raised = went_on.err();
            raised.is_none()
        });
        (done, raised)
    });
    logs::deliver(py)?;
    if let Some(raised) = raised {
        return Err(raised);
    }
    let done = done
        .map_err(|fault| match fault {
            CollectError::Archive(fault) => error::archive(py, &fault),
            CollectError::Venue(fault) => error::from_feeds(py, &fault),
            fault => PyRuntimeError::new_err(fault.to_string()),
        })?
        .unwrap_or_default();
    let summary = PyDict::new(py);
    let exchanges = PyDict::new(py);
    for (name, counts) in &done.exchanges {
        exchanges.set_item(name, counted(py, counts)?)?;
    }
    summary.set_item("exchanges", exchanges)?;
    summary.set_item("damaged", done.damaged)?;
    Ok(summary)
}

fn counted<'py>(py: Python<'py>, counts: &RebuildCounts) -> PyResult<Bound<'py, PyDict>> {
    let summary = PyDict::new(py);
    for (name, count) in [
        ("frames", counts.frames),
        ("unread", counts.unread),
        ("same", counts.same),
        ("corrected", counts.corrected),
        ("new", counts.new),
        ("gone", counts.gone),
        ("doubtful", counts.doubtful),
    ] {
        summary.set_item(name, count)?;
    }
    Ok(summary)
}
