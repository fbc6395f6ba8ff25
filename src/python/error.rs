//! Maps the errors of all Rust modules to the exceptions of `liqdata.errors`.

use std::any::Any;
use std::error::Error as _;
use std::path::Path;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use crate::archive::ArchiveError;
use crate::contract::BadQuery;
use crate::engine::TableFault;
use crate::market::{Refusal, RefusalCode};
use crate::{client, feeds, server};

/// The failure of a call, before its conversion to a Python exception.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A service did not answer, answered with an error, or sent an unreadable answer.
    Client(client::Error),
    /// A market refused the query.
    Market(Refusal),
    /// The call was cancelled.
    Cancelled,
    /// The client was closed during the call.
    Closed,
    /// A panic occurred; this is its message.
    Panic(String),
}

impl Failure {
    /// Converts the failure of a runtime task.
    pub(crate) fn of_task(broken: tokio::task::JoinError) -> Self {
        broken
            .try_into_panic()
            .map_or(Self::Cancelled, |panic| Self::of_panic(panic.as_ref()))
    }

    /// Extracts the message of a panic.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panic(text.unwrap_or_else(|| "no message".to_owned()))
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Self::Client(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Market(refusal)
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        Self::Market(error.into())
    }
}

/// Creates an exception of the class `class` of `liqdata.errors`.
fn exception(py: Python<'_>, class: &str, message: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("liqdata.errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call((message,), Some(fields)));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

fn raise<'py, const N: usize>(
    py: Python<'py>,
    class: &str,
    message: &str,
    pairs: PyResult<[(&str, Bound<'py, PyAny>); N]>,
) -> PyErr {
    match pairs.and_then(|pairs| pairs.into_py_dict(py)) {
        Ok(fields) => exception(py, class, message, &fields),
        Err(error) => error,
    }
}

/// Creates an exception with one text attribute `field`.
fn naming(py: Python<'_>, class: &str, message: &str, field: &str, text: &str) -> PyErr {
    let text = text.into_pyobject(py).map_err(PyErr::from);
    raise(
        py,
        class,
        message,
        text.map(|text| [(field, text.into_any())]),
    )
}

/// Creates the `BadQuery` exception for a refused parameter.
pub(crate) fn bad_query(py: Python<'_>, refusal: &BadQuery) -> PyErr {
    bad_query_said(py, &refusal.parameter, &refusal.to_string())
}

/// Creates a `BadQuery` exception for `parameter` with exactly this message.
pub(crate) fn bad_query_said(py: Python<'_>, parameter: &str, message: &str) -> PyErr {
    naming(py, "BadQuery", message, "parameter", parameter)
}

/// Creates a `BadQuery` exception for an invalid table. The parameter of the exception is the table name; the message
/// names column and row.
pub(crate) fn bad_table(py: Python<'_>, fault: &TableFault) -> PyErr {
    bad_query_said(py, fault.table, &fault.to_string())
}

/// Converts `failure` to a Python exception.
pub(crate) fn python(py: Python<'_>, failure: &Failure) -> PyErr {
    match failure {
        Failure::Client(error) => from_client(py, error),
        Failure::Market(refusal) => from_market(py, refusal),
        Failure::Closed => PyRuntimeError::new_err("client is closed"),
        Failure::Cancelled => PyRuntimeError::new_err("the call was cancelled"),
        Failure::Panic(message) => bug(py, message),
    }
}

fn bug(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "Defect", message, Ok([]))
}

fn from_client(py: Python<'_>, error: &client::Error) -> PyErr {
    let message = error.to_string();
    let raised = match error {
        client::Error::BadQuery(refusal) => bad_query(py, refusal),
        client::Error::TooSlow { seconds, .. } => {
            let seconds = seconds.into_pyobject(py).map_err(PyErr::from);
            raise(
                py,
                "TooSlow",
                &message,
                seconds.map(|value| [("seconds", value.into_any())]),
            )
        }
        client::Error::Refused {
            status,
            body,
            retry_after,
            ..
        } => refused(py, &message, *status, body, *retry_after),
        client::Error::UnexpectedReply { path, .. } => unexpected(py, &message, path),
        client::Error::NoAnswer { .. } => raise(py, "NoAnswer", &message, Ok([])),
    };
    let mut cause = error.source();
    while let Some(inner) = cause {
        note(py, &raised, &format!("caused by: {inner}"));
        cause = inner.source();
    }
    raised
}

fn from_market(py: Python<'_>, refusal: &Refusal) -> PyErr {
    let message = refusal.message.as_str();
    let bad_query = |allowed: &str| {
        let parameter = refusal.parameter.clone().unwrap_or_default();
        bad_query(py, &BadQuery::new(parameter, message, allowed))
    };
    match refusal.code {
        RefusalCode::BadQuery | RefusalCode::Later | RefusalCode::EmptyRange => {
            bad_query(refusal.allowed.as_deref().unwrap_or_default())
        }
        RefusalCode::UnknownCoin
        | RefusalCode::NoBars
        | RefusalCode::NoPositions
        | RefusalCode::NotRecorded
        | RefusalCode::NoOrders
        | RefusalCode::TooCoarse
        | RefusalCode::TooShort
        | RefusalCode::NoSuchLength
        | RefusalCode::Gone => {
            let status = server::status(refusal.code).as_u16();
            refused(py, message, status, "", None)
        }
        RefusalCode::Unreadable | RefusalCode::Inexact | RefusalCode::NotTables => {
            let path = refusal.source.as_ref().and_then(|error| error.path());
            archive_at(py, message, path)
        }
        RefusalCode::Defect => bug(py, message),
    }
}

/// Creates an `ArchiveError` exception with the path of the file or folder.
pub(crate) fn archive(py: Python<'_>, error: &ArchiveError) -> PyErr {
    archive_at(py, &error.to_string(), error.path())
}

fn archive_at(py: Python<'_>, message: &str, path: Option<&Path>) -> PyErr {
    let path = path.map(Path::to_string_lossy).unwrap_or_default();
    naming(py, "ArchiveError", message, "path", &path)
}

/// Converts the error of an exchange message that cannot be decoded.
pub(crate) fn from_feeds(py: Python<'_>, error: &feeds::Error) -> PyErr {
    let message = error.to_string();
    match error {
        feeds::Error::Unexpected { path, .. } => unexpected(py, &message, path),
        feeds::Error::UnknownExchange { .. } => {
            bad_query_said(py, "exchange", &format!("exchange: {message}"))
        }
    }
}

/// Creates an `UnexpectedReply` exception for the value at `path`.
pub(crate) fn unexpected(py: Python<'_>, message: &str, path: &str) -> PyErr {
    naming(py, "UnexpectedReply", message, "path", path)
}

fn refused(
    py: Python<'_>,
    message: &str,
    status: u16,
    body: &str,
    retry_after: Option<f64>,
) -> PyErr {
    let pairs = || -> PyResult<_> {
        Ok([
            ("status", status.into_pyobject(py)?.into_any()),
            ("body", body.into_pyobject(py)?.into_any()),
            ("retry_after", retry_after.into_pyobject(py)?.into_any()),
        ])
    };
    raise(py, "Refused", message, pairs())
}

/// Adds a note to the exception, if it supports notes.
pub(crate) fn note(py: Python<'_>, error: &PyErr, text: &str) {
    let _ = error.value(py).call_method1("add_note", (text,));
}
