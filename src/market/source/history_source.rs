//! The trait for queries of any time range: names, bars, open interest, aggregates and account positions.

use std::sync::Arc;

use crate::engine::{
    self, ArrivedOrder, CascadeQuestion, KnownPositions, LargestQuestion, ObservedTables, Timeline,
    TimelineQuestion,
};
use crate::market::names::KnownNames;
use crate::market::refusal::Refusal;
use crate::market::source::view_source::{ViewSource, view_of};
use crate::model::{
    Bar, CascadeRow, MapRow, Millis, ObservedOpenInterest, Order, PeriodLength, PositionRow,
    TimeRange, TotalRow,
};

/// Reads rows and aggregates of any time range; without `as_of`, as known now.
pub(crate) trait HistorySource: ViewSource {
    /// The coins that have estimates, sorted by name.
    fn coins(&self) -> Result<Vec<String>, Refusal> {
        view_of(self, None, None, |view| view.observations().coins())
    }

    /// All names that were ever observed.
    fn names(&self) -> Result<KnownNames, Refusal> {
        view_of(self, None, None, |view| {
            let mut names = KnownNames::default();
            for [exchange, symbol, coin] in engine::listings(view) {
                names.note(exchange, symbol, coin);
            }
            names.coins.extend(view.observations().coins());
            names
        })
    }

    /// The closed bars of a coin in `range`, resampled to periods of `size` if `size` is given.
    fn bars(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
        size: Option<PeriodLength>,
    ) -> Result<Vec<Bar>, Refusal> {
        let bars = view_of(self, as_of, None, |view| {
            engine::bars(view, coin, range, size)
        })?;
        Ok(bars?)
    }

    /// The open time and the length in milliseconds of the first bar of a coin that opens in `range`.
    fn first_bar(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Option<(Millis, i64)>, Refusal> {
        view_of(self, as_of, None, |view| {
            engine::first_bar(view, coin, range)
        })
    }

    /// The open-interest readings of a coin in `range`, in time order.
    fn open_interest(
        &self,
        coin: &str,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<ObservedOpenInterest>, Refusal> {
        view_of(self, as_of, None, |view| {
            engine::open_interest(view, coin, range)
        })
    }

    /// The orders of a coin in `range` that were received by `as_of`, oldest first; of one exchange if named.
    fn arrived_orders(
        &self,
        coin: &str,
        exchange: Option<&str>,
        range: TimeRange,
        as_of: Option<Millis>,
    ) -> Result<Vec<ArrivedOrder>, Refusal> {
        view_of(self, as_of, None, |view| {
            engine::arrived_orders(view, coin, exchange, range)
        })
    }

    /// Instants at which received rows were withdrawn, in order. They stay visible as of earlier instants.
    fn withdrawals(&self) -> Result<Vec<Millis>, Refusal> {
        Ok(Vec::new())
    }

    /// The sums of orders by period.
    fn timeline(
        &self,
        asked: &Arc<TimelineQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Timeline, Refusal> {
        view_of(self, as_of, None, |view| engine::timeline(view, asked))
    }

    /// Whether the source has totals of periods, which only archives have.
    fn has_totals(&self) -> Result<bool, Refusal> {
        Ok(false)
    }

    /// The totals of periods that answer a question where no orders are known.
    fn totals(
        &self,
        _asked: &TimelineQuestion,
        _as_of: Option<Millis>,
    ) -> Result<Vec<TotalRow>, Refusal> {
        Ok(Vec::new())
    }

    /// The largest orders, largest first.
    fn largest(
        &self,
        asked: &Arc<LargestQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Vec<Order>, Refusal> {
        view_of(self, as_of, None, |view| asked.of(view))
    }

    /// Cascades without prices; `None` if there are more cascades than allowed.
    fn cascades(
        &self,
        asked: &Arc<CascadeQuestion>,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        view_of(self, as_of, None, |view| {
            engine::cascades(view, asked).rows(asked)
        })
    }

    /// The account positions in a coin, from the last snapshot; of one exchange if `exchange` is given.
    fn positions(
        &self,
        _coin: &str,
        _exchange: Option<&str>,
        _as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        Ok(Vec::new())
    }

    /// The account positions in a coin at the last snapshot of each exchange in each step of `range`.
    ///
    /// Steps of `step` milliseconds end at multiples of it. The newest snapshot by the start of the range is included.
    fn position_history(
        &self,
        _coin: &str,
        _exchange: Option<&str>,
        _range: TimeRange,
        _step: i64,
        _as_of: Option<Millis>,
    ) -> Result<KnownPositions, Refusal> {
        Ok(KnownPositions::default())
    }

    /// The recorded maps in `range`, filtered by kind, coin and model version if given. More than `most` bytes are
    /// refused.
    fn maps(
        &self,
        _kind: Option<&str>,
        _coin: Option<&str>,
        _version: Option<&str>,
        _as_of: Option<Millis>,
        _range: TimeRange,
        _most: usize,
    ) -> Result<Vec<MapRow>, Refusal> {
        Ok(Vec::new())
    }

    /// Returns all observations of this source as tables.
    fn rows(&self) -> Result<ObservedTables, Refusal> {
        view_of(self, None, None, |view| view.observations().rows())
    }
}
