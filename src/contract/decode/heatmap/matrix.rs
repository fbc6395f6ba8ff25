//! Matrix cells of any supported shape in one contiguous buffer.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::contract::decode::damage::DecodeError;
use crate::contract::decode::token::{CellToken, Of, Read};

/// Maximum number of cells allocated for a body that does not list all cells.
///
/// Without a bound, a short body with two long axes could request any amount of memory. The bound is 64 MiB, more than
/// five maps of 1000 × 1440 cells.
const SPARSE_CELLS: usize = 1 << 23;

/// Cells in the order of the body, row after row; `null` is NaN.
#[derive(Debug, Default)]
pub struct Matrix {
    pub(super) cells: Vec<f64>,
    pub(super) rows: usize,
    /// Length of the first row.
    pub(super) width: usize,
    /// Index and length of the first row that differs in length from row 0.
    odd: Option<(usize, usize)>,
}

impl Matrix {
    /// A matrix of rows of equal length.
    pub(in crate::contract) fn even(cells: Vec<f64>, rows: usize, width: usize) -> Self {
        Self {
            cells,
            rows,
            width,
            odd: None,
        }
    }

    /// Returns the cells with one row per price level.
    ///
    /// Accepts one row per price level, one row per time if the lengths are unambiguous, and [triples](Self::triples)
    /// if nothing else fits.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with a path relative to the matrix, if the shape does not fit the axes.
    pub fn in_order(self, prices: usize, times: usize) -> Result<Vec<f64>, DecodeError> {
        if let Some(odd) = self.odd {
            return Err(self.ragged(odd, prices, times));
        }
        let shape = (self.rows, self.width);
        if shape == (prices, times) && self.rows > 0 {
            return Ok(self.cells);
        }
        if shape == (times, prices) && self.rows > 0 {
            return Ok(transposed(&self.cells, prices));
        }
        if self.rows == 0 || self.width == 3 {
            return self.triples(prices, times);
        }
        Err(self.misfit(prices, times))
    }

    /// Converts rows `[time_index, price_index, value]` to one row per price level.
    ///
    /// A cell that no row names is zero.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with a path relative to the matrix, for a malformed row or a repeated cell.
    pub fn triples(&self, prices: usize, times: usize) -> Result<Vec<f64>, DecodeError> {
        let other = (self.rows > 0 && self.width != 3).then_some((0, self.width));
        if let Some((row, length)) = other.or(self.odd) {
            return Err(DecodeError::at(
                format!("[{row}]"),
                format!("has {length} cells; [time_index, price_index, value] has 3"),
            ));
        }
        let mut laid =
            spread(0.0, prices, times).map_err(|message| DecodeError::at("", message))?;
        let mut named = vec![false; laid.len()];
        for (row, triple) in self.cells.chunks_exact(3).enumerate() {
            let &[time, price, value] = triple else {
                continue;
            };
            let fault = |message: String| {
                DecodeError::at(
                    format!("[{row}]"),
                    format!(
                        "{message}; {prices} price levels × {times} times as rows per price, as rows per time, \
                         or as [time_index, price_index, value] are allowed"
                    ),
                )
            };
            let time = index(time, times)
                .ok_or_else(|| fault(format!("{time} is not the index of a time")))?;
            let price = index(price, prices)
                .ok_or_else(|| fault(format!("{price} is not the index of a price level")))?;
            let place = price * times + time;
            if let (Some(cell), Some(named)) = (laid.get_mut(place), named.get_mut(place)) {
                if std::mem::replace(named, true) {
                    return Err(fault(format!(
                        "time {time} and price level {price} are given twice"
                    )));
                }
                *cell = value;
            }
        }
        Ok(laid)
    }

    /// The error for rows of different length.
    fn ragged(&self, (row, odd): (usize, usize), prices: usize, times: usize) -> DecodeError {
        let first = self.width;
        let first_is_wrong = [times, prices]
            .into_iter()
            .find(|&good| first == good || odd == good)
            .is_some_and(|good| odd == good);
        let (row, length, other) = if first_is_wrong {
            (0, first, odd)
        } else {
            (row, odd, first)
        };
        DecodeError::at(
            format!("[{row}]"),
            format!("has {length} cells where another row has {other}"),
        )
    }

    /// The error for rows of equal length that do not fit the axes.
    fn misfit(&self, prices: usize, times: usize) -> DecodeError {
        let (rows, width) = (self.rows, self.width);
        if width == times || (width == prices && rows != prices) {
            let wanted = if width == times { prices } else { times };
            return DecodeError::at(
                format!("[{}]", rows.min(wanted)),
                format!(
                    "there are {rows} rows of {width} cells for {prices} prices × {times} times"
                ),
            );
        }
        DecodeError::at(
            "[0]",
            format!(
                "has {width} cells; with {prices} prices × {times} times, each row needs {times}"
            ),
        )
    }
}

/// Converts one row per time to one row per price level.
fn transposed(cells: &[f64], prices: usize) -> Vec<f64> {
    let mut turned = Vec::with_capacity(cells.len());
    for price in 0..prices {
        turned.extend(cells.iter().skip(price).step_by(prices));
    }
    turned
}

impl<'de> Read<'de> for Matrix {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Rows;

        impl<'de> Visitor<'de> for Rows {
            type Value = Matrix;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Matrix, A::Error> {
                let mut matrix = Matrix::default();
                while let Some(length) = rows.next_element_seed(Row(&mut matrix.cells))? {
                    if matrix.rows == 0 {
                        matrix.width = length;
                    } else if length != matrix.width && matrix.odd.is_none() {
                        matrix.odd = Some((matrix.rows, length));
                    }
                    matrix.rows += 1;
                }
                Ok(matrix)
            }
        }

        from.deserialize_seq(Rows)
    }
}

/// Reads one row: appends its cells to the buffer and returns their number.
struct Row<'a>(&'a mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<usize, A::Error> {
        let start = self.0.len();
        while let Some(CellToken(value)) = cells.next_element_seed(Of::new())? {
            self.0.push(value);
        }
        Ok(self.0.len() - start)
    }
}

/// `rows` × `columns` cells of `value`, or an error if they are too many.
pub(in crate::contract) fn spread(
    value: f64,
    rows: usize,
    columns: usize,
) -> Result<Vec<f64>, String> {
    rows.checked_mul(columns)
        .filter(|&cells| cells <= SPARSE_CELLS)
        .map(|cells| vec![value; cells])
        .ok_or_else(|| {
            format!("the body leaves out cells of a matrix of {rows} × {columns}; allowed: at most {SPARSE_CELLS} \
                     cells")
        })
}

/// `value` as an index, if it is an integer from 0 to `length` − 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "compared with a length in memory, which is exact in both types"
)]
fn index(value: f64, length: usize) -> Option<usize> {
    (value >= 0.0 && value < length as f64 && value.fract() == 0.0).then_some(value as usize)
}
