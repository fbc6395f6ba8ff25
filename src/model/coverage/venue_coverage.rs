//! How much of what happened is told, and how well a venue is covered.

use serde::{Serialize, Serializer};

use crate::model::record;
use crate::model::{Millis, Vocabulary, value};

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

/// How it is known how much of what happened a channel tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The exchange says so: of a sample, too.
    Documented,
    /// The exchange numbers what it tells, its numbers were followed, and none is missing.
    Verified,
    /// Nobody says.
    #[default]
    Unknown,
}

impl Vocabulary for Evidence {
    const ALL: &'static [Self] = &[Self::Documented, Self::Verified, Self::Unknown];

    fn name(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Verified => "verified",
            Self::Unknown => "unknown",
        }
    }
}

value!(Evidence as words);

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Completeness {
    /// How that is known, where so many numbers of the exchange's own were followed, and some of them may be missing still.
    #[must_use]
    pub fn known_by(self, numbered: Option<u64>, is_missing: bool) -> Evidence {
        let are_followed = numbered.is_some_and(|numbers| numbers > 0);
        match self {
            Self::Unknown => Evidence::Unknown,
            Self::Complete if are_followed && !is_missing => Evidence::Verified,
            Self::Complete | Self::Sampled => Evidence::Documented,
        }
    }
}

/// What became of a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapState {
    /// Nobody has told what was missed, and it is not known to be lost.
    #[default]
    Open,
    /// It was asked for, and the exchange told all that it tells of that time.
    Recovered,
    /// It was not told, and cannot be asked for any more.
    Lost,
}

impl Vocabulary for GapState {
    const ALL: &'static [Self] = &[Self::Open, Self::Recovered, Self::Lost];

    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Recovered => "recovered",
            Self::Lost => "lost",
        }
    }
}

value!(GapState as words);

impl Serialize for GapState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

record! {
    /// How well one venue is covered in a stretch of time.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct VenueCoverage {
        /// Exchange, lower case.
        pub exchange: String,
        /// Share of the stretch in which it was listened to and nothing is known to be missing, a topic that was not heard
        /// counted as its part of all topics; absent where nobody kept a record.
        pub connected_share: Option<f64>,
        /// The least complete of the channels that were listened to.
        pub completeness: Completeness,
        /// How that is known: `documented` where the exchange says so, `verified` where its own numbers were followed and
        /// none is missing that was not told after all, or `unknown`.
        pub known_by: Evidence,
        /// Event time of its last order.
        pub last_event: Option<Millis>,
        /// Known gaps that reach into the stretch.
        pub gaps: u64,
        /// Orders in the stretch.
        pub cnt: u64,
        /// How many topics were asked for; absent where nobody kept a record.
        pub topics: Option<u64>,
        /// How many of them were heard at the end of the stretch.
        pub topics_covered: Option<u64>,
        /// Orders that became known by asking again for what had been missed.
        pub recovered: Option<u64>,
        /// Rows that could not be read or were out of their time, on the days of the stretch.
        pub rejected: Option<u64>,
        /// Orders without a value in USD, on the days of the stretch.
        pub unpriced: Option<u64>,
        /// Orders set aside because their unit is in doubt, on the days of the stretch.
        pub quarantined: Option<u64>,
        /// Orders that are kept though nothing measured their unit, on the days of the stretch.
        pub unjudged: Option<u64>,
        /// Holes in the exchange's own numbering, on the days of the stretch.
        pub holes: Option<u64>,
        /// Numbers of the exchange's own that were held against the one before, on the days of the stretch; absent where it
        /// numbers nothing.
        pub numbered: Option<u64>,
        /// How far the clock that listened was ahead of the exchange's, in milliseconds; absent where it was not measured.
        pub clock_ahead: Option<i64>,
        /// What is kept of the hours and contracts that were held against the exchange's own totals in the stretch; absent
        /// where it tells none.
        #[unit("USD")]
        pub compared_usd: Option<f64>,
        /// What the exchange itself says it liquidated of these.
        #[unit("USD")]
        pub venue_usd: Option<f64>,
    }
}

record! {
    /// A stretch of time in which orders of an exchange may have been missed, or other rows are lost.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
    pub struct MissedStretch {
        /// Exchange, lower case.
        pub exchange: String,
        /// When it began.
        pub start: Millis,
        /// When it was over.
        pub end: Millis,
        /// Why, in a few words.
        pub reason: String,
        /// The topic that was not heard, as the exchange names it; absent where nothing of the exchange was.
        pub topic: Option<String>,
        /// What became of it.
        pub state: GapState,
        /// When it became known that all is told that the exchange tells of it; absent while that is not so.
        pub recovered_at: Option<Millis>,
        /// Orders that became known by asking for it again; absent where nothing came of that yet.
        pub recovered: Option<u64>,
        /// What is missing where it is no orders: `bars`, `open_interest`, `positions` or `maps` of damaged files or rows,
        /// those of maps under an empty exchange.
        pub holds: Option<String>,
    }
}
