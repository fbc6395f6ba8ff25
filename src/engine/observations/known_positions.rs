//! Snapshots of the positions of accounts in one coin, prepared for estimates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Millis, PositionRow, nearest_f64};

/// A position with a liquidation price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocatedPosition {
    /// Liquidation price.
    pub price: f64,
    /// Its logarithm.
    pub ln_price: f64,
    /// Quantity in base units.
    pub qty: f64,
    /// USD at the price of the snapshot.
    pub value_usd: f64,
    /// Leverage; 0 if it is not published.
    pub leverage: f64,
}

/// The positions of one exchange at one instant.
#[derive(Clone, Debug, Default)]
pub struct PositionSnapshot {
    /// Number of positions.
    pub positions: usize,
    /// Number of accounts with these positions.
    pub accounts: usize,
    /// Quantity of all positions, for longs and shorts.
    pub qty: [f64; 2],
    /// Positions with a liquidation price, for longs and shorts. Prices ascend.
    pub located: [Vec<LocatedPosition>; 2],
    /// USD of positions without a liquidation price.
    pub unplaced_usd: f64,
}

/// The snapshots of each exchange.
#[derive(Clone, Debug, Default)]
pub struct KnownPositions {
    exchanges: BTreeMap<String, BTreeMap<Millis, Arc<PositionSnapshot>>>,
}

impl KnownPositions {
    /// The snapshots with these rows, which are of one coin.
    #[must_use]
    pub fn new(rows: &[PositionRow]) -> Self {
        let mut found: BTreeMap<String, BTreeMap<Millis, PositionSnapshot>> = BTreeMap::new();
        let is_same = |a: &PositionRow, b: &PositionRow| {
            a.timestamp == b.timestamp && a.exchange == b.exchange
        };
        let mut accounts: BTreeMap<(&str, Millis), BTreeSet<&str>> = BTreeMap::new();
        for rows in rows.chunk_by(is_same) {
            let Some(first) = rows.first() else {
                continue;
            };
            let snapshots = found.entry(first.exchange.clone()).or_default();
            let snapshot = snapshots.entry(first.timestamp).or_default();
            for row in rows {
                snapshot.add(row);
            }
            let known = accounts
                .entry((&first.exchange, first.timestamp))
                .or_default();
            known.extend(rows.iter().map(|row| row.account.as_str()));
        }
        for ((exchange, at), accounts) in accounts {
            let snapshots = found.get_mut(exchange);
            if let Some(snapshot) = snapshots.and_then(|known| known.get_mut(&at)) {
                snapshot.accounts = accounts.len();
                for located in &mut snapshot.located {
                    located.sort_by(|a, b| a.price.total_cmp(&b.price));
                }
            }
        }
        let shared = |(at, snapshot)| (at, Arc::new(snapshot));
        let shared = |(exchange, snapshots): (String, BTreeMap<Millis, PositionSnapshot>)| {
            (exchange, snapshots.into_iter().map(shared).collect())
        };
        Self {
            exchanges: found.into_iter().map(shared).collect(),
        }
    }

    /// Adds the snapshots of `other`. A snapshot that is known already stays.
    pub fn extend(&mut self, other: &Self) {
        for (exchange, snapshots) in &other.exchanges {
            let known = self.exchanges.entry(exchange.clone()).or_default();
            for (at, snapshot) in snapshots {
                known.entry(*at).or_insert_with(|| Arc::clone(snapshot));
            }
        }
    }

    /// Adds a snapshot of `exchange` without positions, unless one of this time is known.
    pub fn add_empty(&mut self, exchange: &str, at: Millis) {
        let known = self.exchanges.entry(exchange.to_owned()).or_default();
        known.entry(at).or_default();
    }

    /// Whether there are no snapshots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Number of positions in all snapshots.
    #[must_use]
    pub fn len(&self) -> usize {
        let snapshots = self.exchanges.values().flat_map(BTreeMap::values);
        snapshots.map(|snapshot| snapshot.positions).sum()
    }

    /// The newest snapshot of each exchange at or before `at`, with its time.
    pub fn known_at(&self, at: Millis) -> impl Iterator<Item = (&str, Millis, &PositionSnapshot)> {
        self.exchanges
            .iter()
            .filter_map(move |(exchange, snapshots)| {
                let (taken, snapshot) = snapshots.range(..=at).next_back()?;
                Some((exchange.as_str(), *taken, &**snapshot))
            })
    }
}

impl PositionSnapshot {
    fn add(&mut self, row: &PositionRow) {
        let (qty, value_usd) = (nearest_f64(row.qty), nearest_f64(row.value_usd));
        self.positions += 1;
        if let Some(sum) = self.qty.get_mut(row.side.index()) {
            *sum += qty;
        }
        let price = row.liquidation_price.map(nearest_f64);
        let Some(price) = price.filter(|price| *price > 0.0) else {
            self.unplaced_usd += value_usd;
            return;
        };
        if let Some(located) = self.located.get_mut(row.side.index()) {
            located.push(LocatedPosition {
                price,
                ln_price: price.ln(),
                qty,
                value_usd,
                leverage: row.leverage.unwrap_or_default(),
            });
        }
    }
}
