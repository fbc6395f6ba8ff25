//! Labels of an estimate: its unit, its view, and whether the market is simulated.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EstimateLabels {
    /// The unit of the amounts.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_name")]
    pub units: Option<Units>,
    /// What the amounts count.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_name")]
    pub view: Option<EstimateView>,
    /// Whether the market is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<bool>,
    /// The service that served the map; `None` if the map is not a recording.
    #[serde(flatten)]
    pub served_by: Option<ServedBy>,
}

/// The service that served a recorded map, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServedBy {
    /// Name of the recording.
    pub source: String,
    /// The instant of the recording.
    #[serde(rename = "recordedAt")]
    pub recorded_at: Millis,
}

impl fmt::Display for ServedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "as served by {} at {}", self.source, self.recorded_at)
    }
}

impl EstimateLabels {
    /// The labels with these names; a name that is not known is left out.
    #[must_use]
    pub fn parse(units: Option<&str>, view: Option<&str>, simulated: Option<bool>) -> Self {
        Self {
            units: units.and_then(Units::parse),
            view: view.and_then(EstimateView::parse),
            simulated,
            served_by: None,
        }
    }

    /// The same labels for a map that `source` served; both values are needed.
    #[must_use]
    pub fn served_by(self, source: Option<String>, recorded_at: Option<Millis>) -> Self {
        let served_by = source.zip(recorded_at);
        Self {
            served_by: served_by.map(|(source, recorded_at)| ServedBy {
                source,
                recorded_at,
            }),
            ..self
        }
    }

    /// Serializes the labels as members of an estimate.
    pub(crate) fn serialize_into<S: SerializeStruct>(
        &self,
        object: &mut S,
    ) -> Result<(), S::Error> {
        optional(object, "units", self.units.map(Units::name).as_ref())?;
        optional(object, "view", self.view.map(EstimateView::name).as_ref())?;
        optional(object, "simulated", self.simulated.as_ref())?;
        let served = self.served_by.as_ref();
        optional(object, "source", served.map(|served| &served.source))?;
        optional(
            object,
            "recordedAt",
            served.map(|served| &served.recorded_at),
        )
    }
}

/// Serializes a member if there is one.
pub(crate) fn optional<S: SerializeStruct>(
    object: &mut S,
    name: &'static str,
    value: Option<&impl Serialize>,
) -> Result<(), S::Error> {
    match value {
        Some(value) => object.serialize_field(name, value),
        None => object.skip_field(name),
    }
}

#[expect(clippy::ref_option, reason = "as the derive calls it")]
fn as_name<S: Serializer, W: Vocabulary>(
    word: &Option<W>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match word {
        Some(word) => serializer.serialize_str(word.name()),
        None => serializer.serialize_none(),
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
