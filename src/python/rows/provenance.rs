//! What an answer rests on: of an estimate a service's remark or the engine's whole account, of realised numbers what they
//! cover.

use serde_json::{Map, Value};

use crate::api::RELATIVE;
use crate::client::Remarks;
use crate::engine::EstimateBasis;
use crate::model::{EarlierBar, FineCells, Sides, VenueCoverage};

/// What is told beside rows.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What the totals of each exchange cover.
    pub(crate) coverage: Option<Vec<VenueCoverage>>,
    /// The first bar before those of a series that cannot be made into them.
    pub(crate) earlier: Option<EarlierBar>,
}

/// What an estimate rests on, as far as that is known.
#[derive(Debug)]
pub(crate) enum Ground {
    /// A service said nothing of it.
    Untold,
    /// A service says that open interest is unknown, so that amounts are none.
    Relative,
    /// A service says how many milliseconds old the open interest is.
    Aged(i64),
    /// A service says all of it, as JSON.
    Told(String),
    /// An engine in this process says all of it.
    Explained(Box<EstimateBasis>),
}

impl From<Remarks> for Ground {
    fn from(remarks: Remarks) -> Self {
        if let Some(told) = remarks.explain {
            Self::Told(told)
        } else if remarks.relative {
            Self::Relative
        } else {
            remarks.open_interest_age.map_or(Self::Untold, Self::Aged)
        }
    }
}

impl From<Option<EstimateBasis>> for Ground {
    fn from(explain: Option<EstimateBasis>) -> Self {
        explain.map_or(Self::Untold, |explain| Self::Explained(Box::new(explain)))
    }
}

/// What a service tells beside the account of an estimate.
const BESIDE: [&str; 4] = ["source", "simulated", "as_of", "coverage"];

/// What an estimate rests on, as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// JSON, keys as the server spells them; none where a service did not say.
    pub(crate) text: Option<String>,
    /// Which of a heatmap's cells are longs, and which are shorts.
    pub(crate) sides: Option<Sides>,
    /// A map on the ledger's own grid.
    pub(crate) fine: Option<FineCells>,
}

impl Account {
    pub(crate) fn of(ground: &Ground) -> Self {
        match ground {
            Ground::Untold => Self::default(),
            Ground::Relative => Self {
                text: Some(format!(r#"{{"openInterestScale":"{RELATIVE}"}}"#)),
                ..Self::default()
            },
            Ground::Aged(age) => Self {
                text: Some(format!(r#"{{"openInterestAgeMs":{age}}}"#)),
                ..Self::default()
            },
            Ground::Told(text) => Self::told(text),
            Ground::Explained(explain) => Self {
                text: serde_json::to_string(explain).ok(),
                sides: explain.sides(),
                fine: explain.fine_cells(),
            },
        }
    }

    /// What a service says, without what is said of every answer.
    fn told(text: &str) -> Self {
        let Ok(mut told) = serde_json::from_str::<Map<String, Value>>(text) else {
            return Self::default();
        };
        for name in BESIDE {
            told.remove(name);
        }
        let sides = told.remove("sides");
        let fine = told.remove("fine");
        Self {
            text: serde_json::to_string(&told).ok(),
            sides: sides.and_then(|sides| serde_json::from_value(sides).ok()),
            fine: fine.and_then(|fine| serde_json::from_value(fine).ok()),
        }
    }
}
