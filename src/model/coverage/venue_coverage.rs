//! Completeness and coverage of an exchange's liquidation feed.

use serde::{Serialize, Serializer};

use crate::model::record;
use crate::model::{Millis, Vocabulary, value};

/// How completely a channel publishes the liquidations of its exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Completeness {
    /// The channel omits orders: for example, it publishes only the largest order of each second.
    Sampled,
    /// The channel publishes every order.
    Complete,
    /// The exchange does not document whether the channel omits orders.
    #[default]
    Unknown,
    /// No orders are known, only totals of periods.
    Totals,
}

impl Vocabulary for Completeness {
    const ALL: &'static [Self] = &[Self::Sampled, Self::Complete, Self::Unknown, Self::Totals];

    fn name(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::Complete => "complete",
            Self::Unknown => "unknown",
            Self::Totals => "totals",
        }
    }
}

value!(Completeness as words);

impl Serialize for Completeness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The evidence for the completeness of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The exchange documents the completeness.
    Documented,
    /// The exchange numbers its messages, and no number is missing.
    Verified,
    /// There is no evidence.
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
    /// The evidence for this completeness, given the sequence numbers that were checked.
    ///
    /// `numbered` is the number of checked sequence numbers. `is_missing` says whether any of them is still missing.
    #[must_use]
    pub fn known_by(self, numbered: Option<u64>, is_missing: bool) -> Evidence {
        let are_followed = numbered.is_some_and(|numbers| numbers > 0);
        match self {
            Self::Unknown | Self::Totals => Evidence::Unknown,
            Self::Complete if are_followed && !is_missing => Evidence::Verified,
            Self::Complete | Self::Sampled => Evidence::Documented,
        }
    }
}

/// The state of a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapState {
    /// The gap is neither backfilled nor known to be lost.
    #[default]
    Open,
    /// The backfill returned everything that the exchange publishes for the time of the gap.
    Recovered,
    /// The gap was not backfilled, and the exchange no longer offers data of that time.
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
    /// Coverage of one exchange in a range of time.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct VenueCoverage {
        /// Exchange, lower case.
        pub exchange: String,
        /// Share of the range that was covered: connected, with no known gap. A missing topic counts as its share of
        /// all topics. Absent if no collector ran. If only totals of periods are known, the share that they cover.
        pub connected_share: Option<f64>,
        /// The completeness of the least complete channel in use; `totals` if no orders are known, only totals of periods.
        pub completeness: Completeness,
        /// Evidence for the completeness: `documented` by the exchange, `verified` by sequence numbers without a hole,
        /// or `unknown`.
        pub known_by: Evidence,
        /// Event time of the last order.
        pub last_event: Option<Millis>,
        /// Known gaps that overlap the range.
        pub gaps: u64,
        /// Orders in the range.
        pub cnt: u64,
        /// Subscribed topics; absent if no collector ran.
        pub topics: Option<u64>,
        /// Topics that were live at the end of the range.
        pub topics_covered: Option<u64>,
        /// Orders that a backfill added.
        pub recovered: Option<u64>,
        /// Rows that could not be decoded or had an implausible time, on the days of the range.
        pub rejected: Option<u64>,
        /// Orders without a value in USD, on the days of the range.
        pub unpriced: Option<u64>,
        /// Orders in quarantine because their unit is in doubt, on the days of the range.
        pub quarantined: Option<u64>,
        /// Orders stored although no reference price could check their unit, on the days of the range.
        pub unjudged: Option<u64>,
        /// Holes in the exchange's sequence numbers, on the days of the range.
        pub holes: Option<u64>,
        /// Sequence numbers that were checked, on the days of the range; absent if the exchange sends none.
        pub numbered: Option<u64>,
        /// Lead of the collector's clock over the exchange's clock, in milliseconds; absent if not measured.
        pub clock_ahead: Option<i64>,
        /// Recorded USD of the hours and contracts for which the exchange publishes totals, or its liquidations are
        /// estimated; absent if there are none.
        #[unit("USD")]
        pub compared_usd: Option<f64>,
        /// The exchange's own totals for the same hours and contracts; of Hyperliquid, the estimated USD of all
        /// liquidations.
        #[unit("USD")]
        pub exchange_usd: Option<f64>,
        /// Open interest readings in the range that estimates exclude as outliers; absent if not counted.
        pub open_interest_outliers: Option<u64>,
        /// Bars in the range that estimates exclude as outliers, counted only for the exchange that supplies the price;
        /// absent if not counted.
        pub bar_outliers: Option<u64>,
    }
}

record! {
    /// A range of time in which orders of an exchange, or other rows, may be missing.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
    pub struct CoverageGap {
        /// Exchange, lower case.
        pub exchange: String,
        /// Start of the gap.
        pub start: Millis,
        /// End of the gap.
        pub end: Millis,
        /// The reason in a few words.
        pub reason: String,
        /// The missing topic, as the exchange names it; absent if the whole exchange is missing.
        pub topic: Option<String>,
        /// State of the gap.
        pub state: GapState,
        /// When the gap was completely backfilled; absent if it was not.
        pub recovered_at: Option<Millis>,
        /// Orders that the backfill added; absent if there was none.
        pub recovered: Option<u64>,
        /// The table that the gap is in, if not orders: `bars`, `open_interest`, `positions` or `maps`. Gaps in maps
        /// have an empty exchange.
        pub holds: Option<String>,
    }
}
