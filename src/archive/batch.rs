//! A batch of rows and coverage records, and the outcome of appending it.

use super::ArchiveError;
use crate::archive::coverage_log::events;
use crate::archive::coverage_log::events::{Counter, GapOutcome, Measurement, TopicGap};
use crate::archive::coverage_log::pending;
use crate::archive::coverage_log::pending::PendingExchange;
use crate::archive::coverage_log::sessions;
use crate::archive::coverage_log::sessions::{Gap, SessionId};
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::{Row, check_all};
use crate::archive::rows::totals::TotalRow;
use crate::model::Millis;

/// Rows and records that are appended in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Liquidation orders.
    pub orders: Vec<OrderRow>,
    /// Closed price bars.
    pub bars: Vec<BarRow>,
    /// Open interest readings.
    pub open_interest: Vec<OpenInterestRow>,
    /// Estimated liquidation maps, exactly as a server returned them.
    pub maps: Vec<MapRow>,
    /// Trading positions of single accounts, in complete snapshots.
    pub positions: Vec<PositionRow>,
    /// Liquidated USD by period.
    pub totals: Vec<TotalRow>,
    /// Time ranges in which rows of an exchange may be missing.
    pub gaps: Vec<Gap>,
    /// Exchanges that the collector has not connected to yet.
    ///
    /// The collector repeats the record with a later end until it connects.
    pub pending: Vec<PendingExchange>,
    /// Sessions to extend, each with the last instant at which it was connected.
    pub seen: Vec<(SessionId, Millis)>,
    /// Gaps of single topics. The collector repeats the record with a later end while the gap lasts.
    pub topic_gaps: Vec<TopicGap>,
    /// Results of attempts to recover gaps.
    pub outcomes: Vec<GapOutcome>,
    /// Increments of daily counters.
    pub counters: Vec<Counter>,
    /// Measurements of the exchanges' data channels.
    pub measurements: Vec<Measurement>,
}

impl Batch {
    /// Whether the batch is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether the batch contains maps only.
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

    /// Returns an error if a row or record cannot be stored exactly.
    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        check_all(OrderRow::TABLE, &self.orders, Row::check)?;
        check_all(BarRow::TABLE, &self.bars, Row::check)?;
        check_all(OpenInterestRow::TABLE, &self.open_interest, Row::check)?;
        check_all(MapRow::TABLE, &self.maps, Row::check)?;
        check_all(PositionRow::TABLE, &self.positions, Row::check)?;
        check_all(TotalRow::TABLE, &self.totals, Row::check)?;
        check_all("gaps", &self.gaps, sessions::check)?;
        check_all("pending", &self.pending, pending::check)?;
        check_all("topic_gaps", &self.topic_gaps, events::check_topic_gap)?;
        check_all("outcomes", &self.outcomes, events::check_outcome)?;
        check_all("counters", &self.counters, events::check_counter)?;
        check_all(
            "measurements",
            &self.measurements,
            events::check_measurement,
        )
    }

    /// Number of rows; gaps and other coverage records do not count.
    pub(crate) fn rows(&self) -> usize {
        self.orders.len()
            + self.bars.len()
            + self.open_interest.len()
            + self.maps.len()
            + self.positions.len()
            + self.totals.len()
    }
}

/// Numbers of new and duplicate rows of a durable batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of new orders.
    pub orders: usize,
    /// Number of new bars.
    pub bars: usize,
    /// Number of new open interest readings.
    pub open_interest: usize,
    /// Number of new maps.
    pub maps: usize,
    /// Number of new trading positions.
    pub positions: usize,
    /// Number of new totals of periods.
    pub totals: usize,
    /// Number of duplicate rows, which were ignored.
    pub repeated: usize,
}
