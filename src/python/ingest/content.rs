//! Detects what a file contains, from its first bytes and from its name.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;

use crate::collect::content_of;
use crate::feeds::dumps::FileName;
use crate::python::error;

/// Returns what the file at `path` contains, according to its first bytes: `text`, `gzip`, `zstd`, `zip`, `xz`,
/// `bzip2`, `parquet`, `arrow`, `arrow_stream`, `feather` or `other`.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]
pub(crate) fn file_content(py: Python<'_>, path: PathBuf) -> PyResult<&'static str> {
    let content = content_of(&path)
        .map_err(|fault| error::bad_query_said(py, "files", &format!("files: {fault}")))?;
    Ok(content.name())
}

/// Reads a file name: the symbol, the kind of series if its prices are not prices of trades, and the bar length in
/// milliseconds. Each is `None` if the name does not contain it.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]
pub(crate) fn file_name(path: PathBuf) -> (Option<String>, Option<&'static str>, Option<i64>) {
    let shown = Path::new(&path).to_string_lossy();
    let name = FileName::new(&shown, None);
    (name.symbol(), name.untraded(), name.interval())
}
