//! What a file contains and what its name says, for Python.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;

use crate::collect::content_of;
use crate::feeds::dumps::FileName;
use crate::python::error;

/// What the file at `path` contains by its first bytes: `text`, `gzip`, `zstd`, `zip`, `xz`, `bzip2`, `parquet`, `arrow`,
/// `arrow_stream`, `feather` or `other`.
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

/// The symbol in the name of a file, what its series is if not of trades, and the length of its bars in milliseconds.
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
