//! Rows of the past by columns, as tables have them: what filing asks of them, without a row of its own for each.
//!
//! A table is filed by columns where that gives what its rows would: of a day of which nothing is there yet, of rows that
//! are all sound and no two of which are the same. Of every other day the rows are made, and filed one by one.

use crate::archive::catalog::manifest::{Day, Partition};
use crate::archive::rows::row::{Row, check_time};
use crate::model::{DecimalColumn, FixedPoint, Labels, Millis, Side};

/// A column of a table, as a file has it.
pub(crate) enum Cells<'a> {
    /// The same text in every row.
    Same(&'a str),
    /// Nothing in any row.
    Nothing,
    /// Texts of which few are distinct.
    Named(&'a Labels),
    /// Sides.
    Sides(&'a [Side]),
    /// Exact decimals.
    Exact(&'a DecimalColumn),
    /// Instants, and by how much each is later in the file.
    Times(&'a [Millis], i64),
    /// What tells each row from all others, written where it is wanted.
    KeyIndex,
}

/// Rows by columns.
pub(crate) trait Tabled {
    /// What they are.
    type Row: Row;

    /// How many there are.
    fn len(&self) -> usize;
    /// The row at a place.
    fn row(&self, row: usize) -> Option<Self::Row>;
    /// When each happened.
    fn timestamps(&self) -> &[Millis];
    /// How long a row is, where rows have a length; else 0.
    fn interval(&self, _row: usize) -> i64 {
        0
    }
    /// The exchange of each row.
    fn exchanges(&self) -> &Labels;
    /// The coins of rows that have a length.
    fn coins(&self) -> &Labels;
    /// Looks over the names once; what is asked of single rows stands on it.
    fn names(&self) -> Sound;
    /// Whether a row is surely one that can be kept as it is: one of which that is not sure is looked at as a row.
    fn is_sound(&self, names: &Sound, row: usize) -> bool;
    /// Brings rows of one partition into the order of a file; gives whether each has a key of its own.
    fn arrange(&self, names: &Sound, rows: &mut [usize]) -> bool;
    /// A column of a file.
    fn cells(&self, column: &'static str, partition: Partition) -> Cells<'_>;
    /// Writes what tells a row from all others behind `text`.
    fn write_key(&self, _row: usize, _text: &mut String) {}
}

/// The partition of a row.
pub(crate) fn partition<T: Tabled>(table: &T, row: usize) -> Option<Partition> {
    Some(Partition {
        day: Day::of(*table.timestamps().get(row)?),
        interval: table.interval(row),
    })
}

/// What is known of the names of a table.
#[derive(Debug, Default)]
pub(crate) struct Sound {
    /// Of each column of names which of them are no blanks.
    named: Vec<Vec<bool>>,
    /// Of each the places of its names in their order.
    ranks: Vec<Vec<u32>>,
}

impl Sound {
    /// Of these columns of names.
    pub(crate) fn of(columns: &[&Labels]) -> Self {
        let named = columns.iter().map(|column| {
            let names = column.names().iter();
            names.map(|name| !name.trim().is_empty()).collect()
        });
        Self {
            named: named.collect(),
            ranks: columns.iter().map(|column| ranks(column)).collect(),
        }
    }

    /// Whether the name of a row is no blank; `column` is the place of `labels` among those that were looked over.
    pub(crate) fn is_named(&self, column: usize, labels: &Labels, row: usize) -> bool {
        let code = labels.codes().get(row).copied();
        let named = self.named.get(column);
        code.zip(named)
            .and_then(|(code, named)| named.get(code as usize))
            .is_some_and(|named| *named)
    }

    /// The place of a row's name among all in their order.
    pub(crate) fn rank(&self, column: usize, labels: &Labels, row: usize) -> u32 {
        let code = labels.codes().get(row).copied();
        code.zip(self.ranks.get(column))
            .and_then(|(code, ranks)| ranks.get(code as usize).copied())
            .unwrap_or(u32::MAX)
    }
}

/// The place of each name of a column among all in their order.
fn ranks(column: &Labels) -> Vec<u32> {
    let names = column.names();
    let mut ordered: Vec<(&str, usize)> = names.iter().map(String::as_str).zip(0..).collect();
    ordered.sort_unstable();
    let mut ranks = vec![0; names.len()];
    for ((_, code), rank) in ordered.into_iter().zip(0..) {
        if let Some(place) = ranks.get_mut(code) {
            *place = rank;
        }
    }
    ranks
}

/// Whether an instant is one that a row may have.
pub(crate) fn is_time(times: &[Millis], row: usize, later: i64) -> bool {
    let at = times.get(row).map(|at| at.on(later));
    at.is_some_and(|at| check_time("timestamp", at).is_ok())
}

/// A decimal in units of 10⁻¹⁸, where few digits and decimals are all it has.
#[inline]
pub(crate) fn attos(column: &DecimalColumn, row: usize) -> Option<i128> {
    FixedPoint::of_short(column.short(row)?).map(|value| value.0)
}

/// Brings rows of a coin and an exchange into the order of a file, by coin, exchange and time, the names of which are those of
/// the first two columns that were looked over; gives whether no two are the same.
pub(crate) fn arranged<T: Tabled>(table: &T, names: &Sound, rows: &mut [usize]) -> bool {
    let place = |row: &usize| {
        (
            names.rank(1, table.coins(), *row),
            names.rank(0, table.exchanges(), *row),
            table.timestamps().get(*row),
        )
    };
    rows.sort_by_key(place);
    rows.is_sorted_by(|one, other| place(one) < place(other))
}

/// The cells of these rows, in this order.
pub(crate) fn taken<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
    let cells = rows.iter().filter_map(|row| cells.get(*row).copied());
    cells.collect()
}

/// A column of names as `spell` has them; each is spelled once.
#[must_use]
pub fn spelled(given: &Labels, spell: impl Fn(&str) -> String) -> Option<Labels> {
    let names: Vec<String> = given.names().iter().map(|name| spell(name)).collect();
    Labels::from_parts(given.codes(), &names)
}
