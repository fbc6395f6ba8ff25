//! What is appended at once, and what became of it.

use super::ArchiveError;
use crate::archive::coverage::events;
use crate::archive::coverage::events::{Counter, GapOutcome, Measurement, TopicGap};
use crate::archive::coverage::pending;
use crate::archive::coverage::pending::PendingExchange;
use crate::archive::coverage::sessions;
use crate::archive::coverage::sessions::{Gap, SessionId};
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::{Row, check_all};
use crate::model::Millis;

/// What is appended in one transaction: all of it is kept, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Liquidation orders.
    pub orders: Vec<OrderRow>,
    /// Closed price bars.
    pub bars: Vec<BarRow>,
    /// Readings of open interest.
    pub open_interest: Vec<OpenInterestRow>,
    /// Estimated maps as they were served.
    pub maps: Vec<MapRow>,
    /// Positions of single accounts, whole snapshots of them.
    pub positions: Vec<PositionRow>,
    /// Stretches in which something was missed.
    pub gaps: Vec<Gap>,
    /// Exchanges that are to be listened to and are not heard yet; told again with a later end while that is so.
    pub pending: Vec<PendingExchange>,
    /// Up to when each run was still being listened to.
    pub seen: Vec<(SessionId, Millis)>,
    /// Stretches in which single topics were not heard; one that goes on is told again with a later end.
    pub topic_gaps: Vec<TopicGap>,
    /// What became of stretches in which something was missed.
    pub outcomes: Vec<GapOutcome>,
    /// What came and could not be told.
    pub counters: Vec<Counter>,
    /// What was measured of channels.
    pub measurements: Vec<Measurement>,
}

impl Batch {
    /// Whether there is nothing to keep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether there is nothing in it but maps.
    pub(crate) fn is_of_maps(&self) -> bool {
        self.rows() > 0
            && self.rows() == self.maps.len()
            && self.gaps.is_empty()
            && self.pending.is_empty()
            && self.seen.is_empty()
            && self.topic_gaps.is_empty()
            && self.outcomes.is_empty()
            && self.counters.is_empty()
            && self.measurements.is_empty()
    }

    /// Refuses a batch of which something could not be kept as it is.
    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        check_all(OrderRow::TABLE, &self.orders, Row::check)?;
        check_all(BarRow::TABLE, &self.bars, Row::check)?;
        check_all(OpenInterestRow::TABLE, &self.open_interest, Row::check)?;
        check_all(MapRow::TABLE, &self.maps, Row::check)?;
        check_all(PositionRow::TABLE, &self.positions, Row::check)?;
        check_all("gaps", &self.gaps, sessions::check)?;
        check_all("awaited", &self.pending, pending::check)?;
        check_all("topic_gaps", &self.topic_gaps, events::check_topic_gap)?;
        check_all("outcomes", &self.outcomes, events::check_outcome)?;
        check_all("tallies", &self.counters, events::check_counter)?;
        check_all("marks", &self.measurements, events::check_measurement)
    }

    /// How many rows there are, gaps and what else is noted aside.
    pub(crate) fn rows(&self) -> usize {
        self.orders.len()
            + self.bars.len()
            + self.open_interest.len()
            + self.maps.len()
            + self.positions.len()
    }
}

/// What became of a batch, once it is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Orders that are new.
    pub orders: usize,
    /// Bars that are new.
    pub bars: usize,
    /// Readings of open interest that are new.
    pub open_interest: usize,
    /// Maps that are new.
    pub maps: usize,
    /// Positions that are new.
    pub positions: usize,
    /// Rows that were there before and stayed as they were.
    pub repeated: usize,
}
