//! CRC-32 of a table line's cells, as an SQL function.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

/// Name of the checksum column.
pub(crate) const COLUMN: &str = "sum";
/// Name of the SQL function, which takes any number of cells.
pub(crate) const FUNCTION: &str = "cells_sum";

/// Registers the function with a connection.
pub(crate) fn register(journal: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    journal.create_scalar_function(FUNCTION, -1, flags, |cells| Ok(of(cells)))
}

/// Size of the buffer, in bytes: hashing many small pieces separately takes several times as long.
const AT_ONCE: usize = 512;

/// A CRC-32 that buffers small pieces of input.
struct Gathered {
    sum: libdeflater::Crc,
    waiting: [u8; AT_ONCE],
    count: usize,
}

impl Gathered {
    fn add(&mut self, bytes: &[u8]) {
        if let Some(room) = self.waiting.get_mut(self.count..self.count + bytes.len()) {
            room.copy_from_slice(bytes);
            self.count += bytes.len();
        } else {
            self.settle();
            self.sum.update(bytes);
        }
    }

    fn settle(&mut self) {
        self.sum
            .update(self.waiting.get(..self.count).unwrap_or_default());
        self.count = 0;
    }
}

/// CRC-32 of cells; covers the type, the length and the value of each cell.
fn of(cells: &Context<'_>) -> i64 {
    let mut gathered = Gathered {
        sum: libdeflater::Crc::new(),
        waiting: [0; AT_ONCE],
        count: 0,
    };
    for place in 0..cells.len() {
        let mut add = |kind: u8, bytes: &[u8]| {
            gathered.add(&[kind]);
            gathered.add(&bytes.len().to_le_bytes());
            gathered.add(bytes);
        };
        match cells.get_raw(place) {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(value) => add(1, &value.to_le_bytes()),
            ValueRef::Real(value) => add(2, &value.to_bits().to_le_bytes()),
            ValueRef::Text(text) => add(3, text),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    }
    gathered.settle();
    i64::from(gathered.sum.sum())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::checksums::crc::*;

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

    #[test]
    fn cells_of_any_length_are_summed_as_one_run_of_bytes() {
        let journal = Connection::open_in_memory().unwrap();
        register(&journal).unwrap();
        for length in [0, 1, AT_ONCE - 18, AT_ONCE - 9, AT_ONCE, 3 * AT_ONCE] {
            let (text, number) = ("x".repeat(length), 7_i64);
            let sum: i64 = journal
                .query_row(
                    &format!("SELECT {FUNCTION}(?1, ?2, ?1)"),
                    rusqlite::params![text, number],
                    |line| line.get(0),
                )
                .unwrap();
            let mut bytes = Vec::new();
            let cells: [(u8, &[u8]); 3] = [
                (3, text.as_bytes()),
                (1, &number.to_le_bytes()),
                (3, text.as_bytes()),
            ];
            for (kind, cell) in cells {
                bytes.push(kind);
                bytes.extend(cell.len().to_le_bytes());
                bytes.extend(cell);
            }
            let mut whole = libdeflater::Crc::new();
            whole.update(&bytes);
            assert_eq!(sum, i64::from(whole.sum()), "{length}");
        }
    }
}
