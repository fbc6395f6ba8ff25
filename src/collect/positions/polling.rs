//! Polling of trading positions: each round polls the accounts of the watch list and makes one snapshot.
//!
//! A snapshot is stored completely or not at all. An account that cannot be polled is missing from the snapshot, and
//! from the share of the open interest that the snapshot covers. An interrupted round, or a round in which most
//! accounts are missing, makes no snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
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
use crate::collect::positions::watch_list::WatchList;
use crate::collect::rest_client::{HttpClients, full};
use crate::collect::settings::settings::{Settings, span};
use crate::collect::status::log_limit::LogLimit;
use crate::collect::status::status::PositionsStatus;
use crate::collect::venue_tasks::is_set;
use crate::feeds::hyperliquid;
use crate::model::{Millis, nearest_f64};
use crate::net::{Limiter, is_passing, retry_after};

/// Maximum number of attempts per request.
const ATTEMPTS: u32 = 5;
/// Maximum wait before the first round, in which discovery can find accounts.
const FIRST: Duration = Duration::from_mins(1);

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
            limiter: Limiter::in_window(of.weight, Duration::from_mins(1)),
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

    /// Adds the accounts in the snapshots of the last day to the watch list.
    pub(crate) fn load_accounts(&self, archive: &Path) -> Result<(), ArchiveError> {
        let filter = Filter {
            start: Some(self.clock.now().back(Millis::DAY)),
            exchange: Some(hyperliquid::EXCHANGE.to_owned()),
            ..Filter::default()
        };
        let mut sizes: BTreeMap<(String, Millis), f64> = BTreeMap::new();
        for row in Archive::read(archive)?.positions(&filter)?.rows {
            let usd = nearest_f64(row.value_usd);
            *sizes.entry((row.account, row.timestamp)).or_default() += usd;
        }
        let mut watch_list = locked(&self.watch_list);
        // The position values are in order of time, so the last value of an account remains.
        for ((account, _), usd) in sizes {
            watch_list.set_size(&account, usd);
        }
        Ok(())
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
        let mut next = Instant::now() + every.min(FIRST);
        loop {
            tokio::select! {
                () = sleep_until(next) => {}
                () = is_set(&mut stop) => return,
            }
            next = Instant::now() + every;
            tokio::select! {
                done = self.round() => if let Err(message) = done {
                    self.trouble(message);
                },
                () = is_set(&mut stop) => return,
            }
        }
    }

    /// Polls all chosen accounts and the open interest of each coin.
    async fn round(&self) -> Result<(), String> {
        let chosen = locked(&self.watch_list).chosen(self.clock.now());
        self.note(|status| status.accounts = chosen.len() as u64);
        if chosen.is_empty() {
            return Ok(());
        }
        let (question, weight) = hyperliquid::OPEN_COINS;
        let body = self.send(question, weight).await?;
        let open =
            hyperliquid::open_coins(&body).map_err(|fault| format!("open interest: {fault}"))?;
        let mut rows: Vec<PositionRow> = Vec::new();
        let mut missing = 0_u64;
        for account in &chosen {
            let reply = self
                .send(&hyperliquid::state_of(account), hyperliquid::STATE_WEIGHT)
                .await;
            let at = self.clock.now();
            let read = reply.and_then(|body| {
                hyperliquid::positions(account, &body, at).map_err(|fault| fault.to_string())
            });
            match read {
                Ok(found) => {
                    let usd = found.iter().map(|row| nearest_f64(row.value_usd)).sum();
                    locked(&self.watch_list).set_size(account, usd);
                    rows.extend(found);
                }
                Err(message) => {
                    missing += 1;
                    self.trouble(format!("an account could not be polled: {message}"));
                }
            }
        }
        let (of, timestamp) = (chosen.len() as u64, self.clock.now());
        self.note(|status| status.missing = missing);
        if missing * 2 > of {
            return Err(format!(
                "no snapshot: {missing} of {of} accounts could not be polled"
            ));
        }
        let open = open
            .into_iter()
            .map(|coin| (coin.coin, coin.open_interest))
            .collect();
        let shares = self.shares(&rows, &open);
        for row in &mut rows {
            row.observed_at = row.observed_at.min(timestamp);
            row.timestamp = timestamp;
            row.seen_share = shares.get(&row.coin).copied().flatten();
        }
        if let Some(selected) = &self.selected {
            rows.retain(|row| selected.contains(&row.coin));
        }
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
                mark(MeasurementKind::Accounts, of - missing),
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
        let http = self.http.client(&url)?;
        let mut backoff = self.settings.pace.backoff();
        let mut attempt = 1;
        loop {
            self.limiter.turn(weight).await;
            let sent = http
                .post(url.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(question.to_owned())
                .send()
                .await;
            let (fault, wait) = match sent {
                Ok(reply) if reply.status() == StatusCode::OK => match reply.text().await {
                    Ok(body) => return Ok(body),
                    Err(fault) => (format!("{address}: {}", full(&fault)), backoff.next()),
                },
                Ok(reply) => {
                    let status = reply.status().as_u16();
                    let fault = format!("{address} answered with {status}");
                    let stated = retry_after(reply.headers())
                        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    match status {
                        403 | 418 | 429 => {
                            self.note(|status| status.refused += 1);
                            (fault, cooldown_length(stated, backoff.next()))
                        }
                        _ if is_passing(status) => (fault, backoff.next()),
                        _ => return Err(fault),
                    }
                }
                Err(fault) => (format!("{address}: {}", full(&fault)), backoff.next()),
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
