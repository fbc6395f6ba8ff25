//! Rows by what several columns say of them together: every combination that is met has a number.

use std::collections::HashMap;

/// A table of so many places is kept for the combinations; where there could be more, they are looked up.
const MOST: usize = 1 << 20;
const NONE: u32 = u32::MAX;

/// Rows with the numbers of their groups.
#[derive(Debug)]
pub(crate) struct Grouped {
    /// The group of each row.
    pub(crate) of_rows: Vec<u32>,
    /// The first row of each group.
    pub(crate) firsts: Vec<usize>,
}

impl Grouped {
    /// So many rows in one group.
    pub(crate) fn together(rows: usize) -> Self {
        Self {
            of_rows: vec![0; rows],
            firsts: vec![0],
        }
    }

    /// The same, each group divided by the numbers of a column, all of which are below `values`.
    pub(crate) fn by(mut self, numbers: &[i32], values: usize) -> Self {
        let mut firsts = Vec::new();
        let mut number = |known: &mut u32, row: usize| {
            if *known == NONE {
                // A batch has some ten thousand rows.
                *known = u32::try_from(firsts.len()).unwrap_or(NONE);
                firsts.push(row);
            }
            *known
        };
        let rows = self.of_rows.iter_mut().zip(numbers).enumerate();
        let place = |group: u32, number: i32| {
            group as usize * values + usize::try_from(number).unwrap_or_default()
        };
        let places = self.firsts.len().saturating_mul(values);
        if places <= MOST {
            let mut table = vec![NONE; places];
            for (row, (group, of)) in rows {
                if let Some(known) = table.get_mut(place(*group, *of)) {
                    *group = number(known, row);
                }
            }
        } else {
            let mut table: HashMap<usize, u32> = HashMap::new();
            for (row, (group, of)) in rows {
                let known = table.entry(place(*group, *of)).or_insert(NONE);
                *group = number(known, row);
            }
        }
        Self { firsts, ..self }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::aggregates::row_groups::*;

    #[test]
    fn rows_are_together_where_all_columns_agree() {
        let found = Grouped::together(5)
            .by(&[0, 1, 0, 1, 0], 2)
            .by(&[7, 7, 7, 8, 9], 10);
        assert_eq!(found.of_rows, [0, 1, 0, 2, 3]);
        assert_eq!(found.firsts, [0, 1, 3, 4]);
        // However many there could be.
        let many = Grouped::together(5)
            .by(&[0, 1, 0, 1, 0], 2)
            .by(&[7, 7, 7, 8, 9], MOST);
        assert_eq!((many.of_rows, many.firsts), (found.of_rows, found.firsts));
    }
}
