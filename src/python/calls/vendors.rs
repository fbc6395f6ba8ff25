//! Large replies of vendors, decoded to numpy arrays, and their errors without keys.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::client;
use crate::contract::decode::sparse_cells;
use crate::python::error;
use crate::python::error::Failure;
use crate::python::runtime::imports;

type SparseReply<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
);

/// Returns `text` with `***` in place of `secrets`.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]
pub(crate) fn without_secrets(text: &str, secrets: Vec<String>) -> String {
    client::without_secrets(text, &secrets)
}

/// Decodes the first array `name` in a body as cells `[column, row, amount]`. `None` if there is none.
///
/// Returns the body with an empty array instead of the original one, and the columns, rows and amounts.
#[pyfunction]
pub(crate) fn sparse<'py>(
    py: Python<'py>,
    body: &[u8],
    name: &str,
) -> PyResult<Option<SparseReply<'py>>> {
    imports::numpy(py)?;
    let read = py
        .detach(|| sparse_cells(body, name))
        .map_err(|damage| error::python(py, &Failure::Client(client::Error::from(damage))))?;
    let Some(cells) = read else {
        return Ok(None);
    };
    let before = body.get(..cells.place.start).unwrap_or_default();
    let behind = body.get(cells.place.end..).unwrap_or_default();
    let rest = [before, b"[]", behind].concat();
    Ok(Some((
        PyBytes::new(py, &rest),
        cells.columns.into_pyarray(py),
        cells.rows.into_pyarray(py),
        cells.amounts.into_pyarray(py),
    )))
}

/// Puts cells into a grid of this many rows and columns; other cells are 0.
///
/// Returns the grid, or the index of the first cell that is outside the grid or given twice.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]
pub(crate) fn scattered<'py>(
    py: Python<'py>,
    columns: PyReadonlyArray1<'py, u32>,
    rows: PyReadonlyArray1<'py, u32>,
    amounts: PyReadonlyArray1<'py, f64>,
    shape: (usize, usize),
) -> PyResult<(Option<Bound<'py, PyArray2<f64>>>, usize)> {
    imports::numpy(py)?;
    let (columns, rows, amounts) = (columns.as_slice()?, rows.as_slice()?, amounts.as_slice()?);
    let cells = shape
        .0
        .checked_mul(shape.1)
        .filter(|cells| *cells <= 1 << 28)
        .ok_or_else(|| PyValueError::new_err("the grid is too large"))?;
    let mut grid = vec![f64::NAN; cells];
    for (index, ((column, row), amount)) in columns.iter().zip(rows).zip(amounts).enumerate() {
        let (column, row) = (*column as usize, *row as usize);
        let cell = (column < shape.1)
            .then(|| grid.get_mut(row * shape.1 + column))
            .flatten();
        match cell {
            Some(cell) if cell.is_nan() => *cell = *amount,
            _ => return Ok((None, index)),
        }
    }
    for cell in &mut grid {
        if cell.is_nan() {
            *cell = 0.0;
        }
    }
    let grid = grid.into_pyarray(py).reshape([shape.0, shape.1])?;
    Ok((Some(grid), amounts.len()))
}
