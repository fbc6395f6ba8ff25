//! Recall: the share of the liquidated USD that the watched makers show.
//!
//! An order is shown if a watched maker filled a part of it. For all orders of takers, the trades say which of them that
//! applies to, so the share of shown orders is measured in groups of the same coin and number of trades. The liquidations
//! found in a group, divided by this share, estimate all liquidations of the group.

use std::collections::{BTreeMap, HashMap};

/// Minimum number of orders in a group; smaller groups use the share of all coins.
const LEAST_ORDERS: f64 = 50.0;
/// Orders with so many trades or more are in one group.
const MANY_TRADES: usize = 16;

/// The coin of an order, and its number of trades.
type OrderClass = (String, usize);

/// The orders of a group.
#[derive(Clone, Copy, Debug, Default)]
struct OrderGroup {
    orders: f64,
    usd: f64,
    watched_usd: f64,
}

impl OrderGroup {
    fn add(&mut self, usd: f64, is_watched: bool) {
        self.orders += 1.0;
        self.usd += usd;
        if is_watched {
            self.watched_usd += usd;
        }
    }

    /// Halves the weight of the orders; returns whether any weight remains.
    fn fade(&mut self) -> bool {
        self.orders /= 2.0;
        self.usd /= 2.0;
        self.watched_usd /= 2.0;
        self.orders >= 0.5
    }
}

/// Liquidated USD of a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LiquidatedUsd {
    /// USD of the liquidations that were found.
    pub(crate) found: f64,
    /// Estimated USD of all liquidations.
    pub(crate) estimated: f64,
}

/// Measures the recall.
#[derive(Debug, Default)]
pub(crate) struct Recall {
    groups: HashMap<OrderClass, OrderGroup>,
    /// The orders of all coins, by number of trades.
    classes: BTreeMap<usize, OrderGroup>,
    /// USD of the liquidations found since the last call of [`Self::take`].
    found: HashMap<OrderClass, f64>,
}

impl Recall {
    /// Adds an order of a taker. `is_watched` says whether a watched maker filled a part of it.
    pub(crate) fn add(
        &mut self,
        coin: &str,
        trades: usize,
        usd: f64,
        is_watched: bool,
        is_liquidation: bool,
    ) {
        let class = trades.min(MANY_TRADES);
        let group = (coin.to_owned(), class);
        self.classes
            .entry(class)
            .or_default()
            .add(usd, is_watched || is_liquidation);
        if is_liquidation {
            *self.found.entry(group.clone()).or_default() += usd;
        }
        self.groups
            .entry(group)
            .or_default()
            .add(usd, is_watched || is_liquidation);
    }

    /// Takes the liquidated USD since the last call; `None` if no liquidation was found. Older orders lose weight.
    pub(crate) fn take(&mut self) -> Option<LiquidatedUsd> {
        let found = std::mem::take(&mut self.found);
        let mut sums = (0.0, 0.0);
        for (group, usd) in found.into_iter().filter(|(_, usd)| *usd > 0.0) {
            let of_group = self.groups.get(&group);
            let of_group = of_group.filter(|of| of.orders >= LEAST_ORDERS);
            let of_class = self.classes.get(&group.1);
            // The orders of a group contain its liquidations, so its watched USD is above 0.
            let share = of_group
                .or(of_class)
                .map_or(1.0, |of| of.watched_usd / of.usd);
            sums = (sums.0 + usd, sums.1 + usd / share);
        }
        self.groups.retain(|_, group| group.fade());
        self.classes.retain(|_, class| class.fade());
        (sums.0 > 0.0).then_some(LiquidatedUsd {
            found: sums.0,
            estimated: sums.1,
        })
    }
}
