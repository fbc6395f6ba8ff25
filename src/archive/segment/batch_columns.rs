//! Access to the columns of an Arrow batch of orders.
//!
//! Each column is checked as a whole.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch, StringArray};

use crate::archive::rows::row::Fault;
use crate::model::{FixedPoint, Numbered};

/// Exclusive limit of the integer of a `Decimal`, which has 96 bits.
const MAX_DECIMAL: u128 = 1 << 96;

/// The fault for a missing value or a value of the wrong type.
pub(crate) fn absent(name: &'static str) -> Fault {
    (
        name,
        "a value is missing or does not fit its type".to_owned(),
    )
}

/// Returns a column; fails if it is missing or contains nulls.
fn column<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a dyn Array, Fault> {
    let column = batch.column_by_name(name).map(Arc::as_ref);
    column
        .filter(|column| column.null_count() == 0)
        .ok_or_else(|| absent(name))
}

/// Returns a column of instants in milliseconds.
pub(crate) fn times<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a [i64], Fault> {
    let values = column(batch, name)?.as_primitive_opt::<TimestampMillisecondType>();
    Ok(values.ok_or_else(|| absent(name))?.values())
}

/// Returns a column of amounts as integers in units of 10⁻¹⁸.
///
/// Fails if an amount does not fit a `Decimal`.
pub(crate) fn amounts<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a [i128], Fault> {
    let values = column(batch, name)?.as_primitive_opt::<Decimal128Type>();
    let values: &[i128] = values.ok_or_else(|| absent(name))?.values();
    let fits =
        |value: &i128| value.unsigned_abs() < MAX_DECIMAL || FixedPoint(*value).decimal().is_some();
    if !values.iter().all(fits) {
        return Err(absent(name));
    }
    Ok(values)
}

/// Returns a dictionary column of names; fails if it contains nulls or invalid keys.
pub(crate) fn names_of<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Numbered<'a, &'a str>, Fault> {
    let of = || {
        let dictionary = column(batch, name).ok()?.as_dictionary_opt::<Int32Type>()?;
        let names: &StringArray = dictionary.values().as_string_opt()?;
        let numbers: &[i32] = dictionary.keys().values();
        let count = i32::try_from(names.len()).ok()?;
        (names.null_count() == 0 && numbers.iter().all(|number| (0..count).contains(number))).then(
            || Numbered {
                values: names.iter().map(Option::unwrap_or_default).collect(),
                numbers,
            },
        )
    };
    of().ok_or_else(|| absent(name))
}
