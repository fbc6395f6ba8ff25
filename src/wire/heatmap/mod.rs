//! The heatmap: every shape a matrix may have, in one pass into one contiguous buffer.
//!
//! The contract does not show the shape, so three are read: rows per price level, rows per time where the lengths leave
//! no doubt, and triples `[time_index, price_index, value]` where nothing else fits. Members may come in any order; the
//! cells are stored flat as they come and put in order once both axes are known. A plain body is read while it arrives
//! ([`Arriving`]).

mod arriving;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use arriving::Arriving;

use super::damage::Damage;
use super::quick::{Cursor, first};
use super::reply::Reply;
use super::time::plain_millis;
use super::token::{Cell, Instant, Of, Read, object};
use crate::model::{HeatmapGrid, Millis};

/// Most cells that are laid out where the body does not spell each of them.
///
/// A dense matrix is as large as the body it came in. Two long axes and no cells could ask for any amount of memory; this
/// is 64 MiB, as much as a body may have where nobody says otherwise, and five times a map of 1000 × 1440.
const SPARSE_CELLS: usize = 1 << 23;

/// A heatmap as it stands in the body, its cells not yet in order.
struct Sheet {
    success: Option<bool>,
    symbol: String,
    range: String,
    model: i64,
    updated_at: Millis,
    current_price: f64,
    prices: Vec<f64>,
    times: Vec<Instant>,
    matrix: Matrix,
}

object!(Sheet, "a heatmap", {
    success: "success",
    symbol: "symbol",
    range: "range",
    model: "model",
    updated_at: "updatedAt",
    current_price: "currentPrice",
    prices: "prices",
    times: "times",
    matrix: "matrix",
});

impl<'de> Read<'de> for HeatmapGrid {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Sheet::read(from)?.in_order().map_err(Damage::raise)
    }
}

impl Reply for HeatmapGrid {
    type Intake = Arriving;

    fn reply<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(from)
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        if enveloped {
            return None;
        }
        let mut from = Cursor::of(body);
        let sheet = Sheet::quick(&mut from)?;
        from.end()?;
        sheet.in_order().ok()
    }
}

/// The members of a plain body so far, each at most once.
#[derive(Debug, Default)]
struct Members {
    symbol: Option<String>,
    range: Option<String>,
    model: Option<i64>,
    updated_at: Option<i64>,
    current_price: Option<f64>,
    prices: Option<Vec<f64>>,
    times: Option<Vec<Instant>>,
}

impl Members {
    /// Reads the value of the member `name`, which is not the matrix, times as whole numbers.
    fn take(&mut self, name: &str, from: &mut Cursor<'_>) -> Option<()> {
        match name {
            "symbol" => first(&mut self.symbol, from.string().map(str::to_owned)),
            "range" => first(&mut self.range, from.string().map(str::to_owned)),
            "model" => first(&mut self.model, from.whole()),
            "updatedAt" => first(&mut self.updated_at, from.whole()),
            "currentPrice" => first(&mut self.current_price, from.double()),
            "prices" => {
                let mut cells = Vec::new();
                from.doubles(&mut cells)?;
                first(&mut self.prices, Some(cells))
            }
            "times" => first(&mut self.times, from.list(instant)),
            _ => None,
        }
    }

    /// How many cells the axes ask for, as far as they are known.
    fn cells(&self) -> usize {
        let prices = self.prices.as_ref().map_or(0, Vec::len);
        let times = self.times.as_ref().map_or(0, Vec::len);
        prices.saturating_mul(times)
    }

    /// Whether nothing but the matrix is missing.
    fn whole(&self) -> bool {
        self.symbol.is_some()
            && self.range.is_some()
            && self.model.is_some()
            && self.updated_at.is_some()
            && self.current_price.is_some()
            && self.prices.is_some()
            && self.times.is_some()
    }

    /// The whole sheet, if nothing is missing.
    fn with(self, matrix: Matrix) -> Option<Sheet> {
        Some(Sheet {
            success: None,
            symbol: self.symbol?,
            range: self.range?,
            model: self.model?,
            updated_at: Millis(self.updated_at?),
            current_price: self.current_price?,
            prices: self.prices?,
            times: self.times?,
            matrix,
        })
    }
}

impl Sheet {
    /// The members in any order, each once and none besides.
    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        let (mut members, mut matrix) = (Members::default(), None);
        from.take(b'{')?;
        loop {
            match from.key()? {
                // Axes that come later leave the buffer to grow.
                "matrix" => first(&mut matrix, Matrix::quick(from, members.cells()))?,
                name => members.take(name, from)?,
            }
            if !from.more(b'}')? {
                break;
            }
        }
        members.with(matrix?)
    }

    fn in_order(self) -> Result<HeatmapGrid, Damage> {
        if self.success == Some(false) {
            return Err(Damage::at("success", "is false"));
        }
        let axes = Axes {
            prices: self.prices.len(),
            times: self.times.len(),
        };
        Ok(HeatmapGrid {
            symbol: self.symbol,
            range: self.range,
            model: self.model,
            updated_at: self.updated_at,
            current_price: self.current_price,
            prices: self.prices,
            times: self.times.into_iter().map(|Instant(time)| time).collect(),
            matrix: axes.lay_out(self.matrix)?,
        })
    }
}

/// Rows of cells, row after row, as the body gives them.
struct Matrix {
    cells: Vec<f64>,
    rows: usize,
    /// Length of the first row.
    width: usize,
    /// The first row of another length than the first one, with its length.
    odd: Option<(usize, usize)>,
}

/// A time that is a whole number.
fn instant(from: &mut Cursor<'_>) -> Option<Instant> {
    plain_millis(from.whole()?).map(Instant)
}

impl Matrix {
    /// Rows of numbers of one length, `expected` cells in all where that is known.
    fn quick(from: &mut Cursor<'_>, expected: usize) -> Option<Self> {
        // A cell takes two bytes at least, so the body bounds what its axes may ask for.
        let mut cells = Vec::with_capacity(expected.min(from.left() / 2));
        let (mut rows, mut width) = (0, 0);
        from.take(b'[')?;
        loop {
            let length = from.doubles(&mut cells)?;
            if rows > 0 && length != width {
                return None;
            }
            width = length;
            rows += 1;
            if !from.more(b']')? {
                return Some(Self {
                    cells,
                    rows,
                    width,
                    odd: None,
                });
            }
        }
    }
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
                let mut matrix = Matrix {
                    cells: Vec::new(),
                    rows: 0,
                    width: 0,
                    odd: None,
                };
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

/// Appends one row to the buffer and says how long it was.
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
        while let Some(Cell(value)) = cells.next_element_seed(Of::new())? {
            self.0.push(value);
        }
        Ok(self.0.len() - start)
    }
}

/// The lengths of the two axes.
#[derive(Clone, Copy)]
struct Axes {
    prices: usize,
    times: usize,
}

impl Axes {
    /// The cells row after row, a row per price level.
    fn lay_out(self, matrix: Matrix) -> Result<Vec<f64>, Damage> {
        if let Some(odd) = matrix.odd {
            return Err(self.ragged(&matrix, odd));
        }
        if matrix.rows == 0 {
            return self.zeros();
        }
        if (matrix.rows, matrix.width) == (self.prices, self.times) {
            return Ok(matrix.cells);
        }
        if (matrix.rows, matrix.width) == (self.times, self.prices) {
            return Ok(self.transposed(&matrix.cells));
        }
        if matrix.width == 3 {
            return self.triples(&matrix.cells);
        }
        Err(self.misfit(&matrix))
    }

    fn zeros(self) -> Result<Vec<f64>, Damage> {
        spread(0.0, self.prices, self.times).map_err(|message| Damage::at("matrix", message))
    }

    /// Cells that came a row per time.
    fn transposed(self, cells: &[f64]) -> Vec<f64> {
        let mut turned = Vec::with_capacity(cells.len());
        for price in 0..self.prices {
            turned.extend(cells.iter().skip(price).step_by(self.prices));
        }
        turned
    }

    /// Cells that came as `[time_index, price_index, value]`; those that are not named are zero.
    fn triples(self, cells: &[f64]) -> Result<Vec<f64>, Damage> {
        let mut laid = self.zeros()?;
        let mut named = vec![false; laid.len()];
        for (row, triple) in cells.chunks_exact(3).enumerate() {
            let &[time, price, value] = triple else {
                continue;
            };
            let fault = |message: String| {
                Damage::at(
                    format!("matrix[{row}]"),
                    format!(
                        "{message}; {} price levels × {} times as rows per price, as rows per time, \
                         or as [time_index, price_index, value] are allowed",
                        self.prices, self.times
                    ),
                )
            };
            let time = index(time, self.times)
                .ok_or_else(|| fault(format!("{time} is no index of a time")))?;
            let price = index(price, self.prices)
                .ok_or_else(|| fault(format!("{price} is no index of a price level")))?;
            let place = price * self.times + time;
            if let (Some(cell), Some(named)) = (laid.get_mut(place), named.get_mut(place)) {
                if std::mem::replace(named, true) {
                    return Err(fault(format!(
                        "time {time} and price level {price} are named twice"
                    )));
                }
                *cell = value;
            }
        }
        Ok(laid)
    }

    /// Which of two rows of different length is the wrong one.
    fn ragged(self, matrix: &Matrix, (row, length): (usize, usize)) -> Damage {
        let (first, odd) = (matrix.width, length);
        let first_is_wrong = [self.times, self.prices]
            .into_iter()
            .find(|&good| first == good || odd == good)
            .is_some_and(|good| odd == good);
        let (row, length, other) = if first_is_wrong {
            (0, first, odd)
        } else {
            (row, odd, first)
        };
        Damage::at(
            format!("matrix[{row}]"),
            format!("has {length} cells where another row has {other}"),
        )
    }

    /// Rows of one length that fit the axes in no way.
    fn misfit(self, matrix: &Matrix) -> Damage {
        let Self { prices, times } = self;
        let (rows, width) = (matrix.rows, matrix.width);
        if width == times || (width == prices && rows != prices) {
            let wanted = if width == times { prices } else { times };
            return Damage::at(
                format!("matrix[{}]", rows.min(wanted)),
                format!(
                    "there are {rows} rows of {width} cells for {prices} prices × {times} times"
                ),
            );
        }
        Damage::at(
            "matrix[0]",
            format!("has {width} cells; {prices} prices × {times} times need {times}"),
        )
    }
}

/// `rows` × `columns` cells of `value`, or why there are too many.
pub(super) fn spread(value: f64, rows: usize, columns: usize) -> Result<Vec<f64>, String> {
    rows.checked_mul(columns)
        .filter(|&cells| cells <= SPARSE_CELLS)
        .map(|cells| vec![value; cells])
        .ok_or_else(|| {
            format!("{rows} × {columns} cells that the body does not spell out; {SPARSE_CELLS} are allowed")
        })
}

/// `value` as an index below `length`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a whole number from 0 below a length in memory was just shown to be exact in both types"
)]
fn index(value: f64, length: usize) -> Option<usize> {
    (value >= 0.0 && value < length as f64 && value.fract() == 0.0).then_some(value as usize)
}
