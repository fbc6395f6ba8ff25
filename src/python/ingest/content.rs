//! Detects what a file contains, from its first bytes.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::collect::content_of;
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
