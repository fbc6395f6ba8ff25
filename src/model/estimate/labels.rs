//! Labels of an estimate: its unit, its view, and whether the market is simulated.

use std::fmt;

use crate::model::{Millis, Vocabulary};

/// The unit of the amounts of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Units {
    /// US dollars.
    Usd,
    /// A unit that is comparable only inside one estimate.
    ///
    /// The open interest is unknown, and a multiple of the volume replaces it.
    Relative,
}

impl Vocabulary for Units {
    const ALL: &'static [Self] = &[Self::Usd, Self::Relative];

    fn name(self) -> &'static str {
        match self {
            Self::Usd => "usd",
            Self::Relative => "relative",
        }
    }
}

/// What the amounts of an estimate count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EstimateView {
    /// Open interest that a price move would liquidate (model 2).
    Exposed,
    /// Liquidations that exchanges are expected to report (model 3).
    Expected,
    /// Observed positions of single accounts.
    Measured,
}

impl Vocabulary for EstimateView {
    const ALL: &'static [Self] = &[Self::Exposed, Self::Expected, Self::Measured];

    fn name(self) -> &'static str {
        match self {
            Self::Exposed => "exposed",
            Self::Expected => "expected",
            Self::Measured => "measured",
        }
    }
}

/// The labels of an estimate; a service may omit each of them.
///
/// They follow the members of the contract in a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EstimateLabels {
    /// The unit of the amounts.
    pub units: Option<Units>,
    /// What the amounts count.
    pub view: Option<EstimateView>,
    /// Whether the market is simulated.
    pub simulated: Option<bool>,
    /// The instant of the current price: the close of its bar, or the reading of its mark price.
    pub price_at: Option<Millis>,
    /// The service that served the map; `None` if the map is not a recording.
    pub served_by: Option<ServedBy>,
}

/// The service that served a recorded map, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedBy {
    /// Name of the recording.
    pub source: String,
    /// The instant of the recording.
    pub recorded_at: Millis,
}

impl fmt::Display for ServedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "as served by {} at {}", self.source, self.recorded_at)
    }
}

/// How the headline price of a side is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Headline {
    /// The most USD, weighted with the chance that the price gets there.
    Reach,
    /// The most USD, whatever the distance.
    Strongest,
}

impl Vocabulary for Headline {
    const ALL: &'static [Self] = &[Self::Reach, Self::Strongest];

    fn name(self) -> &'static str {
        match self {
            Self::Reach => "reach",
            Self::Strongest => "strongest",
        }
    }
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
