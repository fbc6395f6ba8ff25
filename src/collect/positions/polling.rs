//! Looking at the positions of single accounts: round after round, each a snapshot that is kept whole or not at all.
//!
//! An account that cannot be looked at is missing from a snapshot, and its positions from the share that is seen. A round
//! that is cut short is no snapshot, nor is one in which more accounts are missing than were looked at.

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
use crate::collect::health::cooldown::cooldown_length;
use crate::collect::health::log_limit::LogLimit;
use crate::collect::health::status::PositionsStatus;
use crate::collect::intake::dedupe_keys::Origin;
use crate::collect::intake::delivery::Delivery;
use crate::collect::lock::locked;
use crate::collect::positions::watch_list::WatchList;
use crate::collect::rest_client::{HttpClients, full};
use crate::collect::settings::{Settings, span};
use crate::collect::venue_tasks::is_set;
use crate::feeds::hyperliquid;
use crate::model::{Millis, nearest_f64};
use crate::net::{Limiter, is_passing, retry_after};

/// How often a request is tried.
const ATTEMPTS: u32 = 5;
/// The first round waits so long for accounts to be heard of, at most.
const FIRST: Duration = Duration::from_mins(1);

/// The looking at positions.
pub(crate) struct PositionPoller {
    pub(crate) settings: Arc<Settings>,
    pub(crate) http: HttpClients,
    pub(crate) clock: Arc<AdjustedClock>,
    delivery: Delivery,
    /// Whose positions are kept, where not those of all coins.
    wanted: Option<Vec<String>>,
    limiter: Limiter,
    watched: Mutex<WatchList>,
    notes: Mutex<PollingNotes>,
}

/// What is written down of how it goes.
#[derive(Debug, Default)]
struct PollingNotes {
    status: PositionsStatus,
    troubles: LogLimit,
}

impl PollingNotes {
    /// Writes a trouble down; gives what is to be said of it now.
    fn trouble(&mut self, message: String, now: Millis) -> Option<String> {
        let said = self.troubles.admit(&message, now);
        self.status.trouble = Some(message);
        said
    }
}

impl PositionPoller {
    pub(crate) fn new(
        settings: &Arc<Settings>,
        http: HttpClients,
        clock: &Arc<AdjustedClock>,
        delivery: Delivery,
        wanted: Option<Vec<String>>,
    ) -> Self {
        let of = &settings.positions;
        Self {
            http,
            clock: Arc::clone(clock),
            delivery,
            wanted,
            limiter: Limiter::in_window(of.weight, Duration::from_mins(1)),
            watched: Mutex::new(WatchList::new(of.accounts)),
            notes: Mutex::default(),
            settings: Arc::clone(settings),
        }
    }

    /// How it goes.
    pub(crate) fn status(&self) -> PositionsStatus {
        locked(&self.notes).status.clone()
    }

    /// Changes what is told of how it goes.
    pub(crate) fn note(&self, change: impl FnOnce(&mut PositionsStatus)) {
        change(&mut locked(&self.notes).status);
    }

    /// Writes down what is wrong, and says it to the log unless something of its kind was said within a minute.
    pub(crate) fn trouble(&self, message: String) {
        if let Some(line) = locked(&self.notes).trouble(message, machine()) {
            log::warn!(target: "liqdata::collect", "positions: {line}");
        }
    }

    /// Says to the log how many troubles there were that were not said.
    pub(crate) fn log_summaries(&self, now: Millis) {
        for line in locked(&self.notes).troubles.summaries(now) {
            log::warn!(target: "liqdata::collect", "positions: {line}");
        }
    }

    /// Takes note that an account traded.
    pub(crate) fn traded(&self, account: &str, usd: f64) {
        let now = self.clock.now();
        locked(&self.watched).traded(account, usd, now);
    }

    /// Remembers the accounts of the snapshots of the last day.
    pub(crate) fn load_accounts(&self, archive: &Path) -> Result<(), ArchiveError> {
        let filter = Filter {
            start: Some(self.clock.now().back(Millis::DAY)),
            exchange: Some(hyperliquid::EXCHANGE.to_owned()),
            ..Filter::default()
        };
        let mut held: BTreeMap<(String, Millis), f64> = BTreeMap::new();
        for row in Archive::read(archive)?.positions(&filter)?.rows {
            let usd = nearest_f64(row.value_usd);
            *held.entry((row.account, row.timestamp)).or_default() += usd;
        }
        let mut watched = locked(&self.watched);
        // The last of an account comes last.
        for ((account, _), usd) in held {
            watched.holds(&account, usd);
        }
        Ok(())
    }

    /// How the venue spells the coins that are listened to. Those that it does not list are said.
    pub(crate) async fn spelled(&self, coins: &[String]) -> Result<Vec<String>, String> {
        let (question, weight) = hyperliquid::OPEN_COINS;
        let body = self.ask(question, weight).await?;
        let listed = hyperliquid::open_coins(&body)
            .map_err(|fault| format!("the list of coins: {fault}"))?;
        let (mut spelled, mut unlisted) = (Vec::new(), Vec::new());
        for coin in coins {
            match listed.iter().find(|one| one.coin == *coin) {
                Some(one) => spelled.push(one.native.clone()),
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
        Ok(spelled)
    }

    /// Looks round after round, until it is to stop.
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

    /// One round: all chosen accounts, and what is open of each coin beside them.
    async fn round(&self) -> Result<(), String> {
        let chosen = locked(&self.watched).chosen(self.clock.now());
        self.note(|status| status.accounts = chosen.len() as u64);
        if chosen.is_empty() {
            return Ok(());
        }
        let (question, weight) = hyperliquid::OPEN_COINS;
        let body = self.ask(question, weight).await?;
        let open =
            hyperliquid::open_coins(&body).map_err(|fault| format!("open interest: {fault}"))?;
        let mut rows: Vec<PositionRow> = Vec::new();
        let mut missing = 0_u64;
        for account in &chosen {
            let asked = self
                .ask(&hyperliquid::state_of(account), hyperliquid::STATE_WEIGHT)
                .await;
            let at = self.clock.now();
            let read = asked.and_then(|body| {
                hyperliquid::positions(account, &body, at).map_err(|fault| fault.to_string())
            });
            match read {
                Ok(found) => {
                    let usd = found.iter().map(|row| nearest_f64(row.value_usd)).sum();
                    locked(&self.watched).holds(account, usd);
                    rows.extend(found);
                }
                Err(message) => {
                    missing += 1;
                    self.trouble(format!("an account could not be looked at: {message}"));
                }
            }
        }
        let (of, timestamp) = (chosen.len() as u64, self.clock.now());
        self.note(|status| status.missing = missing);
        if missing * 2 > of {
            return Err(format!(
                "{missing} of {of} accounts could not be looked at: that is no snapshot"
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
        if let Some(wanted) = &self.wanted {
            rows.retain(|row| wanted.contains(&row.coin));
        }
        let count = rows.len() as u64;
        let mark = |kind, value: u64| Measurement {
            exchange: hyperliquid::EXCHANGE.to_owned(),
            kind,
            at: timestamp,
            value: i64::try_from(value).unwrap_or(i64::MAX),
        };
        // Also where nobody holds anything: what was held before is not any more.
        self.keep(Batch {
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

    /// Returns once a snapshot is durable.
    async fn keep(&self, batch: Batch) -> Result<(), String> {
        let sent = self.delivery.send(batch, Origin::Live).await;
        let sent = sent.map_err(|fault| format!("a snapshot was lost: {}", fault.reason))?;
        for reason in sent.unstorable {
            self.trouble(format!("a position cannot be kept: {reason}"));
        }
        if let Some(receipt) = sent.receipt
            && self.delivery.stored(receipt).await.is_none()
        {
            return Err("a snapshot was lost: it could not be kept".to_owned());
        }
        Ok(())
    }

    /// The share of open interest, both sides of it, that the positions of each coin make up; none of a coin of which more
    /// is held than is open, so that one of the two must be counted otherwise.
    fn shares(
        &self,
        rows: &[PositionRow],
        open: &BTreeMap<String, Decimal>,
    ) -> BTreeMap<String, Option<f64>> {
        let mut held: BTreeMap<&str, Decimal> = BTreeMap::new();
        for row in rows {
            let sum = held.entry(&row.coin).or_default();
            *sum = sum.saturating_add(row.qty);
        }
        let mut odd = BTreeSet::new();
        let shares = held
            .into_iter()
            .map(|(coin, held)| {
                let open = open.get(coin).map_or(0.0, |open| 2.0 * nearest_f64(*open));
                let share = nearest_f64(held) / open;
                let is_one = (0.0..=1.0).contains(&share);
                if open > 0.0 && !is_one {
                    odd.insert(coin.to_owned());
                }
                (coin.to_owned(), is_one.then_some(share))
            })
            .collect();
        if !odd.is_empty() {
            let coins: Vec<String> = odd.into_iter().collect();
            self.trouble(format!("more is held than is open of {}", coins.join(", ")));
        }
        shares
    }

    /// The body of the reply to a question, as soon as the allowance lets it be asked. Where the venue refuses (403, 418,
    /// 429) nothing is asked for as long as it says.
    async fn ask(&self, question: &str, weight: u32) -> Result<String, String> {
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
                    let fault = format!("{address} answers {status}");
                    let said = retry_after(reply.headers())
                        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    match status {
                        403 | 418 | 429 => {
                            self.note(|status| status.refused += 1);
                            (fault, cooldown_length(said, backoff.next()))
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
    fn a_tape_that_is_lost_again_and_again_is_said_once_a_minute() {
        let mut notes = PollingNotes::default();
        let now = Millis(5);
        let lost = |number: u32| format!("the tape was lost: {number}");
        assert_eq!(notes.trouble(lost(0), now), Some(lost(0)));
        for number in 1..40 {
            assert_eq!(notes.trouble(lost(number), now), None);
        }
        assert_eq!(notes.status.trouble, Some(lost(39)));
        let sums = notes.troubles.summaries(now.on(Millis::MINUTE));
        assert_eq!(sums, ["the tape was lost: 39 (… 38 more)"]);
    }
}
