//! The basis of an answer: the explanation of an estimate, or the coverage of observed data.
//!
//! Coverage says at which times each exchange was collected.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::client::Remarks;
use crate::contract::RELATIVE;
use crate::engine::EstimateBasis;
use crate::model::{EarlierBar, FineCells, PeriodCoverage, Sides, TimeUnit, VenueCoverage};

/// Information that accompanies the rows of a reply.
#[derive(Debug, Default)]
pub(crate) struct RowRemarks {
    /// Coverage of the totals, by exchange.
    pub(crate) coverage: Option<Vec<VenueCoverage>>,
    /// The earliest bar that the reply omits because it cannot be converted to the requested bar length.
    pub(crate) earlier: Option<EarlierBar>,
    /// The unit of the service's instants, if it is not milliseconds. The instants of the rows are converted.
    pub(crate) time_unit: Option<TimeUnit>,
    /// How much of the period of the reply is covered.
    pub(crate) period: Option<PeriodCoverage>,
    /// Whether more orders match than the page has, if the service sent it.
    pub(crate) more: Option<bool>,
}

/// The coverage of a period for Python: the covered share, that of each window, and since when orders are known.
pub(crate) type PeriodTuple = (f64, BTreeMap<String, f64>, Option<i64>);

/// A coverage for Python.
pub(crate) fn period_tuple(period: PeriodCoverage) -> PeriodTuple {
    let from = period.data_from.map(|at| at.0);
    (period.covered, period.covered_windows, from)
}

/// What is known about the basis of an estimate.
#[derive(Debug)]
pub(crate) enum Provenance {
    /// The service sent no explanation.
    Unknown,
    /// The service reports relative amounts, because it has no open interest.
    Relative,
    /// The service reports only the age of the open interest, in milliseconds.
    Aged(i64),
    /// The service sent the complete explanation as JSON.
    Json(String),
    /// The engine in this process created the complete explanation.
    Explained(Box<EstimateBasis>),
}

impl From<Remarks> for Provenance {
    fn from(remarks: Remarks) -> Self {
        if let Some(members) = remarks.explain {
            Self::Json(members)
        } else if remarks.relative {
            Self::Relative
        } else {
            remarks.open_interest_age.map_or(Self::Unknown, Self::Aged)
        }
    }
}

impl From<Option<EstimateBasis>> for Provenance {
    fn from(explain: Option<EstimateBasis>) -> Self {
        explain.map_or(Self::Unknown, |explain| Self::Explained(Box::new(explain)))
    }
}

/// Members of a service's explanation that do not describe the estimate.
const GENERAL_MEMBERS: [&str; 4] = ["source", "simulated", "as_of", "coverage"];

/// The explanation of an estimate, in parts for Python.
#[derive(Debug, Default)]
pub(crate) struct ProvenanceParts {
    /// The explanation as JSON with the keys of the HTTP API. `None` if the service sent none.
    pub(crate) text: Option<String>,
    /// Split of the heatmap's columns into long and short cells.
    pub(crate) sides: Option<Sides>,
    /// The liquidation map on the fine price grid of the engine's ledger, which stores estimated positions.
    pub(crate) fine: Option<FineCells>,
}

impl ProvenanceParts {
    pub(crate) fn of(provenance: &Provenance) -> Self {
        match provenance {
            Provenance::Unknown => Self::default(),
            Provenance::Relative => Self {
                text: Some(format!(r#"{{"openInterestScale":"{RELATIVE}"}}"#)),
                ..Self::default()
            },
            Provenance::Aged(age) => Self {
                text: Some(format!(r#"{{"openInterestAgeMs":{age}}}"#)),
                ..Self::default()
            },
            Provenance::Json(text) => Self::parse(text),
            Provenance::Explained(explain) => Self {
                text: serde_json::to_string(explain).ok(),
                sides: explain.sides(),
                fine: explain.fine.clone(),
            },
        }
    }

    /// Parses a service's explanation. Drops the members that do not describe the estimate.
    fn parse(text: &str) -> Self {
        let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(text) else {
            return Self::default();
        };
        for name in GENERAL_MEMBERS {
            members.remove(name);
        }
        let sides = members.remove("sides");
        let fine = members.remove("fine");
        Self {
            text: serde_json::to_string(&members).ok(),
            sides: sides.and_then(|sides| serde_json::from_value(sides).ok()),
            fine: fine.and_then(|fine| serde_json::from_value(fine).ok()),
        }
    }
}
