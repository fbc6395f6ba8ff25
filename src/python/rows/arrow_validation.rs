//! What arrives over the Arrow interface, looked at in full before any cell of it is read.
//!
//! The interface hands over bare addresses. A library that breaks its promises would be read as text that is none, or
//! beyond the end of a column.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef};
use arrow_schema::DataType;

/// What is said where reading a layout fails in a way that nobody foresaw.
const CONTRADICTS: &str = "its layout contradicts itself";

/// A place where a column is not what it says.
#[derive(Debug)]
pub(crate) struct Unsound {
    /// The row; absent where no single one is at fault.
    pub(crate) row: Option<usize>,
    pub(crate) why: String,
}

/// What `read` gives, or why it does not: a layout that contradicts itself may end it anywhere.
pub(crate) fn guarded<T, E: ToString>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| CONTRADICTS.to_owned())?
        .map_err(|error| error.to_string())
}

/// The chunks as one array, once every cell has been vouched for.
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

/// The first place of an array that is not what it says.
fn unsound(array: &ArrayRef) -> Option<Unsound> {
    let why = fault(array)?;
    let values = array
        .as_any_dictionary_opt()
        .map(AnyDictionaryArray::values);
    if values.is_some_and(|values| fault(values).is_some()) {
        let why = format!("in its dictionary: {why}");
        return Some(Unsound { row: None, why });
    }
    // The fewest rows from the start that are at fault end with the first that is.
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
