//! How much of the period of a reply is covered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Millis;

/// The covered part of the period that a reply of realised orders is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeriodCoverage {
    /// Covered share of the period, the mean over exchanges; 0 means that zeros in the reply are unknown.
    pub covered: f64,
    /// The same of each window of an overview, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub covered_windows: BTreeMap<String, f64>,
    /// The first instant at which orders are known.
    pub data_from: Option<Millis>,
}
