//! Suggestions for misspelled names.

use crate::model::sorting::sort_small;
use crate::model::symbols::names::{did_you_mean, exchange_name};
use strsim::jaro_winkler;

/// Maximum number of suggestions in a message.
const OFFERED: usize = 3;
/// Minimum similarity of a suggestion, from 0 to 1.
pub const ALIKE: f64 = 0.75;

/// The end of a message that suggests a similar exchange for a misspelled one; empty if none is similar.
#[must_use]
pub fn exchange_meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(&exchange_name(name), known, ALIKE);
    near.first()
        .map(|near| format!("; {}", did_you_mean(near)))
        .unwrap_or_default()
}

/// The names of `known` with a Jaro–Winkler similarity of at least `alike`, most similar first.
///
/// # Examples
///
/// ```
/// use liqdata::model::nearest;
///
/// assert_eq!(nearest("bnance", ["binance", "okx", "bybit"].into_iter(), 0.75), ["binance"]);
/// ```
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>, alike: f64) -> Vec<&'a str> {
    let mut found: Vec<(f64, &str)> = known
        .map(|known| (jaro_winkler(name, known), known))
        .filter(|(found, _)| *found >= alike)
        .collect();
    sort_small(&mut found, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    let names = found.into_iter().map(|(_, name)| name);
    names.take(OFFERED).collect()
}
