//! Polling of trading positions: each round polls accounts of the watch list and makes one snapshot.
//!
//! Accounts with a position near its liquidation price are polled each minute, the others in turn. A round ends when all
//! were polled, or when its time is over; the next round goes on with the least recently polled account. A snapshot has
//! the positions of each account at its last poll.
//!
//! A snapshot is stored completely or not at all. An account that cannot be polled is missing from the snapshot, and
//! from the share of the open interest that the snapshot covers. An interrupted round, or a round in which most
//! accounts are missing, makes no snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rust_decimal::Decimal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use url::Url;

use crate::archive::{
    Archive, ArchiveError, Batch, Filter, Measurement, MeasurementKind, PositionRow,
};
use crate::collect::clock::{AdjustedClock, machine};
use crate::collect::delivery::dedupe_keys::EventOrigin;
use crate::collect::delivery::delivery::Delivery;
use crate::collect::limits::cooldown::cooldown_length;
use crate::collect::lock::locked;
use crate::collect::positions::watch_list::{WatchList, nearest_distance};
use crate::collect::rest_client::HttpClients;
use crate::collect::settings::settings::{Settings, span};
use crate::collect::status::log_limit::LogLimit;
use crate::collect::status::status::PositionsStatus;
use crate::collect::venue_tasks::is_set;
use crate::feeds::hyperliquid;
use crate::model::{Millis, nearest_f64};
use crate::net::{Limiter, is_passing, retry_after};

/// Maximum number of attempts per request.
const ATTEMPTS: u32 = 5;
/// Time between two polls of a near account, maximum wait before the first round, in which discovery can find accounts,
/// and minimum length of a round.
const MINUTE: Duration = Duration::from_mins(1);
/// Share of the weight per minute that is used without delay; the other requests are evenly spaced.
const BURST: f64 = 0.04;

/// The result of the polls so far.
#[derive(Debug, Default)]
struct Polls {
    /// The positions of each account at its last poll.
    last: BTreeMap<String, Vec<PositionRow>>,
    /// The accounts that were polled in this round, and whether they could be read.
    round: BTreeMap<String, bool>,
    /// When the last poll of the near accounts began.
    near: Option<Instant>,
}

/// Polls the positions of watched accounts.
pub(crate) struct PositionPoller {
    pub(crate) settings: Arc<Settings>,
    pub(crate) http: HttpClients,
    pub(crate) clock: Arc<AdjustedClock>,
    delivery: Delivery,
    /// The coins of which positions are stored; `None` for all.
    selected: Option<Vec<String>>,
    limiter: Limiter,
    watch_list: Mutex<WatchList>,
    notes: Mutex<PollingNotes>,
}

/// The status of the polling, and its recent warnings.
#[derive(Debug, Default)]
struct PollingNotes {
    status: PositionsStatus,
    troubles: LogLimit,
}

impl PollingNotes {
    /// Shows a warning in the status; returns the line to log now, if any.
    fn trouble(&mut self, message: String, now: Millis) -> Option<String> {
        let line = self.troubles.admit(&message, now);
        self.status.trouble = Some(message);
        line
    }
}

impl PositionPoller {
    pub(crate) fn new(
        settings: &Arc<Settings>,
        http: HttpClients,
        clock: &Arc<AdjustedClock>,
        delivery: Delivery,
        selected: Option<Vec<String>>,
    ) -> Self {
        let of = &settings.positions;
        Self {
            http,
            clock: Arc::clone(clock),
            delivery,
            selected,
            limiter: Limiter::in_window_with_burst(of.weight, MINUTE, BURST),
            watch_list: Mutex::new(WatchList::new(of.accounts)),
            notes: Mutex::default(),
            settings: Arc::clone(settings),
        }
    }

    /// The current status.
    pub(crate) fn status(&self) -> PositionsStatus {
        locked(&self.notes).status.clone()
    }

    /// Changes the status.
    pub(crate) fn note(&self, change: impl FnOnce(&mut PositionsStatus)) {
        change(&mut locked(&self.notes).status);
    }

    /// Shows a warning, and logs it unless a warning of its kind was logged within a minute.
    pub(crate) fn trouble(&self, message: String) {
        if let Some(line) = locked(&self.notes).trouble(message, machine()) {
            log::warn!(target: "liqdata::collect", "positions: {line}");
        }
    }

    /// Logs the summaries of repeated warnings.
    pub(crate) fn log_summaries(&self, now: Millis) {
        for line in locked(&self.notes).troubles.summaries(now) {
            log::warn!(target: "liqdata::collect", "positions: {line}");
        }
    }

    /// Records a trade of an account and its value in USD.
    pub(crate) fn traded(&self, account: &str, usd: f64) {
        let now = self.clock.now();
        locked(&self.watch_list).traded(account, usd, now);
    }

    /// Adds the accounts in the snapshots of the last hour with snapshots, of the last day, to the watch list.
    pub(crate) fn load_accounts(&self, archive: &Path) -> Result<(), ArchiveError> {
        let now = self.clock.now();
        let archive = Archive::read(archive)?;
        for hours in 1..=24 {
            let start = now.back(hours * Millis::HOUR);
            let filter = Filter {
                start: Some(start),
                end: (hours > 1).then(|| start.on(Millis::HOUR)),
                exchange: Some(hyperliquid::EXCHANGE.to_owned()),
                ..Filter::default()
            };
            let mut last: BTreeMap<String, Vec<PositionRow>> = BTreeMap::new();
            // The rows are in order of time, so those of the last snapshot of an account remain.
            for row in archive.positions(&filter)?.rows {
                let rows = last.entry(row.account.clone()).or_default();
                rows.retain(|one| one.timestamp == row.timestamp);
                rows.push(row);
            }
            for (account, rows) in &last {
                self.set_state(account, rows);
            }
            if !last.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Updates the watch list with the positions of an account.
    fn set_state(&self, account: &str, rows: &[PositionRow]) {
        let usd = rows.iter().map(|row| nearest_f64(row.value_usd)).sum();
        let distance = nearest_distance(rows.iter().filter(|row| self.is_selected(row)));
        locked(&self.watch_list).set_state(account, usd, distance);
    }

    /// Whether positions in the coin of a row are stored.
    fn is_selected(&self, row: &PositionRow) -> bool {
        let selected = self.selected.as_ref();
        selected.is_none_or(|selected| selected.contains(&row.coin))
    }

    /// The listed coins, with their open interest.
    pub(crate) async fn listed_coins(&self) -> Result<Vec<hyperliquid::OpenCoin>, String> {
        let (question, weight) = hyperliquid::OPEN_COINS;
        let body = self.send(question, weight).await?;
        hyperliquid::open_coins(&body)
            .map_err(|fault| format!("the list of coins cannot be read: {fault}"))
    }

    /// The names that the exchange uses for coins. Warns about coins that the exchange does not list.
    pub(crate) async fn native_names(&self, coins: &[String]) -> Result<Vec<String>, String> {
        let listed = self.listed_coins().await?;
        let (mut names, mut unlisted) = (Vec::new(), Vec::new());
        for coin in coins {
            match listed.iter().find(|one| one.coin == *coin) {
                Some(one) => names.push(one.native.clone()),
                None => unlisted.push(coin.as_str()),
            }
        }
        if !unlisted.is_empty() {
            self.trouble(format!(
                "{} lists no {}",
                hyperliquid::EXCHANGE,
                unlisted.join(", ")
            ));
        }
        Ok(names)
    }

    /// Runs one round after the other until `stop`.
    pub(crate) async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let every = span(self.settings.positions.every);
        let mut polls = Polls::default();
        let mut next = Instant::now() + every.min(MINUTE);
        loop {
            tokio::select! {
                () = sleep_until(next) => {}
                () = is_set(&mut stop) => return,
            }
            next = Instant::now() + every;
            tokio::select! {
                done = self.round(&mut polls) => if let Err(message) = done {
                    self.trouble(message);
                },
                () = is_set(&mut stop) => return,
            }
            tokio::select! {
                () = self.poll_near_until(next, &mut polls) => {}
                () = is_set(&mut stop) => return,
            }
        }
    }

    /// Polls the near accounts each minute.
    async fn poll_near_until(&self, end: Instant, polls: &mut Polls) {
        while let Some(turn) = polls.near.map(|begun| begun + MINUTE)
            && turn < end
        {
            sleep_until(turn).await;
            self.poll_near(polls).await;
        }
    }

    /// Polls the near accounts, nearest first, with at most half of the weight of a minute.
    async fn poll_near(&self, polls: &mut Polls) {
        polls.near = Some(Instant::now());
        let most = self.settings.positions.weight / hyperliquid::STATE_WEIGHT / 2;
        let near = locked(&self.watch_list).near(most.try_into().unwrap_or(usize::MAX));
        for account in near {
            self.poll(&account, polls).await;
        }
    }

    /// Polls the positions of an account.
    async fn poll(&self, account: &str, polls: &mut Polls) {
        locked(&self.watch_list).polled(account);
        let reply = self
            .send(&hyperliquid::state_of(account), hyperliquid::STATE_WEIGHT)
            .await;
        let at = self.clock.now();
        let read = reply.and_then(|body| {
            hyperliquid::positions(account, &body, at).map_err(|fault| fault.to_string())
        });
        polls.round.insert(account.to_owned(), read.is_ok());
        match read {
            Ok(found) => {
                self.set_state(account, &found);
                polls.last.insert(account.to_owned(), found);
            }
            Err(message) => {
                polls.last.remove(account);
                self.trouble(format!("an account could not be polled: {message}"));
            }
        }
    }

    /// Polls the near accounts each minute, the others in turn, and the open interest of each coin; stores a snapshot.
    async fn round(&self, polls: &mut Polls) -> Result<(), String> {
        let end = Instant::now() + span(self.settings.positions.every).max(MINUTE);
        let chosen = locked(&self.watch_list).chosen(self.clock.now());
        let names: BTreeSet<&str> = chosen.iter().map(String::as_str).collect();
        polls
            .last
            .retain(|account, _| names.contains(account.as_str()));
        polls.round.clear();
        if chosen.is_empty() {
            self.note(|status| status.accounts = 0);
            return Ok(());
        }
        let (question, weight) = hyperliquid::OPEN_COINS;
        let body = self.send(question, weight).await?;
        let open =
            hyperliquid::open_coins(&body).map_err(|fault| format!("open interest: {fault}"))?;
        for account in &chosen {
            if polls.near.is_none_or(|begun| begun.elapsed() >= MINUTE) {
                self.poll_near(polls).await;
            }
            if Instant::now() >= end {
                break;
            }
            if !polls.round.contains_key(account) {
                self.poll(account, polls).await;
            }
        }
        let missing = polls.round.values().filter(|is_read| !**is_read).count() as u64;
        let (of, timestamp) = (polls.round.len() as u64, self.clock.now());
        self.note(|status| (status.accounts, status.missing) = (of, missing));
        if missing * 2 > of {
            return Err(format!(
                "no snapshot: {missing} of {of} accounts could not be polled"
            ));
        }
        let open = open
            .into_iter()
            .map(|coin| (coin.coin, coin.open_interest))
            .collect();
        let mut rows: Vec<PositionRow> = polls.last.values().flatten().cloned().collect();
        let shares = self.shares(&rows, &open);
        for row in &mut rows {
            row.observed_at = row.observed_at.min(timestamp);
            row.timestamp = timestamp;
            row.seen_share = shares.get(&row.coin).copied().flatten();
        }
        rows.retain(|row| self.is_selected(row));
        let count = rows.len() as u64;
        let mark = |kind, value: u64| Measurement {
            exchange: hyperliquid::EXCHANGE.to_owned(),
            kind,
            at: timestamp,
            value: i64::try_from(value).unwrap_or(i64::MAX),
        };
        // A snapshot without positions is stored too: it shows that the positions of the previous snapshot are closed.
        self.store(Batch {
            positions: rows,
            measurements: vec![
                mark(MeasurementKind::Accounts, polls.last.len() as u64),
                mark(MeasurementKind::AccountsMissing, missing),
            ],
            ..Batch::default()
        })
        .await?;
        self.note(|status| {
            status.snapshots += 1;
            status.last_snapshot = Some(timestamp);
            status.positions = count;
        });
        Ok(())
    }

    /// Stores a snapshot; returns once it is durable.
    async fn store(&self, batch: Batch) -> Result<(), String> {
        let sent = self.delivery.send(batch, EventOrigin::Live).await;
        let sent = sent.map_err(|fault| format!("a snapshot was lost: {}", fault.reason))?;
        for reason in sent.unstorable {
            self.trouble(format!("a position cannot be stored: {reason}"));
        }
        if let Some(receipt) = sent.receipt
            && self.delivery.stored(receipt).await.is_none()
        {
            return Err("a snapshot was lost: it could not be stored".to_owned());
        }
        Ok(())
    }

    /// The share of each coin's open interest, counted on both sides, that the positions cover. A coin gets no share if
    /// its positions exceed its open interest, because then one of these two numbers is wrong.
    fn shares(
        &self,
        rows: &[PositionRow],
        open: &BTreeMap<String, Decimal>,
    ) -> BTreeMap<String, Option<f64>> {
        let mut sums: BTreeMap<&str, Decimal> = BTreeMap::new();
        for row in rows {
            let sum = sums.entry(&row.coin).or_default();
            *sum = sum.saturating_add(row.qty);
        }
        let mut odd = BTreeSet::new();
        let shares = sums
            .into_iter()
            .map(|(coin, sum)| {
                let open = open.get(coin).map_or(0.0, |open| 2.0 * nearest_f64(*open));
                let share = nearest_f64(sum) / open;
                let is_one = (0.0..=1.0).contains(&share);
                if open > 0.0 && !is_one {
                    odd.insert(coin.to_owned());
                }
                (coin.to_owned(), is_one.then_some(share))
            })
            .collect();
        if !odd.is_empty() {
            let coins: Vec<String> = odd.into_iter().collect();
            self.trouble(format!(
                "positions exceed the open interest of {}",
                coins.join(", ")
            ));
        }
        shares
    }

    /// Sends a request as soon as the rate limit allows it; returns the body. After a refusal (HTTP 403, 418, 429),
    /// waits as long as the exchange asks.
    async fn send(&self, question: &str, weight: u32) -> Result<String, String> {
        let address = format!(
            "{}/info",
            self.settings.positions.rest.trim_end_matches('/')
        );
        let url = Url::parse(&address).map_err(|fault| format!("{address}: {fault}"))?;
        let mut backoff = self.settings.pace.backoff();
        let mut attempt = 1;
        loop {
            self.limiter.turn(weight).await;
            let patience = span(self.settings.pace.request);
            let sent = self.http.post(url.clone(), question.to_owned(), patience);
            let (fault, wait) = match sent.await {
                Ok(reply) if reply.status == 200 => {
                    return Ok(String::from_utf8_lossy(&reply.body).into_owned());
                }
                Ok(reply) => {
                    let fault = format!("{address} answered with {}", reply.status);
                    let stated = retry_after(&reply.headers)
                        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    match reply.status {
                        403 | 418 | 429 => {
                            self.note(|status| status.refused += 1);
                            (fault, cooldown_length(stated, backoff.next()))
                        }
                        status if is_passing(status) => (fault, backoff.next()),
                        _ => return Err(fault),
                    }
                }
                Err(fault) => (format!("{address}: {fault}"), backoff.next()),
            };
            if attempt == ATTEMPTS {
                return Err(fault);
            }
            sleep(wait).await;
            attempt += 1;
        }
    }
}

impl std::fmt::Debug for PositionPoller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PositionPoller")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::positions::polling::*;

    #[test]
    fn a_feed_that_is_lost_repeatedly_is_logged_once_a_minute() {
        let mut notes = PollingNotes::default();
        let now = Millis(5);
        let lost = |number: u32| format!("the trade feed was lost: {number}");
        assert_eq!(notes.trouble(lost(0), now), Some(lost(0)));
        for number in 1..40 {
            assert_eq!(notes.trouble(lost(number), now), None);
        }
        assert_eq!(notes.status.trouble, Some(lost(39)));
        let sums = notes.troubles.summaries(now.on(Millis::MINUTE));
        assert_eq!(sums, ["the trade feed was lost: 39 (… 38 more)"]);
    }
}
