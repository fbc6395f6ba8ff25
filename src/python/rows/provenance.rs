//! The provenance of an answer: the explanation of an estimate, or the coverage of realised data.

use serde_json::{Map, Value};

use crate::api::RELATIVE;
use crate::client::Remarks;
use crate::engine::EstimateBasis;
use crate::model::{EarlierBar, FineCells, Sides, TimeUnit, VenueCoverage};

/// What accompanies rows.
#[derive(Debug, Default)]
pub(crate) struct RowRemarks {
    /// Coverage of each exchange's totals.
    pub(crate) coverage: Option<Vec<VenueCoverage>>,
    /// The first bar before a series that cannot be converted to its interval.
    pub(crate) earlier: Option<EarlierBar>,
    /// The unit of the service's instants, if they were converted to milliseconds.
    pub(crate) time_unit: Option<TimeUnit>,
}

/// What is known about an estimate.
#[derive(Debug)]
pub(crate) enum Provenance {
    /// The service sent no explanation.
    Unknown,
    /// The service says that amounts are relative, because open interest is unknown.
    Relative,
    /// The service gives the age of the open interest in milliseconds.
    Aged(i64),
    /// The service sent the complete explanation as JSON.
    Json(String),
    /// The engine in this process gives the complete explanation.
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

/// Members of a service's explanation that do not concern the estimate.
const GENERAL_MEMBERS: [&str; 4] = ["source", "simulated", "as_of", "coverage"];

/// The provenance of an estimate for Python.
#[derive(Debug, Default)]
pub(crate) struct ProvenanceParts {
    /// JSON with the server's keys. `None` if the service sent no explanation.
    pub(crate) text: Option<String>,
    /// The long and short parts of a heatmap's cells.
    pub(crate) sides: Option<Sides>,
    /// A map on the ledger's own grid.
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
                fine: explain.fine_cells(),
            },
        }
    }

    /// Parses a service's explanation, without the members that every answer has.
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
