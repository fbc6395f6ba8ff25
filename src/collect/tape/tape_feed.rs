//! The live tape of liquidations: connects, watches makers, stores liquidations, and records the coverage.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, sleep_until};

use crate::archive::{
    Batch, Gap, GapCause, GapOutcome, GapState, Measurement, MeasurementKind, PendingExchange,
    SessionId,
};
use crate::collect::delivery::dedupe_keys::EventOrigin;
use crate::collect::delivery::delivery::{Delivery, NotTaken};
use crate::collect::intake::order_check::order_row;
use crate::collect::positions::account_socket::{AccountSocket, SILENCE};
use crate::collect::positions::polling::PositionPoller;
use crate::collect::settings::settings::{millis, span};
use crate::collect::status::status_board::StatusBoard;
use crate::collect::tape::liquidation_tape::{LiquidationTape, Rotation};
use crate::collect::venue_tasks::is_set;
use crate::feeds::Completeness;
use crate::feeds::hyperliquid::{
    AccountMessage, AccountTrade, EXCHANGE, account_message, fills_of, trades_of,
};
use crate::model::Millis;

/// Wait before the first choice of makers on a connection; each later wait is twice as long.
const FIRST_ROTATION: Duration = Duration::from_secs(1);
/// Maximum wait between two choices of makers.
const ROTATION: Duration = Duration::from_mins(10);
/// Time between two records of the recall.
const RECALL: Duration = Duration::from_hours(1);
/// Name of the feed in the status.
const FEED: &str = "tape";

/// The live tape of one exchange.
pub(crate) struct TapeFeed {
    /// Sends requests, within the rate limit of the exchange.
    client: Arc<PositionPoller>,
    delivery: Delivery,
    /// The coins to collect; `None` for all.
    coins: Option<Vec<String>>,
    since: Millis,
    pub(crate) board: StatusBoard,
}

/// What outlasts a connection.
struct TapeState {
    tape: LiquidationTape,
    session: Option<SessionId>,
    is_live: bool,
    /// The instant up to which liquidations were received.
    covered_until: Millis,
    recall_at: Instant,
}

impl TapeFeed {
    pub(crate) fn new(
        client: &Arc<PositionPoller>,
        delivery: Delivery,
        coins: Option<Vec<String>>,
    ) -> Self {
        Self {
            client: Arc::clone(client),
            delivery,
            coins,
            since: client.clock.now(),
            board: StatusBoard::new(EXCHANGE),
        }
    }

    /// Stores liquidations until `stop`.
    pub(crate) async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let pace = &self.client.settings.pace;
        let mut backoff = pace.backoff();
        let mut state = TapeState {
            tape: LiquidationTape::default(),
            session: None,
            is_live: false,
            covered_until: self.since,
            recall_at: Instant::now() + RECALL,
        };
        loop {
            let began = Instant::now();
            let lost = tokio::select! {
                Err(lost) = self.follow(&mut state) => lost,
                () = is_set(&mut stop) => break,
            };
            self.on_lost(&mut state, &lost);
            if began.elapsed() >= span(pace.healthy) {
                backoff.reset();
            }
            tokio::select! {
                () = sleep(backoff.next()) => {}
                () = is_set(&mut stop) => break,
            }
        }
        self.record_seen(&state);
        state.tape.close();
        self.record_recall(&mut state);
        self.board.notes().stopped = true;
    }

    /// Opens a connection and subscribes to the trades. Returns it with the number of coins.
    async fn connect(&self) -> Result<(AccountSocket, usize), String> {
        let coins = if let Some(coins) = &self.coins {
            self.client.native_names(coins).await?
        } else {
            let listed = self.client.listed_coins().await?;
            listed.into_iter().map(|coin| coin.native).collect()
        };
        if coins.is_empty() {
            return Err("the exchange lists none of the coins".to_owned());
        }
        let mut socket = AccountSocket::open(&self.client.settings, &self.client.http).await?;
        for coin in &coins {
            socket.send(&trades_of(coin)).await?;
        }
        Ok((socket, coins.len()))
    }

    /// Runs one connection; the error is the reason of its loss.
    async fn follow(&self, state: &mut TapeState) -> Result<Infallible, String> {
        let connected = self.connect().await;
        self.board
            .attempted(connected.as_ref().map_err(String::as_str));
        let (mut socket, coins) = connected?;
        self.board.notes().status.connections += 1;
        let mut unanswered = coins;
        let mut checkpoints = interval(span(self.client.settings.pace.checkpoint));
        let mut wait = FIRST_ROTATION;
        let mut rotation_at = Instant::now() + wait;
        loop {
            tokio::select! {
                text = socket.next() => {
                    let answers = self.on_message(&text?, state).await;
                    unanswered = unanswered.saturating_sub(answers);
                    if !state.is_live && unanswered == 0 && state.tape.watched() > 0 {
                        self.on_live(state, coins).await;
                    }
                }
                _ = checkpoints.tick() => {
                    self.record_seen(state);
                    if state.recall_at <= Instant::now() {
                        state.recall_at += RECALL;
                        self.record_recall(state);
                    }
                }
                () = sleep_until(rotation_at) => {
                    wait = ROTATION.min(2 * wait);
                    rotation_at += wait;
                    let Rotation { begin, end } = state.tape.rotate(self.client.clock.now());
                    // The exchange limits the number of accounts, so the old ones are ended first.
                    for (accounts, is_begin) in [(end, false), (begin, true)] {
                        for account in accounts {
                            socket.send(&fills_of(&account, is_begin)).await?;
                        }
                    }
                }
            }
        }
    }

    /// Handles a message. Returns the number of subscriptions to trades that it answers.
    async fn on_message(&self, text: &str, state: &mut TapeState) -> usize {
        let now = self.client.clock.now();
        let mut answers = 0;
        let found = match account_message(text) {
            Ok(AccountMessage::Trades(trades)) => state.tape.add_trades(trades, now),
            Ok(AccountMessage::Fills { account, fills }) => {
                state.tape.add_fills(&account, &fills, now)
            }
            Ok(AccountMessage::Subscribed(kind)) => {
                answers = usize::from(kind == "trades");
                Vec::new()
            }
            Ok(AccountMessage::Refused(reason)) => {
                self.board.trouble(format!("refused: {reason}"));
                answers = 1;
                Vec::new()
            }
            Ok(AccountMessage::Other) => Vec::new(),
            Err(fault) => {
                self.board.notes().status.rejected += 1;
                self.board.trouble(format!("unreadable: {fault}"));
                Vec::new()
            }
        };
        self.store(found, now).await;
        if state.is_live {
            state.covered_until = now;
        }
        self.board.notes().status.last_received = Some(now);
        answers
    }

    /// Stores trades that are liquidations.
    async fn store(&self, found: Vec<AccountTrade>, now: Millis) {
        let mut orders = Vec::with_capacity(found.len());
        for trade in found {
            match trade.liquidation() {
                Ok(event) => orders.extend(order_row(event, Completeness::Sampled, None, now)),
                Err(fault) => self.board.trouble(format!("unreadable: {fault}")),
            }
        }
        let Some(last) = orders.iter().map(|row| row.order.timestamp).max() else {
            return;
        };
        self.board.count(now, orders.len() as u64);
        {
            let mut notes = self.board.notes();
            notes.last_event_at = Some(now);
            notes.status.last_event = notes.status.last_event.max(Some(last));
            notes.status.lag = Some(now.0 - last.0);
        }
        let batch = Batch {
            orders,
            ..Batch::default()
        };
        match self.delivery.rows(batch, EventOrigin::Live).await {
            Ok(unstorable) => {
                for reason in unstorable {
                    self.board.trouble(format!("unstorable: {reason}"));
                }
            }
            Err(NotTaken { batch, reason }) => {
                self.board.notes().status.lost += batch.orders.len() as u64;
                let times = batch.orders.iter().map(|row| row.order.timestamp);
                self.record_gap(times.min().unwrap_or(now), last.on(1), &reason);
            }
        }
    }

    /// Begins the session, or ends the gap since the last connection.
    async fn on_live(&self, state: &mut TapeState, coins: usize) {
        let now = self.client.clock.now();
        if state.session.is_some() {
            let reason = self.board.notes().status.trouble.clone();
            self.record_gap(state.covered_until, now, &reason.unwrap_or_default());
        } else {
            let late = span(self.client.settings.pace.checkpoint) * 3 + SILENCE;
            let late = millis(late.as_secs_f64());
            state.session = self
                .delivery
                .begin(EXCHANGE, Completeness::Sampled, now, late)
                .await;
        }
        (state.is_live, state.covered_until) = (true, now);
        let mut notes = self.board.notes();
        let feed = notes.groups.entry(FEED.to_owned()).or_default();
        (feed.is_live, feed.was_live) = (true, true);
        (feed.sockets, feed.wanted, feed.topics) = (1, 1, coins);
    }

    fn on_lost(&self, state: &mut TapeState, lost: &str) {
        self.record_seen(state);
        state.is_live = false;
        state.tape.disconnect();
        self.board.trouble(format!("lost: {lost}"));
        let mut notes = self.board.notes();
        let feed = notes.groups.entry(FEED.to_owned()).or_default();
        (feed.is_live, feed.sockets, feed.wanted) = (false, 0, 1);
        if state.session.is_none() {
            self.delivery.note(Batch {
                pending: vec![PendingExchange {
                    exchange: EXCHANGE.to_owned(),
                    since: self.since,
                    until: self.client.clock.now(),
                    why: Some(lost.to_owned()),
                }],
                ..Batch::default()
            });
        }
    }

    /// Records the instant up to which liquidations were received.
    fn record_seen(&self, state: &TapeState) {
        if let (Some(session), true) = (state.session, state.is_live) {
            self.delivery.note_seen(session, state.covered_until);
        }
    }

    /// Records a gap. The exchange publishes no past trades, so it is not backfilled.
    fn record_gap(&self, start: Millis, end: Millis, reason: &str) {
        let (end, recorded_at) = (end.max(start.on(1)), self.client.clock.now());
        self.board.note_gap(reason);
        self.delivery.note(Batch {
            gaps: vec![Gap {
                exchange: EXCHANGE.to_owned(),
                start,
                end,
                cause: GapCause::Observed,
                holds: None,
                reason: reason.to_owned(),
                recorded_at,
            }],
            outcomes: vec![GapOutcome {
                exchange: EXCHANGE.to_owned(),
                start,
                end,
                outcome: GapState::Lost,
                rows: 0,
                how: "the exchange publishes no past liquidations".to_owned(),
                recorded_at,
            }],
            ..Batch::default()
        });
    }

    /// Records the liquidated USD since the last record, found and estimated.
    fn record_recall(&self, state: &mut TapeState) {
        let Some(usd) = state.tape.take_liquidated() else {
            return;
        };
        let at = self.client.clock.now();
        let mark = |kind, usd| Measurement {
            exchange: EXCHANGE.to_owned(),
            kind,
            at,
            value: cents(usd),
        };
        self.delivery.note(Batch {
            measurements: vec![
                mark(MeasurementKind::ComparedCents, usd.found),
                mark(MeasurementKind::VenueCents, usd.estimated),
            ],
            ..Batch::default()
        });
    }
}

impl std::fmt::Debug for TapeFeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TapeFeed").finish_non_exhaustive()
    }
}

/// Converts USD to cents.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn cents(usd: f64) -> i64 {
    (usd * 100.0).round() as i64
}
