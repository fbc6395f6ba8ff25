//! Requests for features, and their rows as tables.

use std::ops::Range;

use crate::contract::{
    BadQuery, FeatureCells, FeatureColumn, FeatureColumns, FeatureTable, Features,
};
use crate::engine::MapFeatures;
use crate::market::market::Market;
use crate::market::query::features::{FeatureQuestion, FeatureRow};
use crate::market::refusal::Refusal;
use crate::model::{EstimateView, Labels, Millis, Model, Symbol, Units, Vocabulary};

/// A checked request for features, which can be answered in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct FeaturePlan {
    symbols: Vec<Symbol>,
    columns: FeatureColumns,
    question: FeatureQuestion,
    instants: Vec<Millis>,
}

impl FeaturePlan {
    /// The plan of a request, as meant at `now`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for parameters that contradict each other.
    pub fn of(asked: Features, now: Millis) -> Result<Self, BadQuery> {
        let (columns, range) = (asked.wanted()?, asked.range());
        let latency = asked.latency.unwrap_or_default();
        let instants = asked.instants(now)?;
        Ok(Self {
            question: FeatureQuestion::of(&columns, range, asked.model, asked.exchange, latency),
            columns,
            symbols: asked.symbols,
            instants,
        })
    }

    /// Number of coins, and of instants.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.symbols.len(), self.instants.len())
    }
}

impl Market {
    /// The rows of some of the instants of a plan, of all its coins.
    ///
    /// # Errors
    ///
    /// As [`Market::features`], of all instants before the first part.
    pub fn planned_features(
        &self,
        plan: &FeaturePlan,
        part: Range<usize>,
    ) -> Result<FeatureTable, Refusal> {
        if part.start == 0 {
            let symbols: Vec<&Symbol> = plan.symbols.iter().collect();
            self.check_features(&symbols, &plan.question, &plan.instants)?;
        }
        let instants = plan.instants.get(part).unwrap_or_default();
        let mut coins = Vec::with_capacity(plan.symbols.len());
        for symbol in &plan.symbols {
            let rows = self.features(symbol, &plan.question, instants)?;
            coins.push((symbol.coin().to_owned(), rows));
        }
        Ok(feature_table(&plan.columns, None, &coins))
    }
}

/// The features of coins, each with one row per instant, ordered by instant and then as the coins are.
///
/// `opens` are the opens of the bars that close at the instants, in the order of the rows of a coin.
#[must_use]
pub fn feature_table(
    columns: &FeatureColumns,
    opens: Option<&[i64]>,
    coins: &[(String, Vec<FeatureRow>)],
) -> FeatureTable {
    let names: Vec<String> = coins.iter().map(|(coin, _)| coin.clone()).collect();
    let first: &[FeatureRow] = coins.first().map_or(&[], |(_, rows)| rows);
    let mut instants: Vec<usize> = (0..first.len()).collect();
    instants.sort_by_key(|place| first.get(*place).map(|row| row.at));
    let mut rows: Vec<(u32, usize, &FeatureRow)> = Vec::with_capacity(first.len() * coins.len());
    for place in instants {
        for (code, (_, of_coin)) in (0..).zip(coins) {
            rows.extend(of_coin.get(place).map(|row| (code, place, row)));
        }
    }
    let mut made = MadeColumns {
        asked: columns,
        rows: &rows,
        columns: Vec::new(),
    };
    made.time("at", |(_, _, row)| Some(row.at.0));
    let codes: Vec<u32> = rows.iter().map(|(code, ..)| *code).collect();
    let labels = Labels::from_parts(&codes, &names).unwrap_or_default();
    made.put("coin", FeatureCells::Text(labels), None);
    if let Some(opens) = opens {
        made.time("bar_open", |(_, place, _)| opens.get(*place).copied());
    }
    made.time("known_at", |(_, _, row)| row.known_at.map(|at| at.0));
    made.map("price", |map, _| Some(map.price));
    for (number, (name, _)) in columns.windows.iter().enumerate() {
        let of = |row: &FeatureRow| row.windows.get(number).copied();
        let [long, short, cnt, covered] = FeatureColumns::of_window(name);
        made.float(&long, |row| Some(of(row)?.usd?[0]));
        made.float(&short, |row| Some(of(row)?.usd?[1]));
        made.int(&cnt, |row| of(row)?.cnt);
        made.float(&covered, |row| Some(of(row)?.covered));
    }
    for (number, percent) in columns.moves.iter().enumerate() {
        for (side, name) in ["long", "short"].iter().enumerate() {
            made.map(&format!("{name}_usd_{percent}pct"), |map, _| {
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
    made.put("model_version", FeatureCells::Text(texts), Some(present));
    let mut table = FeatureTable {
        columns: made.columns,
        rows: rows.len(),
    };
    if columns.has_map() {
        let labels = rows.iter().map(|(_, _, row)| {
            let map = row.map.as_ref()?;
            let units = if map.is_relative {
                Units::Relative
            } else {
                Units::Usd
            };
            let view = match map.model {
                Model::Exposure => EstimateView::Exposed,
                Model::Expected => EstimateView::Expected,
            };
            Some([units.name(), view.name()])
        });
        table.put_labels(&labels.collect::<Vec<_>>());
    }
    table
}

/// Seconds from one instant to another.
#[expect(clippy::cast_precision_loss, reason = "ages are exact in a double")]
fn seconds(from: Millis, to: Millis) -> f64 {
    to.0.saturating_sub(from.0) as f64 / 1000.0
}

/// Columns that are filled one after another.
struct MadeColumns<'a> {
    asked: &'a FeatureColumns,
    /// Code of the coin, index of the instant, and the features.
    rows: &'a [(u32, usize, &'a FeatureRow)],
    columns: Vec<FeatureColumn>,
}

impl<'a> MadeColumns<'a> {
    /// Adds a column if it is wanted. Columns that may have missing cells say so even if none is, so that parts of an
    /// answer have one schema.
    fn put(&mut self, name: &str, cells: FeatureCells, present: Option<Vec<bool>>) {
        if self.asked.wants(name) {
            self.columns.push(FeatureColumn {
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
        self.put(name, FeatureCells::Float(cells), Some(present));
    }

    fn map(&mut self, name: &str, value: impl Fn(&'a MapFeatures, Millis) -> Option<f64>) {
        self.float(name, |row| value(row.map.as_ref()?, row.at));
    }

    fn int(&mut self, name: &str, value: impl Fn(&'a FeatureRow) -> Option<i64>) {
        let values: Vec<Option<i64>> = self.rows.iter().map(|(_, _, row)| value(row)).collect();
        let present = values.iter().map(Option::is_some).collect();
        let cells = values.into_iter().map(Option::unwrap_or_default).collect();
        self.put(name, FeatureCells::Int(cells), Some(present));
    }

    fn time(&mut self, name: &str, value: impl Fn(&(u32, usize, &'a FeatureRow)) -> Option<i64>) {
        let values: Vec<Option<i64>> = self.rows.iter().map(value).collect();
        let present = values.iter().map(Option::is_some).collect();
        let cells = values.into_iter().map(Option::unwrap_or_default).collect();
        // Every row has an instant, and the bar that closes then.
        let is_optional = name == "known_at";
        self.put(
            name,
            FeatureCells::Time(cells),
            is_optional.then_some(present),
        );
    }
}
