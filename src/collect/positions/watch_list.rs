//! The watch list: selects the discovered accounts to poll, and their order.
//!
//! Accounts with a position near its liquidation price are selected first, then the most active and the largest ones.

use std::collections::HashMap;

use crate::model::{Millis, PositionRow, nearest_f64};

/// Half-life of an account's traded USD, in milliseconds.
const HALF_LIFE: f64 = 24.0 * 3_600_000.0;
/// Maximum distance of a liquidation price from the price, as a fraction of the price, at which an account is near.
const NEAR: f64 = 0.15;
/// Number of remembered accounts, as a multiple of the number of polled accounts.
const REMEMBERED: usize = 20;

/// The activity of an account.
#[derive(Clone, Copy, Debug, Default)]
struct Activity {
    /// Traded USD, decayed to the instant `at`.
    traded: f64,
    at: Millis,
    /// Value of the account's positions at the last poll, in USD.
    size: f64,
    /// Distance of the nearest liquidation price from the price at the last poll, as a fraction of the price.
    distance: Option<f64>,
    /// Number of the last poll; 0 before the first one.
    turn: u64,
}

impl Activity {
    #[expect(clippy::cast_precision_loss, reason = "a day has few milliseconds")]
    fn decayed(&self, now: Millis) -> f64 {
        let age = now.0.saturating_sub(self.at.0).max(0) as f64;
        self.traded * (-age / HALF_LIFE).exp2()
    }

    fn is_near(&self) -> bool {
        self.distance.is_some_and(|distance| distance <= NEAR)
    }
}

/// The distance of the nearest liquidation price from the price of its position, as a fraction of that price.
pub(crate) fn nearest_distance<'a>(
    positions: impl Iterator<Item = &'a PositionRow>,
) -> Option<f64> {
    positions
        .filter_map(|position| {
            let price = nearest_f64(position.value_usd) / nearest_f64(position.qty);
            Some((nearest_f64(position.liquidation_price?) / price - 1.0).abs())
        })
        .filter(|distance| distance.is_finite())
        .min_by(f64::total_cmp)
}

/// The discovered accounts.
#[derive(Debug)]
pub(crate) struct WatchList {
    accounts: HashMap<String, Activity>,
    most: usize,
    /// Number of polls.
    turns: u64,
}

impl WatchList {
    /// Creates an empty list that selects at most `most` accounts.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            accounts: HashMap::new(),
            most,
            turns: 0,
        }
    }

    /// Records a trade of an account.
    pub(crate) fn traded(&mut self, account: &str, usd: f64, now: Millis) {
        if !self.accounts.contains_key(account) {
            self.make_room(now);
            self.accounts
                .insert(account.to_owned(), Activity::default());
        }
        if let Some(known) = self.accounts.get_mut(account) {
            known.traded = known.decayed(now) + usd;
            known.at = now;
        }
    }

    /// Sets the value of the positions of an account, in USD, and the distance of the nearest liquidation price.
    pub(crate) fn set_state(&mut self, account: &str, usd: f64, distance: Option<f64>) {
        let known = self.accounts.entry(account.to_owned()).or_default();
        known.size = usd;
        known.distance = distance;
    }

    /// Records that an account is polled now.
    pub(crate) fn polled(&mut self, account: &str) {
        self.turns += 1;
        if let Some(known) = self.accounts.get_mut(account) {
            known.turn = self.turns;
        }
    }

    /// The selected accounts, least recently polled first: those that are near, and those with the largest sum of
    /// position value and traded USD.
    pub(crate) fn chosen(&self, now: Millis) -> Vec<String> {
        let mut ranked = self.ranked(now);
        ranked.truncate(self.most);
        ranked.sort_by_key(|(known, ..)| known.turn);
        ranked
            .into_iter()
            .map(|(_, _, account)| account.to_owned())
            .collect()
    }

    /// The accounts that are near, nearest first; at most `most`.
    pub(crate) fn near(&self, most: usize) -> Vec<String> {
        let accounts = self.accounts.iter();
        let mut near: Vec<(f64, &str)> = accounts
            .filter(|(_, known)| known.is_near())
            .filter_map(|(account, known)| Some((known.distance?, account.as_str())))
            .collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)));
        near.truncate(most.min(self.most));
        near.into_iter()
            .map(|(_, account)| account.to_owned())
            .collect()
    }

    fn ranked(&self, now: Millis) -> Vec<(&Activity, f64, &str)> {
        let accounts = self.accounts.iter();
        let mut ranked: Vec<(&Activity, f64, &str)> = accounts
            .map(|(account, known)| (known, known.size + known.decayed(now), account.as_str()))
            .collect();
        ranked.sort_by(|one, other| {
            (other.0.is_near().cmp(&one.0.is_near()))
                .then(other.1.total_cmp(&one.1))
                .then(one.2.cmp(other.2))
        });
        ranked
    }

    /// Drops the less active half of the accounts if there are too many.
    fn make_room(&mut self, now: Millis) {
        let room = self.most.saturating_mul(REMEMBERED);
        if self.accounts.len() < room {
            return;
        }
        let ranked = self.ranked(now);
        let top = ranked.into_iter().take(room / 2);
        let top: Vec<String> = top.map(|(_, _, account)| account.to_owned()).collect();
        let mut accounts = std::mem::take(&mut self.accounts);
        let known = |account: String| accounts.remove(&account).map(|known| (account, known));
        self.accounts = top.into_iter().filter_map(known).collect();
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::positions::watch_list::*;

    #[test]
    fn the_largest_and_the_most_active_are_chosen_and_activity_decays() {
        let mut watched = WatchList::new(2);
        let (start, day) = (Millis(0), Millis(Millis::DAY));
        watched.traded("once", 1000.0, start);
        watched.traded("often", 300.0, start);
        watched.set_state("large", 800.0, None);
        assert_eq!(watched.chosen(start), ["once", "large"]);
        watched.traded("often", 700.0, day);
        assert_eq!(watched.chosen(day), ["often", "large"]);
        // Many small accounts do not displace the large accounts.
        for number in 0..100 {
            watched.traded(&format!("small {number}"), 1.0, day);
        }
        assert!(watched.accounts.len() <= 40);
        assert_eq!(watched.chosen(day), ["often", "large"]);
    }
    #[test]
    fn near_accounts_are_chosen_first_and_the_least_recently_polled_go_first() {
        let mut watched = WatchList::new(3);
        for (account, usd, distance) in [
            ("far", 900.0, Some(0.151)),
            ("none", 800.0, None),
            ("nearest", 2.0, Some(0.01)),
            ("near", 1.0, Some(0.15)),
        ] {
            watched.set_state(account, usd, distance);
        }
        assert_eq!(watched.near(9), ["nearest", "near"]);
        assert_eq!(watched.near(1), ["nearest"]);
        assert_eq!(watched.chosen(Millis(0)), ["nearest", "near", "far"]);
        watched.polled("nearest");
        watched.polled("far");
        assert_eq!(watched.chosen(Millis(0)), ["near", "nearest", "far"]);
        watched.set_state("nearest", 2.0, Some(0.2));
        assert_eq!(watched.chosen(Millis(0)), ["near", "none", "far"]);
    }
}
