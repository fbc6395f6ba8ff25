//! Which known names are most like one that is unknown.

use crate::model::sorting::sort_small;
use crate::model::symbols::names::{did_you_mean, exchange_name};
use strsim::jaro_winkler;

/// So many names are offered.
const OFFERED: usize = 3;
/// How much a name is like another that may have been meant.
pub const ALIKE: f64 = 0.75;

/// The question whether the nearest of `known` was meant by the name of an exchange, as a message ends with it; empty where
/// none is near.
#[must_use]
pub fn exchange_meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(&exchange_name(name), known, ALIKE);
    near.first()
        .map(|near| format!("; {}", did_you_mean(near)))
        .unwrap_or_default()
}

/// The names of `known` that are at least so much `alike` to `name`, from 0 to 1 by Jaro and Winkler, the nearest first.
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
