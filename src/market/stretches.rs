//! What a market knows of any stretch of time, which no single view shows.

use std::sync::Arc;

use super::refusal::Refusal;
use crate::engine::{CascadeQuestion, TimelineQuestion};
use crate::model::{CascadeRow, Millis, PeriodRow, UndercountRow, Window};

/// Who knows what happened in any stretch of time. Where `as_of` is none, what is known now is meant.
pub trait Stretches {
    /// The instant every window ends at.
    fn newest(&self) -> Millis;

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
}
