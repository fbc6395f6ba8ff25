//! How much of what happened is told, and how well a venue is covered.

use serde::{Serialize, Serializer};

use super::{Millis, Vocabulary, record, value};

/// How much of what happened a channel tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Completeness {
    /// Some orders are left out by the exchange, such as all but the largest of each second.
    Sampled,
    /// Every order is told.
    Complete,
    /// The exchange does not say.
    #[default]
    Unknown,
}

impl Vocabulary for Completeness {
    const ALL: &'static [Self] = &[Self::Sampled, Self::Complete, Self::Unknown];

    fn name(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::Complete => "complete",
            Self::Unknown => "unknown",
        }
    }
}

value!(Completeness as words);

impl Serialize for Completeness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

record! {
    /// How well one venue is covered in a stretch of time.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct VenueCoverage {
        /// Exchange, lower case.
        pub exchange: String,
        /// Share of the stretch in which it was listened to and nothing is known to be missing; absent where nobody kept a
        /// record.
        pub connected_share: Option<f64>,
        /// The least complete of the channels that were listened to.
        pub completeness: Completeness,
        /// Event time of its last order.
        pub last_event: Option<Millis>,
        /// Known gaps that reach into the stretch.
        pub gaps: u64,
        /// Orders in the stretch.
        pub cnt: u64,
    }
}
