//! Ingests the files of a Python caller: imports their rows into an archive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::archive::IngestOrigin;
use crate::collect::{
    ExchangeAttribution, Files, Finished, IngestError, Ingested, UnknownExchange, ingest,
};
use crate::contract::BadQuery;
use crate::feeds::dumps::Format;
use crate::model::{ALL_EXCHANGES, Vocabulary};
use crate::python::error;
use crate::python::ingest::in_coins::ArchivePrices;
use crate::python::ingest::raw::{contract_sizes, rates};
use crate::python::runtime::logs;

/// Lists the names of the file formats that can be ingested.
#[pyfunction]
pub(crate) fn formats() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name()).collect()
}

/// Id, source and files of an ingest.
pub(crate) type GivenOrigin = (String, Option<String>, Vec<String>);

/// Converts the origin of an ingest.
pub(crate) fn ingest_origin((id, source, files): GivenOrigin) -> IngestOrigin {
    IngestOrigin { id, source, files }
}

/// Ingests files into the archive at `path`. `contracts` describes the series of bars and open interest in the archive:
/// table, exchange, coin and contract.
///
/// Calls `seen` with the number of rows read. Calls `stored` with the path and the outcome of each file that is stored
/// completely. The outcome of all files is put into `outcome`, even after an interruption.
#[pyfunction]
#[pyo3(signature = (
    path, files, format, exchange, new_exchange, contracts, names, seen, stored, outcome, quote_rates=None,
    dry_run=false, origin=None, contract_size=None, symbol=None
))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value, one by one"
)]
pub(crate) fn ingest_files(
    py: Python<'_>,
    path: PathBuf,
    files: Vec<PathBuf>,
    format: Option<&str>,
    exchange: Option<String>,
    new_exchange: bool,
    contracts: Vec<[String; 4]>,
    names: BTreeMap<PathBuf, String>,
    seen: Py<PyAny>,
    stored: Py<PyAny>,
    outcome: &Bound<'_, PyDict>,
    quote_rates: Option<&Bound<'_, PyDict>>,
    dry_run: bool,
    origin: Option<GivenOrigin>,
    contract_size: Option<&Bound<'_, PyAny>>,
    symbol: Option<String>,
) -> PyResult<()> {
    let format = format.map(|name| format_of(py, name)).transpose()?;
    let files = Files {
        paths: files,
        names,
        format,
        exchange,
        symbol,
        takes_new_exchanges: new_exchange,
        contracts: contracts.into_iter().map(Into::into).collect(),
        rates: rates(py, quote_rates)?,
        sizes: contract_sizes(py, contract_size)?,
        is_dry_run: dry_run,
        ingest: origin.map(ingest_origin),
    };
    let failed = Mutex::new(None);
    let is_well = || failed.lock().is_ok_and(|failed| failed.is_none());
    let mut finished = |file: Finished| {
        let called = Python::attach(|py| {
            let (path, new) = (file.path.clone(), file.stored);
            let outcome = outcome_of(py, file.into())?;
            outcome.set_item("stored", new)?;
            stored.call1(py, (path, outcome)).map(drop)
        });
        if let (Err(raised), Ok(mut failed)) = (called, failed.lock()) {
            failed.get_or_insert(raised);
        }
    };
    let prices = ArchivePrices::new(path.clone());
    let (done, raised) = watched(py, seen, |goes_on| {
        let goes_on = &mut |rows| goes_on(rows) && is_well();
        let to_coins = &mut |readings, in_usd, goes_on: &mut dyn FnMut() -> bool| {
            prices.of_files(readings, in_usd, goes_on)
        };
        ingest(&path, &files, goes_on, &mut finished, to_coins)
    });
    let raised = failed.into_inner().unwrap_or_default().or(raised);
    put_outcome(outcome, done, raised, |fault| fault_of(py, fault))
}

/// Puts the outcome of an ingest into `outcome`, then raises the exception `raised`, if any.
///
/// The interpreter may raise a signal before it assigns a returned value. Therefore the outcome is stored, not
/// returned.
pub(crate) fn put_outcome<E>(
    outcome: &Bound<'_, PyDict>,
    done: Result<Ingested, E>,
    raised: Option<PyErr>,
    fault_of: impl FnOnce(&E) -> PyErr,
) -> PyResult<()> {
    let py = outcome.py();
    let done = match done {
        Ok(done) => outcome.update(outcome_of(py, done)?.as_mapping()),
        Err(fault) => Err(fault_of(&fault)),
    };
    if let Some(raised) = raised {
        return Err(raised);
    }
    logs::deliver(py)?;
    done
}

fn format_of(py: Python<'_>, name: &str) -> PyResult<Format> {
    Format::parse(name).ok_or_else(|| {
        let message = format!("{name:?} is not allowed");
        error::bad_query(py, &BadQuery::new("format", message, Format::spellings()))
    })
}

fn fault_of(py: Python<'_>, fault: &IngestError) -> PyErr {
    match fault {
        IngestError::Archive(fault) => error::archive(py, fault),
        IngestError::Exchange(unknown) => unknown_exchange(py, unknown),
        IngestError::UnclearFile(_) | IngestError::Unopened(_) => {
            error::bad_query_said(py, "files", &format!("files: {fault}"))
        }
    }
}

/// Runs `work` with the interpreter released. The callback of `work` checks for signals and calls `seen` with a number
/// of rows. Also returns the exception that the callback raised, if any.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    seen: Py<PyAny>,
    work: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T + Send,
) -> (T, Option<PyErr>) {
    py.detach(move || {
        let mut raised = None;
        let done = work(&mut |rows| {
            if raised.is_some() {
                return false;
            }
            let went_on = Python::attach(|py| {
                py.check_signals()?;
                seen.call1(py, (rows,)).map(drop)
            });
            raised = went_on.err();
            raised.is_none()
        });
        (done, raised)
    })
}

/// Converts the outcome of an ingest to a dict.
fn outcome_of(py: Python<'_>, done: Ingested) -> PyResult<Bound<'_, PyDict>> {
    let outcome = PyDict::new(py);
    outcome.set_item("rows", done.rows)?;
    outcome.set_item("new", done.new)?;
    outcome.set_item("repeated", done.repeated)?;
    let refused = done.refused.into_iter();
    let refused: Vec<(String, u64, String, String)> = refused
        .map(|one| (one.reason, one.count, one.place, one.shown))
        .collect();
    outcome.set_item("refused", refused)?;
    let files: Vec<(String, &str)> = (done.files.into_iter())
        .map(|(file, format)| (file, format.name()))
        .collect();
    outcome.set_item("files", files)?;
    let contracts = done.contracts.into_iter();
    let contracts: Vec<[String; 4]> = contracts
        .map(|one| [one.table, one.exchange, one.coin, one.contract])
        .collect();
    outcome.set_item("contracts", contracts)?;
    outcome.set_item("cut_short", done.cut_short)?;
    Ok(outcome)
}

/// Returns the known exchanges of the archive at `path`. Raises an exception if `exchange` is not one of them.
pub(crate) fn known_exchanges(
    py: Python<'_>,
    path: &Path,
    exchange: Option<&str>,
    new_exchange: bool,
) -> PyResult<ExchangeAttribution> {
    let mut known = ExchangeAttribution::of(path, new_exchange);
    // Rows other than totals refuse this name, row by row.
    if let Some(name) = exchange.filter(|name| *name != ALL_EXCHANGES) {
        let unknown = known.unknown(name);
        if let Some(unknown) = unknown.map_err(|fault| error::archive(py, &fault))? {
            return Err(unknown_exchange(py, &unknown));
        }
    }
    Ok(known)
}

fn unknown_exchange(py: Python<'_>, unknown: &UnknownExchange) -> PyErr {
    error::bad_query_said(py, "exchange", &format!("exchange: {unknown}"))
}
