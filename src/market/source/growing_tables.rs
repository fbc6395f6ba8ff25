//! Tables in memory that grow, as the source of a market.
//!
//! Each append rebuilds all observations, which is fast enough for some thousand orders. Larger markets need an
//! archive.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::engine::{Observations, ObservedTables, TableFault, View};
use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState, wall_clock};
use crate::market::source::coverage_source::CoverageSource;
use crate::market::source::history_source::HistorySource;
use crate::market::source::live_source::LiveSource;
use crate::market::source::market_source::MarketSource;
use crate::market::source::view_source::RequiredHistory;
use crate::market::source::view_source::ViewSource;
use crate::model::{Millis, ObservedOrder, Order};

/// Appends rows to a market in memory.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Millis, ObservedOrder, Order, Side};
/// use liqdata::market::{Arrivals, Market};
///
/// let (market, feed) = Market::growing(1000, "a test");
/// let seen = market.revision();
/// let order = Order {
///     exchange: "okx".to_owned(),
///     symbol: "BTCUSDT".to_owned(),
///     side: Side::Long,
///     price: 60_000.into(),
///     qty: 2.into(),
///     value_usd: 120_000.into(),
///     timestamp: Millis(1_781_136_000_000),
/// };
/// let observed = ObservedOrder { order, coin: None, received_at: None, group_id: None };
/// feed.append((vec![observed], Vec::new(), Vec::new()))?;
/// assert_ne!(market.revision(), seen);
/// assert!(matches!(market.arrivals(None, 10)?, Arrivals::Known(orders) if orders.len() == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MarketFeed(pub(crate) Arc<GrowingTables>);

impl MarketFeed {
    /// Appends all rows, or none of them if one is invalid.
    ///
    /// The orders of one call are sorted by time of receipt.
    ///
    /// # Errors
    ///
    /// [`TableFault`] as for [`Observations::new`].
    pub fn append(&self, rows: ObservedTables) -> Result<(), TableFault> {
        self.0.append(rows)
    }
}

/// Observations that grow, and the most recent orders in order of arrival.
#[derive(Debug)]
pub(crate) struct GrowingTables {
    state: Mutex<GrowingState>,
    revision: watch::Sender<u64>,
    capacity: usize,
    /// Identifies the market's order of arrival; a position with another value is invalid.
    series: u64,
    /// The revision of coins that have not changed.
    first: Revision,
}

#[derive(Debug)]
struct GrowingState {
    rows: ObservedTables,
    observations: Arc<Observations>,
    revision: Revision,
    estimates: BTreeMap<String, Revision>,
    /// The most recent orders, oldest first.
    arrived: VecDeque<Order>,
    /// The number of orders that arrived before those in `arrived`.
    forgotten: u64,
}

impl GrowingTables {
    /// Creates an empty market that stores the last `capacity` orders in order of arrival.
    pub(crate) fn new(capacity: usize) -> Self {
        let first = Revision::first();
        Self {
            state: Mutex::new(GrowingState {
                rows: ObservedTables::default(),
                observations: Arc::new(Observations::default()),
                revision: first,
                estimates: BTreeMap::new(),
                arrived: VecDeque::new(),
                forgotten: 0,
            }),
            revision: watch::Sender::new(first.number),
            capacity,
            series: fastrand::u64(..),
            first,
        }
    }

    fn state(&self) -> MutexGuard<'_, GrowingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, (orders, bars, open_interest): ObservedTables) -> Result<(), TableFault> {
        // Normalise the names before any reader sees them.
        let arrived = Observations::new(orders, Vec::new(), Vec::new(), None)?;
        let places = arrived.in_order_of_arrival();
        let (orders, ..) = arrived.rows();
        let orders: Vec<ObservedOrder> = places
            .into_iter()
            .filter_map(|place| orders.get(place).cloned())
            .collect();

        let mut state = self.state();
        let mut rows = state.rows.clone();
        let mut touched: Vec<String> = bars.iter().map(|bar| bar.symbol.to_uppercase()).collect();
        touched.extend(
            open_interest
                .iter()
                .map(|reading| reading.symbol.to_uppercase()),
        );
        rows.0.extend(orders.iter().cloned());
        rows.1.extend(bars);
        rows.2.extend(open_interest);
        let observations = Observations::new(rows.0.clone(), rows.1.clone(), rows.2.clone(), None)?;
        touched.extend(orders.iter().filter_map(|order| {
            let coin = order.coin.as_ref()?;
            let last = observations.bars(coin).last()?;
            (order.order.timestamp <= last.close_time()).then(|| coin.clone())
        }));

        let revision = state.revision.next(wall_clock());
        state.rows = rows;
        state.observations = Arc::new(observations);
        state.revision = revision;
        for coin in touched {
            state.estimates.insert(coin.trim().to_owned(), revision);
        }
        state
            .arrived
            .extend(orders.into_iter().map(|observed| observed.order));
        while state.arrived.len() > self.capacity {
            state.arrived.pop_front();
            state.forgotten += 1;
        }
        drop(state);
        self.revision.send_replace(revision.number);
        Ok(())
    }
}

impl ViewSource for GrowingTables {
    fn view(
        &self,
        as_of: Option<Millis>,
        _needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal> {
        let observations = Arc::clone(&self.state().observations);
        work(&observations.at(as_of));
        Ok(())
    }
}

impl LiveSource for GrowingTables {
    fn is_growing(&self) -> bool {
        true
    }

    /// Estimates of a coin depend on its bars, its open interest and the orders before the last close.
    fn last_state(&self, dependency: &Dependency) -> SourceState {
        let state = self.state();
        SourceState {
            revision: match dependency {
                Dependency::Observations | Dependency::Record | Dependency::Recording(_) => {
                    state.revision
                }
                Dependency::Coin(coin) => state.estimates.get(coin).copied().unwrap_or(self.first),
            },
            now: state.observations.now(),
        }
    }

    fn changed(self: Arc<Self>, seen: Revision) -> BoxFuture<'static, ()> {
        let mut revision = self.revision.subscribe();
        Box::pin(async move {
            // This cannot fail, because the sender is alive.
            let _ = revision.wait_for(|number| *number != seen.number).await;
            drop(self);
        })
    }

    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        let state = self.state();
        let known = (state.forgotten, state.arrived.len());
        let order = |place: usize| state.arrived.get(place).cloned();
        Ok(Arrivals::behind(after, limit, self.series, known, order))
    }

    fn newest(&self) -> Result<ArrivalId, Refusal> {
        let state = self.state();
        Ok(ArrivalId {
            series: self.series,
            number: state.forgotten + state.arrived.len() as u64,
        })
    }
}

impl CoverageSource for GrowingTables {}

impl HistorySource for GrowingTables {}

impl MarketSource for GrowingTables {}
