//! The function of SQL that makes a checksum of a line's cells, and the column that holds it.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

/// The column of the checksum.
pub(super) const COLUMN: &str = "sum";
/// The function of SQL that makes one of any number of cells.
pub(super) const FUNCTION: &str = "cells_sum";

/// Makes the function known to a connection.
pub(super) fn register(journal: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    journal.create_scalar_function(FUNCTION, -1, flags, |cells| Ok(of(cells)))
}

/// The checksum of cells, each with its kind and length.
fn of(cells: &Context<'_>) -> i64 {
    let mut sum = libdeflater::Crc::new();
    for place in 0..cells.len() {
        let mut add = |kind: u8, bytes: &[u8]| {
            sum.update(&[kind]);
            sum.update(&bytes.len().to_le_bytes());
            sum.update(bytes);
        };
        match cells.get_raw(place) {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(value) => add(1, &value.to_le_bytes()),
            ValueRef::Real(value) => add(2, &value.to_bits().to_le_bytes()),
            ValueRef::Text(text) => add(3, text),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    }
    i64::from(sum.sum())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn cells_that_differ_in_kind_length_or_value_have_other_sums() {
        let journal = Connection::open_in_memory().unwrap();
        register(&journal).unwrap();
        let sum = |cells: &str| -> i64 {
            journal
                .query_row(&format!("SELECT {FUNCTION}({cells})"), [], |line| {
                    line.get(0)
                })
                .unwrap()
        };
        let all = [
            "1",
            "2",
            "'1'",
            "1.0",
            "x'31'",
            "NULL",
            "NULL, NULL",
            "'a', 'bc'",
            "'ab', 'c'",
        ];
        let mut sums: Vec<i64> = all.into_iter().map(sum).collect();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), all.len());
    }
}
