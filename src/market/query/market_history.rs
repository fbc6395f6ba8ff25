//! What a market knows of any stretch of time, which no single view shows.

use std::sync::Arc;

use crate::api;
use crate::engine::{CascadeQuestion, TimelineQuestion};
use crate::market::refusal::Refusal;
use crate::model::{
    Bar, CascadeRow, GroupedOrder, MapRow, Millis, MissedStretch, ObservedOpenInterest, PeriodRow,
    PositionRow, TimeRange, UndercountRow, VenueCoverage, Window,
};

/// Who knows what happened in any stretch of time. Where `as_of` is none, what is known now is meant.
pub trait MarketHistory {
    /// The instant every window ends at.
    fn newest(&self) -> Millis;

    /// A page of the orders of any stretch of time, newest first, read within about so many bytes.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read, where the stretch is none, and where one instant alone has more.
    fn orders(
        &self,
        wanted: &api::Orders,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<GroupedOrder>, Refusal>;

    /// What was liquidated period by period, the periods in order of time; those without an order are left out.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read, and where there are more rows than may be.
    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PeriodRow>, Refusal>;

    /// The events of closely following orders, by their starts, with the prices around them.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read, and where there are more events than may be.
    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<CascadeRow>, Refusal>;

    /// What each exchange published in a window, and what is estimated of all that it liquidated: of a simulation, in
    /// which every exchange publishes everything, the same.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read.
    fn undercount(
        &self,
        window: Window,
        as_of: Option<Millis>,
    ) -> Result<Vec<UndercountRow>, Refusal>;

    /// What each venue's totals in a window cover.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read.
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal>;

    /// When orders are known to have been missed, by the start of each stretch.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read.
    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<MissedStretch>, Refusal>;

    /// The closed bars of a coin, made into bars of `size` milliseconds where one is given.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read, and of a size that bars cannot be made into.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<i64>,
    ) -> Result<Vec<Bar>, Refusal>;

    /// The readings of a coin's open interest, in order of time.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read.
    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal>;

    /// The positions of a coin in the last snapshot of single accounts, of one exchange where it is named.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read.
    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal>;

    /// The estimated maps that were served and kept, at most so many bytes of them.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] where it cannot be read, and where they are more.
    fn maps(
        &self,
        wanted: &api::Maps,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<Vec<MapRow>, Refusal>;
}
