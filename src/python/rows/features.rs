//! The columns of features, which depend on the windows and moves that are asked for.

use crate::contract::{FeatureCells, FeatureTable};
use crate::python::rows::columns::{Cells, Column, Columns};

impl From<FeatureTable> for Columns {
    fn from(table: FeatureTable) -> Self {
        let columns = table.columns.into_iter().map(|column| Column {
            name: column.name,
            cells: match column.cells {
                FeatureCells::Text(cells) => Cells::Text(cells),
                FeatureCells::Float(cells) => Cells::Float(cells),
                FeatureCells::Int(cells) => Cells::Int(cells),
                FeatureCells::Time(cells) => Cells::Time(cells),
            },
            present: column.present,
        });
        Self {
            columns: columns.collect(),
            rows: table.rows,
        }
    }
}

impl Columns {
    /// Concatenates parts of features. `None` if their columns differ.
    pub(crate) fn joined_features<'a>(mut parts: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut joined = parts.next()?.clone();
        for part in parts {
            joined.add(part)?;
        }
        Some(joined)
    }

    /// Adds the column of the opens of bars, each of which has as many rows as there are coins.
    pub(crate) fn with_opens(mut self, opens: &[i64]) -> Self {
        let coins = self.rows.checked_div(opens.len()).unwrap_or_default();
        let cells = opens
            .iter()
            .flat_map(|open| std::iter::repeat_n(*open, coins));
        let place = self.columns.len().min(2); // after the instant and the coin
        self.columns.insert(
            place,
            Column {
                name: "bar_open".to_owned(),
                cells: Cells::Time(cells.collect()),
                present: None,
            },
        );
        self
    }
}
