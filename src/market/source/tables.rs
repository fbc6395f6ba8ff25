//! Tables that never change, as the source of a market.

use std::sync::OnceLock;

use crate::engine::{self, CompleteTapes, Observations, View};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::source::coverage_source::CoverageSource;
use crate::market::source::history_source::HistorySource;
use crate::market::source::live_source::LiveSource;
use crate::market::source::market_source::MarketSource;
use crate::market::source::view_source::{RequiredHistory, ViewSource, view_of};
use crate::model::{
    CoverageGap, Millis, PositionRow, SimulatedFeeds, TimeRange, VenueCoverage, Window,
};

/// Observations in memory.
#[derive(Debug)]
pub(crate) struct TableSource {
    observations: Observations,
    /// How orders were published and recorded, if that was simulated.
    feeds: Option<SimulatedFeeds>,
    /// The account positions that a simulated exchange publishes.
    positions: Vec<PositionRow>,
    /// Indices of the orders in order of arrival; computed on first use.
    arrived: OnceLock<Vec<usize>>,
    /// Identifies the market's order of arrival; a position with another value is invalid.
    series: u64,
    revision: Revision,
}

impl TableSource {
    pub(crate) fn new(observations: Observations) -> Self {
        Self {
            observations,
            feeds: None,
            positions: Vec::new(),
            arrived: OnceLock::new(),
            series: fastrand::u64(..),
            revision: Revision::first(),
        }
    }

    /// Simulated observations, published and recorded as `feeds` says, and published `positions`.
    pub(crate) fn simulated(
        observations: Observations,
        feeds: SimulatedFeeds,
        positions: Vec<PositionRow>,
    ) -> Self {
        let observations = observations.with_feeds(&feeds);
        Self {
            feeds: Some(feeds),
            positions,
            ..Self::new(observations)
        }
    }

    pub(crate) fn observations(&self) -> &Observations {
        &self.observations
    }

    fn arrived(&self) -> &[usize] {
        self.arrived
            .get_or_init(|| self.observations.in_order_of_arrival())
    }
}

impl ViewSource for TableSource {
    fn view(
        &self,
        as_of: Option<Millis>,
        _needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal> {
        work(&self.observations.at(as_of));
        Ok(())
    }
}

impl LiveSource for TableSource {
    fn is_growing(&self) -> bool {
        false
    }

    fn last_state(&self, _dependency: &Dependency) -> SourceState {
        SourceState {
            revision: self.revision,
            now: self.observations.now(),
        }
    }

    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        let arrived = self.arrived();
        let order = |place: usize| self.observations.order(*arrived.get(place)?);
        let known = (0, arrived.len());
        Ok(Arrivals::behind(after, limit, self.series, known, order))
    }

    fn newest(&self) -> Result<ArrivalId, Refusal> {
        Ok(ArrivalId {
            series: self.series,
            number: self.arrived().len() as u64,
        })
    }
}

impl CoverageSource for TableSource {
    fn coverage(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        let (now, mut venues) = view_of(self, as_of, None, |view| {
            (view.now(), engine::coverage(view, window))
        })?;
        if let Some(feeds) = &self.feeds {
            for venue in &mut venues {
                feeds.describe(
                    venue,
                    TimeRange::new(now.back(window.millis()).on(1), now.on(1)),
                );
            }
        }
        Ok(venues)
    }

    fn coverage_between(
        &self,
        as_of: Option<Millis>,
        range: TimeRange,
    ) -> Result<Vec<VenueCoverage>, Refusal> {
        let mut venues = view_of(self, as_of, None, |view| {
            engine::coverage_between(view, range)
        })?;
        if let Some(feeds) = &self.feeds {
            for venue in &mut venues {
                feeds.describe(venue, range);
            }
        }
        Ok(venues)
    }

    fn complete_tapes(
        &self,
        as_of: Option<Millis>,
        window: Window,
    ) -> Result<CompleteTapes, Refusal> {
        let now = as_of.unwrap_or(self.observations.now());
        let range = TimeRange::new(now.back(window.millis()).on(1), now.on(1));
        Ok(match &self.feeds {
            Some(feeds) => CompleteTapes {
                recorded: self.recorded(as_of, range)?,
                simulated: Some(feeds.clone()),
            },
            None => CompleteTapes::default(),
        })
    }

    fn simulated_feeds(&self) -> Option<&SimulatedFeeds> {
        self.feeds.as_ref()
    }

    fn gaps(&self, as_of: Option<Millis>, range: TimeRange) -> Result<Vec<CoverageGap>, Refusal> {
        let now = as_of.unwrap_or(self.observations.now());
        let feeds = self.feeds.iter();
        Ok(feeds.flat_map(|feeds| feeds.gaps_in(range, now)).collect())
    }
}

impl HistorySource for TableSource {
    fn positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Vec<PositionRow>, Refusal> {
        let positions = self.positions.iter().filter(|position| {
            position.coin == coin
                && exchange.is_none_or(|exchange| exchange == position.exchange)
                && as_of.is_none_or(|at| position.timestamp <= at)
        });
        Ok(positions.cloned().collect())
    }
}

impl MarketSource for TableSource {}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use crate::market::Market;
    use crate::market::source::tables::*;
    use crate::model::{Millis, ObservedOrder, Order, Side};

    fn market(received: &[i64]) -> Market {
        let orders = received
            .iter()
            .enumerate()
            .map(|(place, &received)| ObservedOrder {
                order: Order {
                    exchange: "okx".to_owned(),
                    symbol: "BTCUSDT".to_owned(),
                    side: Side::Long,
                    price: Decimal::ONE,
                    qty: Decimal::ONE,
                    value_usd: Decimal::from(received),
                    timestamp: Millis(i64::try_from(place).unwrap()),
                },
                coin: None,
                received_at: Some(Millis(received)),
                group_id: None,
            });
        let observations =
            Observations::new(orders.collect(), Vec::new(), Vec::new(), None).unwrap();
        Market::fixed(observations, "tables")
    }

    fn known(market: &Market, after: Option<ArrivalId>, limit: usize) -> Vec<(ArrivalId, Order)> {
        match market.arrivals(after, limit).unwrap() {
            Arrivals::Known(orders) => orders,
            Arrivals::Gone => panic!("{after:?} is gone"),
        }
    }

    proptest! {
        #[test]
        fn steps_of_any_length_show_every_order_once_as_it_was_received(
            received in proptest::collection::vec(0_i64..50, 0..40),
            step in 1_usize..7,
        ) {
            let market = market(&received);
            let mut place = None;
            let mut seen = Vec::new();
            loop {
                let orders = known(&market, place, step);
                let Some((last, _)) = orders.last() else { break };
                place = Some(*last);
                seen.extend(orders.into_iter().map(|(_, order)| order.value_usd));
            }
            let mut wanted: Vec<Decimal> = received.iter().copied().map(Decimal::from).collect();
            wanted.sort();
            prop_assert_eq!(seen, wanted);
            if let Some(place) = place {
                prop_assert_eq!(place, market.newest().unwrap());
            }
        }
    }

    #[test]
    fn a_place_that_the_market_never_gave_is_gone() {
        let market = market(&[1, 2, 3]);
        let newest = market.newest().unwrap();
        assert_eq!(known(&market, Some(newest), 9), []);
        for stranger in [
            ArrivalId {
                number: newest.number + 1,
                ..newest
            },
            ArrivalId {
                number: u64::MAX,
                ..newest
            },
            ArrivalId {
                series: newest.series.wrapping_add(1),
                number: 0,
            },
        ] {
            assert_eq!(market.arrivals(Some(stranger), 9).unwrap(), Arrivals::Gone);
        }
    }
}
