//! Reads of a market for queries that a single view cannot answer.

use std::sync::Arc;

use crate::api;
use crate::engine::{CascadeQuestion, TimelineQuestion};
use crate::market::refusal::Refusal;
use crate::model::{
    Bar, CascadeRow, CoverageGap, GroupedOrder, MapRow, Millis, ObservedOpenInterest, PeriodRow,
    PositionRow, TimeRange, UndercountRow, VenueCoverage, Window,
};

/// Orders, aggregates and records of any time range; without `as_of`, as known now.
pub trait MarketHistory {
    /// The instant that every window ends at.
    fn newest(&self) -> Millis;

    /// A page of orders of any time range, newest first, within about `most` bytes of reads.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for an empty range, for one instant with more orders than `most`, and where the market cannot be
    /// read.
    fn orders(
        &self,
        wanted: &api::Orders,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<GroupedOrder>, Refusal>;

    /// Liquidations by period, in order of time; periods without orders are left out.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for more rows than allowed, and where the market cannot be read.
    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PeriodRow>, Refusal>;

    /// Cascades by their starts, with the prices around them.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for more cascades than allowed, and where the market cannot be read.
    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<CascadeRow>, Refusal>;

    /// Published and estimated liquidations of each exchange in a window.
    ///
    /// In a simulation both are equal, as every exchange publishes everything.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn undercount(
        &self,
        window: Window,
        as_of: Option<Millis>,
    ) -> Result<Vec<UndercountRow>, Refusal>;

    /// The coverage of the totals in a window, by exchange.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal>;

    /// The recorded gaps that overlap `range`, by their starts.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<CoverageGap>, Refusal>;

    /// The closed bars of a coin in `range`, resampled to `size` milliseconds if given.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for a size that the bars cannot be resampled to, and where the market cannot be read.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal>;

    /// The open interest readings of a coin in `range`, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal>;

    /// The positions of a coin in the last account snapshot, of one exchange if named.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal>;

    /// The recorded maps, at most `most` bytes.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for more bytes than `most`, and where the market cannot be read.
    fn maps(
        &self,
        wanted: &api::Maps,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal>;
}
