//! The watch list: selects the most active and the largest discovered accounts for polling.

use std::collections::HashMap;

use crate::model::Millis;

/// Half-life of an account's traded USD, in milliseconds.
const HALF_LIFE: f64 = 24.0 * 3_600_000.0;
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
}

impl Activity {
    #[expect(clippy::cast_precision_loss, reason = "a day has few milliseconds")]
    fn decayed(&self, now: Millis) -> f64 {
        let age = now.0.saturating_sub(self.at.0).max(0) as f64;
        self.traded * (-age / HALF_LIFE).exp2()
    }
}

/// The discovered accounts.
#[derive(Debug)]
pub(crate) struct WatchList {
    accounts: HashMap<String, Activity>,
    most: usize,
}

impl WatchList {
    /// Creates an empty list that selects at most `most` accounts.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            accounts: HashMap::new(),
            most,
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

    /// Sets the value of the positions of an account, in USD.
    pub(crate) fn set_size(&mut self, account: &str, usd: f64) {
        self.accounts.entry(account.to_owned()).or_default().size = usd;
    }

    /// The accounts to poll: those with the largest sum of position value and traded USD.
    pub(crate) fn chosen(&self, now: Millis) -> Vec<String> {
        let mut ranked = self.ranked(now);
        ranked.truncate(self.most);
        ranked
            .into_iter()
            .map(|(_, account)| account.to_owned())
            .collect()
    }

    fn ranked(&self, now: Millis) -> Vec<(f64, &str)> {
        let accounts = self.accounts.iter();
        let mut ranked: Vec<(f64, &str)> = accounts
            .map(|(account, known)| (known.size + known.decayed(now), account.as_str()))
            .collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
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
        let top: Vec<String> = top.map(|(_, account)| account.to_owned()).collect();
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
        watched.set_size("large", 800.0);
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
}
