//! The rows of features as columns, and as CSV lines.

use csv::{ByteRecord, ReaderBuilder, Writer};

use crate::contract::decode::DecodeError;
use crate::model::{Kind, Labels};

/// The names of the columns that follow if one of the map is wanted: the units of the map, and the view of its model.
const LABELS: [&str; 2] = ["units", "view"];
/// The names of the columns before those of windows, with and without the open of a bar.
const INSTANT: [&str; 3] = ["at", "coin", "known_at"];
/// The name of the column with the open of the bar that closes at the instant.
const BAR_OPEN: &str = "bar_open";

/// The columns that are wanted, and what their names depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureColumns {
    /// Names and lengths of the windows, in milliseconds.
    pub windows: Vec<(String, i64)>,
    /// Moves of the price, in percent.
    pub moves: Vec<f64>,
    /// Names of the wanted columns; all if absent.
    pub wanted: Option<Vec<String>>,
}

impl FeatureColumns {
    /// The names of all columns, in order. With `opens`, that of the opens of bars is one of them.
    #[must_use]
    pub fn names(&self, opens: bool) -> Vec<String> {
        let mut names: Vec<String> = ["at", "coin"].map(str::to_owned).into();
        names.extend(opens.then(|| BAR_OPEN.to_owned()));
        names.extend(["known_at", "price"].map(str::to_owned));
        for (window, _) in &self.windows {
            names.extend(Self::of_window(window));
        }
        for percent in &self.moves {
            names.extend(["long", "short"].map(|side| format!("{side}_usd_{percent}pct")));
        }
        for side in ["below", "above"] {
            names.extend(["dist_pct", "usd", "leverage"].map(|what| format!("{side}_{what}")));
        }
        for side in ["long", "short"] {
            names.extend(["dist_pct", "usd"].map(|what| format!("pain_{side}_{what}")));
        }
        names.extend(["map_age_s", "oi_age_s", "model_version"].map(str::to_owned));
        names
    }

    /// The names of the columns of a window.
    #[must_use]
    pub fn of_window(window: &str) -> [String; 4] {
        ["long_usd_", "short_usd_", "cnt_", "covered_"].map(|start| format!("{start}{window}"))
    }

    /// Whether a column is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|one| one == name))
            || matches!(name, "at" | "coin")
    }

    fn is_of_window(&self, name: &str) -> bool {
        let mut windows = self.windows.iter();
        windows.any(|(window, _)| Self::of_window(window).iter().any(|one| one == name))
    }

    /// Whether a column of realised orders is wanted.
    #[must_use]
    pub fn has_windows(&self) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|name| self.is_of_window(name)))
    }

    /// Whether a column of the map is wanted.
    #[must_use]
    pub fn has_map(&self) -> bool {
        let is_of_map = |name: &String| {
            name != BAR_OPEN && !INSTANT.contains(&name.as_str()) && !self.is_of_window(name)
        };
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(is_of_map))
    }
}

/// The cells of a column of features. A missing cell has the default of its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureCells {
    /// Text.
    Text(Labels),
    /// Doubles.
    Float(Vec<f64>),
    /// Whole numbers.
    Int(Vec<i64>),
    /// Epoch milliseconds.
    Time(Vec<i64>),
}

impl FeatureCells {
    fn empty(name: &str) -> Self {
        match kind_of(name) {
            Kind::Text => Self::Text(Labels::default()),
            Kind::Time => Self::Time(Vec::new()),
            Kind::Int => Self::Int(Vec::new()),
            _ => Self::Float(Vec::new()),
        }
    }

    /// Adds the cell that a text spells; `false` if it spells none of this kind.
    fn push(&mut self, text: &str) -> bool {
        fn add<T: std::str::FromStr + Default>(cells: &mut Vec<T>, text: &str) -> bool {
            let cell = if text.is_empty() {
                Some(T::default())
            } else {
                text.parse().ok()
            };
            let is_read = cell.is_some();
            cells.extend(cell);
            is_read
        }
        match self {
            Self::Text(cells) => {
                cells.push(text);
                true
            }
            Self::Float(cells) => add(cells, text),
            Self::Int(cells) | Self::Time(cells) => add(cells, text),
        }
    }

    /// The text of a cell. Numbers are the shortest that are read as the same number.
    fn text(&self, row: usize) -> String {
        match self {
            Self::Text(cells) => cells.get(row).map(str::to_owned),
            Self::Float(cells) => cells.get(row).map(ToString::to_string),
            Self::Int(cells) | Self::Time(cells) => cells.get(row).map(ToString::to_string),
        }
        .unwrap_or_default()
    }
}

/// The kind of the cells of a column.
fn kind_of(name: &str) -> Kind {
    match name {
        "at" | "known_at" | BAR_OPEN => Kind::Time,
        "coin" | "model_version" => Kind::Text,
        name if LABELS.contains(&name) => Kind::Text,
        name if name.starts_with("cnt_") || name.ends_with("_leverage") => Kind::Int,
        _ => Kind::Float,
    }
}

/// A named column of features.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureColumn {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: FeatureCells,
    /// Whether each cell is present; `None` if no cell may be missing.
    pub present: Option<Vec<bool>>,
}

/// Rows of features as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureTable {
    /// The columns, in order.
    pub columns: Vec<FeatureColumn>,
    /// Number of rows.
    pub rows: usize,
}

impl FeatureTable {
    /// Adds the units of the map and the view of its model in each row; `None` without a map.
    pub fn put_labels(&mut self, labels: &[Option<[&str; 2]>]) {
        for (place, name) in LABELS.into_iter().enumerate() {
            let texts = labels.iter().map(|row| Some(*row.as_ref()?.get(place)?));
            self.columns.push(FeatureColumn {
                name: name.to_owned(),
                present: Some(labels.iter().map(Option::is_some).collect()),
                cells: FeatureCells::Text(texts.map(Option::unwrap_or_default).collect()),
            });
        }
    }

    /// Removes the units of the map and the view of its model, and returns the different ones.
    pub fn take_labels(&mut self) -> [Vec<String>; 2] {
        LABELS.map(|name| {
            let place = self.columns.iter().position(|column| column.name == name);
            let cells = place.map(|place| self.columns.remove(place).cells);
            let Some(FeatureCells::Text(texts)) = cells else {
                return Vec::new();
            };
            let names = texts.names().iter().filter(|name| !name.is_empty());
            names.cloned().collect()
        })
    }

    /// The rows as CSV lines, after a line of names if `head`. A missing cell is empty.
    #[must_use]
    pub fn csv(&self, head: bool) -> Vec<u8> {
        let mut lines = Writer::from_writer(Vec::new());
        // Writing to memory cannot fail, and all lines have the same number of cells.
        if head {
            let _ = lines.write_record(self.columns.iter().map(|column| column.name.as_str()));
        }
        for row in 0..self.rows {
            let cells = self.columns.iter().map(|column| {
                let present = column.present.as_ref();
                let present = present.is_none_or(|present| present.get(row) == Some(&true));
                if present {
                    column.cells.text(row)
                } else {
                    String::new()
                }
            });
            let _ = lines.write_record(cells);
        }
        lines.into_inner().unwrap_or_default()
    }

    /// Reads lines with these columns, and with those of units and view if a column of the map is wanted.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for other names, and for a cell that is not of its column's kind.
    pub fn read(body: &[u8], columns: &FeatureColumns) -> Result<Self, DecodeError> {
        let mut names = columns.names(false);
        names.retain(|name| columns.wants(name));
        if columns.has_map() {
            names.extend(LABELS.map(str::to_owned));
        }
        let mut lines = ReaderBuilder::new().has_headers(false).from_reader(body);
        let damaged = |fault: csv::Error| DecodeError::at("", fault.to_string());
        let mut line = ByteRecord::new();
        lines.read_byte_record(&mut line).map_err(damaged)?;
        if !line.iter().eq(names.iter().map(String::as_bytes)) {
            let message = format!("is not the line of names {}", names.join(","));
            return Err(DecodeError::at("line 1", message));
        }
        let made = names.into_iter().map(|name| FeatureColumn {
            cells: FeatureCells::empty(&name),
            present: (!matches!(name.as_str(), "at" | "coin")).then(Vec::new),
            name,
        });
        let mut made = Self {
            columns: made.collect(),
            rows: 0,
        };
        while lines.read_byte_record(&mut line).map_err(damaged)? {
            made.rows += 1;
            for (column, cell) in made.columns.iter_mut().zip(&line) {
                let text = std::str::from_utf8(cell).ok();
                let is_empty = cell.is_empty();
                let is_read = text.is_some_and(|text| column.cells.push(text));
                match &mut column.present {
                    Some(present) => present.push(!is_empty),
                    None if is_empty => return Err(wrong(made.rows, &column.name, "")),
                    None => {}
                }
                if !is_read {
                    return Err(wrong(
                        made.rows,
                        &column.name,
                        &String::from_utf8_lossy(cell),
                    ));
                }
            }
        }
        Ok(made)
    }
}

fn wrong(row: usize, column: &str, cell: &str) -> DecodeError {
    DecodeError::at(
        format!("line {}.{column}", row + 1),
        format!("{cell:?} is not allowed"),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let columns = FeatureColumns {
            windows: Vec::new(),
            moves: Vec::new(),
            wanted: Some(vec!["price".to_owned(), "below_leverage".to_owned()]),
        };
        let column = |name: &str, cells, present: Option<[bool; 3]>| FeatureColumn {
            name: name.to_owned(),
            cells,
            present: present.map(Vec::from),
        };
        let mut table = FeatureTable {
            columns: vec![
                column("at", FeatureCells::Time(vec![1, 2, 3]), None),
                column(
                    "coin",
                    FeatureCells::Text(["BTC", "a,\"b\"", "BTC"].into_iter().collect()),
                    None,
                ),
                column(
                    "price",
                    FeatureCells::Float(vec![0.1 + 0.2, 0.0, 1e-300]),
                    Some([true, false, true]),
                ),
                column(
                    "below_leverage",
                    FeatureCells::Int(vec![0, 25, 0]),
                    Some([false, true, false]),
                ),
            ],
            rows: 3,
        };
        table.put_labels(&[Some(["usd", "expected"]), None, Some(["usd", "exposed"])]);
        let lines = table.csv(true);
        assert!(lines.starts_with(
            b"at,coin,price,below_leverage,units,view\n1,BTC,0.30000000000000004,,usd,expected\n"
        ));
        let mut again = FeatureTable::read(&lines, &columns).unwrap();
        assert_eq!(again, table);
        assert_eq!(
            again.take_labels(),
            [vec!["usd"], vec!["expected", "exposed"]]
        );
        assert_eq!(again.columns.len(), 4);
        for (body, place) in [
            ("at,coin,price\n", "line 1"),
            ("", "line 1"),
            (
                "at,coin,price,below_leverage,units,view\n1,BTC,x,,,\n",
                "line 2.price",
            ),
            (
                "at,coin,price,below_leverage,units,view\n,BTC,,,,\n",
                "line 2.at",
            ),
            ("at,coin,price,below_leverage,units,view\n1,BTC\n", ""),
        ] {
            let fault = FeatureTable::read(body.as_bytes(), &columns).unwrap_err();
            assert_eq!(fault.path, place, "{fault}");
        }
    }
}
