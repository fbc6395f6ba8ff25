//! Validates Arrow data before any cell is used.
//!
//! The C interface passes raw addresses. Invalid data from a faulty library could otherwise be read as text or beyond
//! the end of a column.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef};
use arrow_schema::DataType;

/// The message for a panic while invalid data are read.
const CONTRADICTS: &str = "its Arrow layout is inconsistent";

/// The location of invalid data in a column.
#[derive(Debug)]
pub(crate) struct Unsound {
    /// Index of the invalid row. `None` if the fault does not belong to a single row.
    pub(crate) row: Option<usize>,
    pub(crate) why: String,
}

/// Runs `read` and turns a panic on an invalid layout into an error.
pub(crate) fn guarded<T, E: ToString>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| CONTRADICTS.to_owned())?
        .map_err(|error| error.to_string())
}

/// Validates all cells, and joins the chunks into one array.
pub(crate) fn vouched(chunks: &[ArrayRef], kind: &DataType) -> Result<ArrayRef, Unsound> {
    let mut before = 0;
    for chunk in chunks {
        if let Some(mut fault) = unsound(chunk) {
            fault.row = fault.row.map(|row| before + row);
            return Err(fault);
        }
        before += chunk.len();
    }
    let joined = || match chunks {
        [] => Ok(arrow_array::new_empty_array(kind)),
        [only] => Ok(ArrayRef::clone(only)),
        _ => {
            let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
            arrow_select::concat::concat(&chunks)
        }
    };
    guarded(joined).map_err(|why| Unsound { row: None, why })
}

/// Finds the first invalid location in an array.
fn unsound(array: &ArrayRef) -> Option<Unsound> {
    let why = fault(array)?;
    let values = array
        .as_any_dictionary_opt()
        .map(AnyDictionaryArray::values);
    if values.is_some_and(|values| fault(values).is_some()) {
        let why = format!("in its dictionary: {why}");
        return Some(Unsound { row: None, why });
    }
    // Searches by bisection for the first invalid row.
    let (mut sound, mut broken) = (0, array.len());
    while broken - sound > 1 {
        let middle = sound.midpoint(broken);
        if fault(&array.slice(0, middle)).is_some() {
            broken = middle;
        } else {
            sound = middle;
        }
    }
    let row = Some(sound).filter(|&row| row < array.len());
    Some(Unsound { row, why })
}

fn fault(array: &ArrayRef) -> Option<String> {
    guarded(|| array.to_data().validate_full()).err()
}
