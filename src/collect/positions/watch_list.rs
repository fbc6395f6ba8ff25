//! Which accounts are looked at: the most active and the largest of those that were heard of.

use std::collections::HashMap;

use crate::model::Millis;

/// What was traded counts half after so long, in milliseconds.
const HALF: f64 = 24.0 * 3_600_000.0;
/// So many times as many accounts are remembered as are looked at.
const REMEMBERED: usize = 20;

/// What is known of an account.
#[derive(Clone, Copy, Debug, Default)]
struct Activity {
    /// USD that it traded, as of `at`.
    traded: f64,
    at: Millis,
    /// USD of its positions when it was last looked at.
    held: f64,
}

impl Activity {
    #[expect(clippy::cast_precision_loss, reason = "a day has few milliseconds")]
    fn faded(&self, now: Millis) -> f64 {
        let age = now.0.saturating_sub(self.at.0).max(0) as f64;
        self.traded * (-age / HALF).exp2()
    }
}

/// The accounts that were heard of.
#[derive(Debug)]
pub(crate) struct WatchList {
    accounts: HashMap<String, Activity>,
    most: usize,
}

impl WatchList {
    /// Nobody yet, of whom so many are to be looked at.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            accounts: HashMap::new(),
            most,
        }
    }

    /// Takes note that an account traded.
    pub(crate) fn traded(&mut self, account: &str, usd: f64, now: Millis) {
        if !self.accounts.contains_key(account) {
            self.make_room(now);
            self.accounts
                .insert(account.to_owned(), Activity::default());
        }
        if let Some(known) = self.accounts.get_mut(account) {
            known.traded = known.faded(now) + usd;
            known.at = now;
        }
    }

    /// Takes note of what an account holds.
    pub(crate) fn holds(&mut self, account: &str, usd: f64) {
        self.accounts.entry(account.to_owned()).or_default().held = usd;
    }

    /// The accounts to look at: those that hold and have traded the most USD together, the first first.
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
            .map(|(account, known)| (known.held + known.faded(now), account.as_str()))
            .collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
        ranked
    }

    /// Forgets the lesser half where there are too many.
    fn make_room(&mut self, now: Millis) {
        let room = self.most.saturating_mul(REMEMBERED);
        if self.accounts.len() < room {
            return;
        }
        let ranked = self.ranked(now);
        let kept = ranked.into_iter().take(room / 2);
        let kept: Vec<String> = kept.map(|(_, account)| account.to_owned()).collect();
        let mut accounts = std::mem::take(&mut self.accounts);
        let known = |account: String| accounts.remove(&account).map(|known| (account, known));
        self.accounts = kept.into_iter().filter_map(known).collect();
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::positions::watch_list::*;

    #[test]
    fn the_largest_and_the_most_active_are_chosen_and_the_past_fades() {
        let mut watched = WatchList::new(2);
        let (start, day) = (Millis(0), Millis(Millis::DAY));
        watched.traded("once", 1000.0, start);
        watched.traded("often", 300.0, start);
        watched.holds("large", 800.0);
        assert_eq!(watched.chosen(start), ["once", "large"]);
        watched.traded("often", 700.0, day);
        assert_eq!(watched.chosen(day), ["often", "large"]);
        // Nobody who matters is forgotten for the many who do not.
        for number in 0..100 {
            watched.traded(&format!("small {number}"), 1.0, day);
        }
        assert!(watched.accounts.len() <= 40);
        assert_eq!(watched.chosen(day), ["often", "large"]);
    }
}
