//! One mapping from the rooms' errors to the Python exceptions of `liqdata.errors`.

use std::error::Error as _;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::call::panic_message;
use crate::api::BadQuery;
use crate::archive::ArchiveError;
use crate::client;
use crate::engine::{EngineError, TableFault};
use crate::feeds;
use crate::market::ArchivedError;
use crate::model::hint_coin;
use crate::server::Rejection;

/// What went wrong with a call, before it meets Python.
#[derive(Debug)]
pub(super) enum Failure {
    /// A service did not answer as it should.
    Client(client::Error),
    /// The engine has no answer.
    Engine(EngineError),
    /// A market has no answer for another reason.
    Rejected(Rejection),
    /// An archive cannot be read.
    Archive(ArchivedError),
    /// The call was cancelled before it ended.
    Cancelled,
    /// The client was closed while it was under way.
    Closed,
    /// A bug: the message of a panic.
    Panic(String),
}

impl Failure {
    /// Why a task gave nothing.
    pub(super) fn of_task(broken: tokio::task::JoinError) -> Self {
        broken.try_into_panic().map_or(Self::Cancelled, |panic| {
            Self::Panic(panic_message(panic.as_ref()))
        })
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Self::Client(error)
    }
}

impl From<ArchivedError> for Failure {
    fn from(error: ArchivedError) -> Self {
        Self::Archive(error)
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error.into())
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Engine { error, .. } => Self::Engine(error),
            Rejection::Archived(error) => Self::Archive(error),
            rejection => Self::Rejected(rejection),
        }
    }
}

/// An exception of `liqdata.errors` by its name.
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

fn fields<'py, const N: usize>(
    py: Python<'py>,
    pairs: [(&str, Bound<'py, PyAny>); N],
) -> PyResult<Bound<'py, PyDict>> {
    pairs.into_py_dict(py)
}

fn raise<'py, const N: usize>(
    py: Python<'py>,
    class: &str,
    message: &str,
    pairs: PyResult<[(&str, Bound<'py, PyAny>); N]>,
) -> PyErr {
    match pairs.and_then(|pairs| fields(py, pairs)) {
        Ok(fields) => exception(py, class, message, &fields),
        Err(error) => error,
    }
}

/// `BadQuery` naming `parameter`.
pub(super) fn bad_query(py: Python<'_>, refusal: &BadQuery) -> PyErr {
    let parameter = refusal
        .parameter
        .as_ref()
        .into_pyobject(py)
        .map_err(PyErr::from);
    raise(
        py,
        "BadQuery",
        &refusal.to_string(),
        parameter.map(|value| [("parameter", value.into_any())]),
    )
}

/// `BadQuery` naming `parameter`, with the message as it is.
pub(super) fn bad_query_said(py: Python<'_>, parameter: &str, message: &str) -> PyErr {
    let parameter = parameter.into_pyobject(py).map_err(PyErr::from);
    raise(
        py,
        "BadQuery",
        message,
        parameter.map(|value| [("parameter", value.into_any())]),
    )
}

/// A bad table: `BadQuery` whose parameter is the table, whose message names column and row.
pub(super) fn bad_table(py: Python<'_>, fault: &TableFault) -> PyErr {
    let parameter = fault.table.into_pyobject(py).map_err(PyErr::from);
    raise(
        py,
        "BadQuery",
        &fault.to_string(),
        parameter.map(|value| [("parameter", value.into_any())]),
    )
}

/// The exception of `failure`.
pub(super) fn python(py: Python<'_>, failure: &Failure) -> PyErr {
    match failure {
        Failure::Client(error) => from_client(py, error),
        Failure::Engine(error) => from_engine(py, error),
        Failure::Rejected(Rejection::BadQuery(refusal)) => bad_query(py, refusal),
        Failure::Rejected(rejection) => {
            refused(py, &rejection.to_string(), rejection.status(), "", None)
        }
        Failure::Closed => PyRuntimeError::new_err("client is closed"),
        Failure::Archive(error) => from_archive(py, error),
        Failure::Cancelled => PyRuntimeError::new_err("the call was cancelled"),
        Failure::Panic(message) => {
            PyRuntimeError::new_err(format!("a bug in liqdata, please report it: {message}"))
        }
    }
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
        _ => raise(py, "NoAnswer", &message, Ok([])),
    };
    let mut cause = error.source();
    while let Some(inner) = cause {
        note(py, &raised, &format!("caused by: {inner}"));
        cause = inner.source();
    }
    raised
}

fn from_archive(py: Python<'_>, error: &ArchivedError) -> PyErr {
    match error {
        ArchivedError::Later { .. } => bad_query(
            py,
            &BadQuery::new("as_of", error.to_string(), "an instant that is not later"),
        ),
        ArchivedError::Archive(ArchiveError::BadRange { parameter, message }) => bad_query(
            py,
            &BadQuery::new(
                *parameter,
                message.clone(),
                "a stretch of time that is not empty",
            ),
        ),
        ArchivedError::Archive(inner) => archive(py, inner),
        other => archive_at(py, &other.to_string(), ""),
    }
}

/// `ArchiveError` naming the file or folder.
pub(super) fn archive(py: Python<'_>, error: &ArchiveError) -> PyErr {
    let path = error.path().map(|path| path.to_string_lossy().into_owned());
    archive_at(py, &error.to_string(), &path.unwrap_or_default())
}

fn archive_at(py: Python<'_>, message: &str, path: &str) -> PyErr {
    let path = path.into_pyobject(py).map_err(PyErr::from);
    raise(
        py,
        "ArchiveError",
        message,
        path.map(|value| [("path", value.into_any())]),
    )
}

/// What a frame that could not be decoded raises.
pub(super) fn from_feeds(py: Python<'_>, error: &feeds::Error) -> PyErr {
    let message = error.to_string();
    if let feeds::Error::Unexpected { path, .. } = error {
        return unexpected(py, &message, path);
    }
    let parameter = "exchange".into_pyobject(py).map_err(PyErr::from);
    raise(
        py,
        "BadQuery",
        &format!("exchange: {message}"),
        parameter.map(|name| [("parameter", name.into_any())]),
    )
}

/// `UnexpectedReply` at `path`.
pub(super) fn unexpected(py: Python<'_>, message: &str, path: &str) -> PyErr {
    let path = path.into_pyobject(py).map_err(PyErr::from);
    raise(
        py,
        "UnexpectedReply",
        message,
        path.map(|value| [("path", value.into_any())]),
    )
}

fn from_engine(py: Python<'_>, error: &EngineError) -> PyErr {
    let mut message = error.to_string();
    let status = match error {
        EngineError::TooCoarse { .. } | EngineError::NoSuchLength { .. } => 400,
        _ => 404,
    };
    if let EngineError::UnknownCoin { coin, .. } = error
        && let Some(hint) = hint_coin(coin)
    {
        message = format!("{message}; did you mean {hint:?}?");
    }
    refused(py, &message, status, "", None)
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

/// Adds a note; an exception that takes none goes without.
pub(super) fn note(py: Python<'_>, error: &PyErr, text: &str) {
    let _ = error.value(py).call_method1("add_note", (text,));
}
