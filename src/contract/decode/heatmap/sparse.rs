//! Sparse grids of other services: an array of `[column, row, amount]` among the members of a body.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::contract::decode::damage::DecodeError;
use crate::contract::decode::number::nearest_double;
use crate::contract::decode::quick::Cursor;

/// The largest index of a column or a row.
const LARGEST: f64 = 16_777_216.0;

/// The decoded array, and where it stands in the body.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseCells {
    /// The bytes of the array in the body.
    pub place: Range<usize>,
    /// Index of the column of each cell.
    pub columns: Vec<u32>,
    /// Index of the row of each cell.
    pub rows: Vec<u32>,
    /// Amount of each cell.
    pub amounts: Vec<f64>,
}

/// Reads the first member `name` of `body` that is an array, as cells. `None` if there is none.
///
/// Indexes and amounts may be numbers or text. Amounts are finite and not negative.
///
/// # Errors
///
/// [`DecodeError`] with the path of the fault below `name`.
pub fn sparse_cells(body: &[u8], name: &str) -> Result<Option<SparseCells>, DecodeError> {
    let Some(start) = array_start(body, name) else {
        return Ok(None);
    };
    let rest = body.get(start..).unwrap_or_default();
    let mut cells = SparseCells {
        place: start..start,
        columns: Vec::with_capacity(rest.len() / 24),
        rows: Vec::with_capacity(rest.len() / 24),
        amounts: Vec::with_capacity(rest.len() / 24),
    };
    let mut cursor = Cursor::of(rest);
    let read = cursor.each(|from| {
        let mut triple = [0.0; 3];
        from.take(b'[')?;
        for (place, number) in triple.iter_mut().enumerate() {
            if place > 0 {
                from.take(b',')?;
            }
            *number = cell_number(from)?;
        }
        from.take(b']')?;
        let [column, row, amount] = triple;
        cells.columns.push(cell_index(column)?);
        cells.rows.push(cell_index(row)?);
        cells.amounts.push((amount >= 0.0).then_some(amount)?);
        Some(())
    });
    if read.is_none() {
        return Err(fault(rest, cells.amounts.len()).below(name));
    }
    cells.place = start..body.len() - cursor.left();
    Ok(Some(cells))
}

/// Where the first array with the member name `name` begins.
fn array_start(body: &[u8], name: &str) -> Option<usize> {
    let key = format!("\"{name}\"");
    let finder = Finder::new(&key);
    finder.find_iter(body).find_map(|at| {
        let is_escaped = at > 0 && body.get(at - 1) == Some(&b'\\');
        let mut cursor = Cursor::of(body.get(at + key.len()..)?);
        let is_array = !is_escaped && cursor.takes(b':') && cursor.peek() == Some(b'[');
        is_array.then(|| body.len() - cursor.left())
    })
}

/// A number, or text with a number.
#[inline]
fn cell_number(from: &mut Cursor<'_>) -> Option<f64> {
    if !from.takes(b'"') {
        return from.double();
    }
    let value = from.double()?;
    from.exactly("\"")?;
    Some(value)
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number within bounds"
)]
fn cell_index(number: f64) -> Option<u32> {
    let is_index = (0.0..LARGEST).contains(&number) && number.fract() == 0.0;
    is_index.then_some(number as u32)
}

/// The fault of the array at the beginning of `rest`, of which `good` cells could be read.
fn fault(rest: &[u8], good: usize) -> DecodeError {
    let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<serde_json::Value>();
    let array = match stream.next() {
        Some(Ok(serde_json::Value::Array(array))) => array,
        Some(Err(error)) => return DecodeError::at("", format!("is not JSON: {error}")),
        _ => return DecodeError::at("", "ends early"),
    };
    let place = format!("[{good}]");
    let Some(cell) = array.get(good) else {
        return DecodeError::at(place, "cannot be read");
    };
    let parts = match cell {
        serde_json::Value::Array(parts) if parts.len() == 3 => parts,
        other => {
            let message = format!(
                "{} is not allowed; allowed: a column, a row and an amount",
                shortened(other)
            );
            return DecodeError::at(place, message);
        }
    };
    for (at, part) in parts.iter().enumerate() {
        let number = match part {
            serde_json::Value::Number(number) => nearest_double(&number.to_string()).ok(),
            serde_json::Value::String(text) => nearest_double(text).ok(),
            _ => None,
        };
        let (is_good, allowed) = if at < 2 {
            (
                number.and_then(cell_index).is_some(),
                "a whole number from 0",
            )
        } else {
            (
                number.is_some_and(|number| number >= 0.0),
                "an amount from 0",
            )
        };
        if !is_good {
            let message = format!("{} is not allowed; allowed: {allowed}", shortened(part));
            return DecodeError::at(format!("{place}[{at}]"), message);
        }
    }
    DecodeError::at(place, "cannot be read")
}

fn shortened(value: &serde_json::Value) -> String {
    value.to_string().chars().take(80).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_or_text_and_the_rest_of_the_body_stays() {
        let body = br#"{"data":{"note":"\"data\":[","data" : [[0, "1","1250000.5"] ,["2",0,3e2]],"end":1}}"#;
        let cells = sparse_cells(body, "data").unwrap().unwrap();
        assert_eq!((cells.columns, cells.rows), (vec![0, 2], vec![1, 0]));
        assert_eq!(cells.amounts, [1_250_000.5, 300.0]);
        assert_eq!(body.get(cells.place.end..), Some(&br#","end":1}}"#[..]));
        assert_eq!(sparse_cells(b"{\"data\":{}}", "data"), Ok(None));
        assert_eq!(
            sparse_cells(b"{\"x\":[]}", "x").unwrap().unwrap().place,
            5..7
        );
    }

    #[test]
    fn a_fault_is_named_by_its_place() {
        for (array, path) in [
            ("[[0,0,1],[0,-1,1]]", "liq[1][1]"),
            ("[[0,0,1],[0.5,1,1]]", "liq[1][0]"),
            ("[[0,0,null]]", "liq[0][2]"),
            ("[[0,0,\"x\"]]", "liq[0][2]"),
            ("[[0,0,-2]]", "liq[0][2]"),
            ("[[0,0]]", "liq[0]"),
            ("[[0,0,1,2]]", "liq[0]"),
            ("[{}]", "liq[0]"),
            ("[[0,0,1],", "liq"),
        ] {
            let body = format!("{{\"liq\":{array}}}");
            let error = sparse_cells(body.as_bytes(), "liq").unwrap_err();
            assert_eq!(error.path, path, "{array}: {error}");
        }
    }
}
