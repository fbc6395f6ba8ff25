//! The trait for queries that need more data than a single view contains.

use std::sync::Arc;

use crate::contract;
use crate::engine::{CascadeQuestion, LargestQuestion, TimelineQuestion};
use crate::market::refusal::Refusal;
use crate::market::source::recordings::RecordedQuestion;
use crate::model::{
    Bar, CascadeRow, CoverageGap, GroupedOrder, MapRow, Millis, ObservedOpenInterest, Order,
    PeriodLength, PeriodRow, PositionRow, TimeRange, TotalRow, TotalsByWindow, UndercountRow,
    VenueCoverage, Window,
};

/// Reads orders, aggregates and records of any time range; without `as_of`, as known now.
pub trait MarketHistory {
    /// The instant at which every window ends.
    fn newest(&self) -> Millis;

    /// A page of orders of any time range, newest first. Each read covers at most about `most` bytes.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the range is empty, if the orders of one instant exceed `most` bytes, or if the market cannot
    /// be read.
    fn orders(
        &self,
        wanted: &contract::Orders,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<GroupedOrder>, Refusal>;

    /// Totals of the four windows.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn overview(&self, as_of: Option<Millis>) -> Result<TotalsByWindow, Refusal>;

    /// The largest orders of a time range, largest first.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn largest(
        &self,
        asked: &Arc<LargestQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Refusal>;

    /// Liquidations by period, in time order; periods without orders are omitted.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if there are more rows than allowed, or if the market cannot be read.
    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PeriodRow>, Refusal>;

    /// The totals of periods that answer a question where no orders are known.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn totals(
        &self,
        asked: &TimelineQuestion,
        as_of: Option<Millis>,
    ) -> Result<Vec<TotalRow>, Refusal>;

    /// Cascades sorted by start, each with the prices around it.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if there are more cascades than allowed, or if the market cannot be read.
    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<CascadeRow>, Refusal>;

    /// Published liquidations of each exchange in a window, and the estimated total.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn undercount(
        &self,
        window: Window,
        as_of: Option<Millis>,
    ) -> Result<Vec<UndercountRow>, Refusal>;

    /// How completely each exchange's orders in a window were recorded.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal>;

    /// How completely each exchange's orders in `range` were recorded. Outliers are not counted.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal>;

    /// The recorded gaps that overlap `range`, sorted by start.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the market cannot be read.
    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<CoverageGap>, Refusal>;

    /// The closed bars of a coin in `range`, resampled to periods of `size` if `size` is given.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the bars cannot be resampled to `size`, or if the market cannot be read.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<PeriodLength>,
    ) -> Result<Vec<Bar>, Refusal>;

    /// The open-interest readings of a coin in `range`, in time order.
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

    /// The account positions in a coin, from the last snapshot; of one exchange if `exchange` is given.
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

    /// The newest map of a recorded source at or before `as_of`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if there is none, or if the recording cannot be read.
    fn recorded_map(
        &self,
        asked: RecordedQuestion<'_>,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<MapRow, Refusal>;

    /// The recorded maps that match `wanted`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the maps exceed `most` bytes, or if the market cannot be read.
    fn maps(
        &self,
        wanted: &contract::Maps,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal>;
}
