//! The columns of features, which depend on the windows and moves that are asked for.

use crate::engine::MapFeatures;
use crate::market::FeatureRow;
use crate::model::{Labels, Millis};
use crate::python::rows::columns::{Cells, Column, Columns};

/// The names of the columns before those of windows.
const INSTANT: [&str; 3] = ["at", "coin", "known_at"];
/// The names that columns of windows begin with.
const OF_WINDOW: [&str; 4] = ["long_usd_", "short_usd_", "cnt_", "covered_"];
/// The names that columns of moves begin with.
const OF_MOVE: [&str; 2] = ["long_usd_", "short_usd_"];

/// The columns that are wanted, and their names.
#[derive(Clone, Debug)]
pub(crate) struct FeatureColumns {
    /// Names of the windows.
    pub(crate) windows: Vec<String>,
    /// Names of the moves, in percent.
    pub(crate) moves: Vec<String>,
    /// The open of the bar that closes at each instant.
    pub(crate) opens: Option<Vec<i64>>,
    /// Names of the wanted columns; all if absent.
    pub(crate) wanted: Option<Vec<String>>,
}

impl FeatureColumns {
    fn wants(&self, name: &str) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|one| one == name))
    }

    fn is_of_window(&self, name: &str) -> bool {
        let mut names = self.windows.iter().flat_map(|window| {
            OF_WINDOW
                .iter()
                .map(move |start| format!("{start}{window}"))
        });
        names.any(|one| one == name)
    }

    /// Whether a column of realised orders is wanted.
    pub(crate) fn has_windows(&self) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|name| self.is_of_window(name)))
    }

    /// Whether a column of the map is wanted.
    pub(crate) fn has_map(&self) -> bool {
        let is_of_map = |name: &String| {
            name != "bar_open" && !INSTANT.contains(&name.as_str()) && !self.is_of_window(name)
        };
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(is_of_map))
    }

    /// The rows of coins, each with one row per instant, ordered by instant and then as the coins are.
    pub(crate) fn table(&self, coins: &[(String, Vec<FeatureRow>)]) -> Columns {
        let names: Vec<String> = coins.iter().map(|(coin, _)| coin.clone()).collect();
        let count = coins.first().map_or(0, |(_, rows)| rows.len());
        let mut instants: Vec<usize> = (0..count).collect();
        let first = coins.first().map(|(_, rows)| rows);
        instants.sort_by_key(|place| first.and_then(|rows| rows.get(*place)).map(|row| row.at));
        let mut rows: Vec<(u32, usize, &FeatureRow)> = Vec::with_capacity(count * coins.len());
        for place in instants {
            for (code, (_, of_coin)) in (0..).zip(coins) {
                rows.extend(of_coin.get(place).map(|row| (code, place, row)));
            }
        }
        let mut made = MadeColumns {
            asked: self,
            rows: &rows,
            columns: Vec::new(),
        };
        made.time("at", |(_, _, row)| Some(row.at.0));
        let codes: Vec<u32> = rows.iter().map(|(code, ..)| *code).collect();
        let labels = Labels::from_parts(&codes, &names).unwrap_or_default();
        made.put("coin", Cells::Text(labels), None);
        if let Some(opens) = &self.opens {
            made.time("bar_open", |(_, place, _)| opens.get(*place).copied());
        }
        made.time("known_at", |(_, _, row)| row.known_at.map(|at| at.0));
        made.map("price", |map, _| Some(map.price));
        for (number, name) in self.windows.iter().enumerate() {
            let of = |row: &FeatureRow| row.windows.get(number).copied();
            made.float(&format!("long_usd_{name}"), |row| Some(of(row)?.usd?[0]));
            made.float(&format!("short_usd_{name}"), |row| Some(of(row)?.usd?[1]));
            made.int(&format!("cnt_{name}"), |row| of(row)?.cnt);
            made.float(&format!("covered_{name}"), |row| Some(of(row)?.covered));
        }
        for (number, name) in self.moves.iter().enumerate() {
            for (side, start) in OF_MOVE.iter().enumerate() {
                made.map(&format!("{start}{name}pct"), |map, _| {
                    map.moves.get(number)?.get(side).copied()
                });
            }
        }
        for (side, name) in ["below", "above"].into_iter().enumerate() {
            let of = |map: &MapFeatures| map.clusters.get(side).copied().flatten();
            made.map(&format!("{name}_dist_pct"), |map, _| {
                Some(of(map)?.distance_pct)
            });
            made.map(&format!("{name}_usd"), |map, _| Some(of(map)?.usd));
            made.int(&format!("{name}_leverage"), |row| {
                Some(of(row.map.as_ref()?)?.leverage)
            });
        }
        for (side, name) in ["pain_long", "pain_short"].into_iter().enumerate() {
            let of = |map: &MapFeatures| map.pains.get(side).copied().flatten();
            made.map(&format!("{name}_dist_pct"), |map, _| Some(of(map)?[0]));
            made.map(&format!("{name}_usd"), |map, _| Some(of(map)?[1]));
        }
        made.map("map_age_s", |map, at| Some(seconds(map.closed, at)));
        made.map("oi_age_s", |map, at| {
            Some(seconds(map.open_interest_at?, at))
        });
        let versions = rows
            .iter()
            .map(|(_, _, row)| row.map.as_ref().map(|map| map.model_version.as_str()));
        let present: Vec<bool> = versions.clone().map(|version| version.is_some()).collect();
        let texts: Labels = versions.map(Option::unwrap_or_default).collect();
        made.put("model_version", Cells::Text(texts), Some(present));
        Columns {
            columns: made.columns,
            rows: rows.len(),
        }
    }
}

/// Seconds from one instant to another.
#[expect(clippy::cast_precision_loss, reason = "ages are exact in a double")]
fn seconds(from: Millis, to: Millis) -> f64 {
    to.0.saturating_sub(from.0) as f64 / 1000.0
}

/// The units of the maps; `None` without a map.
pub(crate) fn units(coins: &[(String, Vec<FeatureRow>)]) -> Option<&'static str> {
    let maps = coins
        .iter()
        .flat_map(|(_, rows)| rows)
        .filter_map(|row| row.map.as_ref());
    let mut found = None;
    for map in maps {
        let units = if map.is_relative { "relative" } else { "usd" };
        if found.is_some_and(|found| found != units) {
            return Some("mixed");
        }
        found = Some(units);
    }
    found
}

/// Columns that are filled one after another.
struct MadeColumns<'a> {
    asked: &'a FeatureColumns,
    /// Code of the coin, index of the instant, and the features.
    rows: &'a [(u32, usize, &'a FeatureRow)],
    columns: Vec<Column>,
}

impl<'a> MadeColumns<'a> {
    /// Adds a column if it is wanted. Columns that may have missing cells say so even if none is, so that parts of an
    /// answer have one schema.
    fn put(&mut self, name: &str, cells: Cells, present: Option<Vec<bool>>) {
        if self.asked.wants(name) || matches!(name, "at" | "coin") {
            self.columns.push(Column {
                name: name.to_owned(),
                cells,
                present,
            });
        }
    }

    fn float(&mut self, name: &str, value: impl Fn(&'a FeatureRow) -> Option<f64>) {
        let values: Vec<Option<f64>> = self.rows.iter().map(|(_, _, row)| value(row)).collect();
        let present = values.iter().map(Option::is_some).collect();
        let cells = values.into_iter().map(Option::unwrap_or_default).collect();
        self.put(name, Cells::Float(cells), Some(present));
    }

    fn map(&mut self, name: &str, value: impl Fn(&'a MapFeatures, Millis) -> Option<f64>) {
        self.float(name, |row| value(row.map.as_ref()?, row.at));
    }

    fn int(&mut self, name: &str, value: impl Fn(&'a FeatureRow) -> Option<i64>) {
        let values: Vec<Option<i64>> = self.rows.iter().map(|(_, _, row)| value(row)).collect();
        let present = values.iter().map(Option::is_some).collect();
        let cells = values.into_iter().map(Option::unwrap_or_default).collect();
        self.put(name, Cells::Int(cells), Some(present));
    }

    fn time(&mut self, name: &str, value: impl Fn(&(u32, usize, &'a FeatureRow)) -> Option<i64>) {
        let values: Vec<Option<i64>> = self.rows.iter().map(value).collect();
        let present = values.iter().map(Option::is_some).collect();
        let cells = values.into_iter().map(Option::unwrap_or_default).collect();
        // Every row has an instant, and the bar that closes then.
        let is_optional = name == "known_at";
        self.put(name, Cells::Time(cells), is_optional.then_some(present));
    }
}
