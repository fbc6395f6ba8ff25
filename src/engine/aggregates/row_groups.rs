//! Grouping of rows by several columns.

use std::collections::HashMap;

/// Maximum size of the lookup table of combinations. For more combinations, a hash map is used.
const MOST: usize = 1 << 20;
const NONE: u32 = u32::MAX;

/// Rows with their group numbers.
#[derive(Debug)]
pub struct RowGroups {
    /// Group of each row.
    pub of_rows: Vec<u32>,
    /// First row of each group.
    pub firsts: Vec<usize>,
}

impl RowGroups {
    /// Creates one group of all rows.
    pub fn together(rows: usize) -> Self {
        Self {
            of_rows: vec![0; rows],
            firsts: vec![0],
        }
    }

    /// Splits the groups by a column.
    ///
    /// `numbers` has the number of each row's value. All numbers are below `values`.
    pub fn by(mut self, numbers: &[i32], values: usize) -> Self {
        let mut firsts = Vec::new();
        let mut number = |known: &mut u32, row: usize| {
            if *known == NONE {
                // The conversion cannot fail, because batches have about ten thousand rows.
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
        let found = RowGroups::together(5)
            .by(&[0, 1, 0, 1, 0], 2)
            .by(&[7, 7, 7, 8, 9], 10);
        assert_eq!(found.of_rows, [0, 1, 0, 2, 3]);
        assert_eq!(found.firsts, [0, 1, 3, 4]);
        // With `MOST` values the hash map is used, and the groups are the same.
        let many = RowGroups::together(5)
            .by(&[0, 1, 0, 1, 0], 2)
            .by(&[7, 7, 7, 8, 9], MOST);
        assert_eq!((many.of_rows, many.firsts), (found.of_rows, found.firsts));
    }
}
