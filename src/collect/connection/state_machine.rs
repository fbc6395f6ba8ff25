//! The state machine of one connection: handshake, subscribed, live, lost.
//!
//! Every topic must be acknowledged, the exchange must regularly send a sign of life, and the size of a frame is
//! limited. The content of a frame is decoded by the [`Intake`].
//!
//! A frame may be delayed, and later frames may be lost. A frame therefore proves only the receipt of frames that were
//! sent before the ping that it answers, or before the event that it contains.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Error as WebSocketError, Message};

use crate::collect::connection::handshake::{Socket, open};
use crate::collect::connection::heartbeat::HeartbeatMonitor;
use crate::collect::connection::pings::{Pings, ping_time};
use crate::collect::connection::subscriptions::{ControlStatus, RefusalOutcome, Subscriptions};
use crate::collect::feed_group::feed_group::Membership;
use crate::collect::feed_group::liveness::Liveness;
use crate::collect::feed_group::sequence::Sequences;
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::collect::settings::settings::{span, span_or};
use crate::feeds::{
    ConnectionPlan, Control, Error, FrameKind, LifeSign, PingMessage, text, unzipped,
};
use crate::model::Millis;
use crate::net::{Backoff, Connector};

/// Time limit of the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for the next message of a control stream; the slowest stream sends one every three seconds.
const NEXT_CONTROL: Duration = Duration::from_millis(3200);
/// A closing connection waits for a control stream only if its allowed silence is at most this long.
const FREQUENT: Duration = Duration::from_secs(30);
/// Minimum time that a sequence number may be late: frames of one moment may be sent in any order.
const MIN_LATENESS: Duration = Duration::from_secs(1);

/// Why a socket was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) reason: String,
    /// The instant up to which everything was received; `None` if the socket was never live.
    pub(crate) proven_until: Option<Millis>,
}

/// Redundant connections deliver the same event at most this far apart.
const REDUNDANT_DELAY: Duration = Duration::from_secs(5);

/// A signal to a socket: whether it must end, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// The socket continues.
    #[default]
    Run,
    /// The socket counts as lost, for this reason.
    Restart(String),
    Close,
}

/// Opens the socket of the connection plan `plan` and runs it until it is lost or stopped.
///
/// Sends the uncovered topics through `uncovered`, first when the socket becomes live, then whenever they change. A
/// connection with a control stream is not live before the first message of that stream.
pub(crate) async fn run(
    intake: Arc<Intake>,
    connector: Connector,
    plan: ConnectionPlan,
    membership: Membership,
    uncovered: mpsc::UnboundedSender<BTreeSet<String>>,
    mut stop: watch::Receiver<StopSignal>,
) -> Loss {
    let never = |reason: String| Loss {
        reason,
        proven_until: None,
    };
    tokio::select! {
        () = intake.context.cooldowns.wait(plan.host) => {}
        () = stopped(&mut stop) => return never("closed".to_owned()),
    }
    let patience = span(intake.context.settings.pace.connect);
    let opening = tokio::time::timeout(patience, open(&intake.context, &connector, &plan));
    let stream = tokio::select! {
        opened = opening => match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(reason)) => return never(format!("no connection: {reason}")),
            Err(_) => {
                let late = format!("no connection within {} s", patience.as_secs_f64());
                intake.context.board.attempted::<()>(Err(&late));
                return never(late);
            }
        },
        () = stopped(&mut stop) => return never("closed".to_owned()),
    };
    intake.context.board.notes().status.connections += 1;
    StateMachine::new(intake, plan, membership, uncovered, stream)
        .run(stop)
        .await
}

/// Waits until the socket must end or the sender is dropped.
async fn stopped(stop: &mut watch::Receiver<StopSignal>) {
    let _ = stop.wait_for(|stop| *stop != StopSignal::Run).await;
}

struct StateMachine {
    intake: Arc<Intake>,
    plan: ConnectionPlan,
    membership: Membership,
    stream: Socket,
    uncovered: mpsc::UnboundedSender<BTreeSet<String>>,
    is_live: bool,
    liveness: Liveness,
    /// Whether every subscription request was answered, or the time limit for answers is over.
    is_settled: bool,
    /// When uncovered topics are requested again.
    resubscribe_at: Option<Instant>,
    resubscribe: Backoff,
    subscriptions: Subscriptions,
    sequences: Sequences,
    next_request: Instant,
    next_ping: Instant,
    /// When the wait for missing acknowledgements ends.
    acknowledge_by: Instant,
    heartbeat: HeartbeatMonitor,
    opened: Millis,
    pings: Pings,
    /// The instant up to which everything was received.
    proven_until: Option<Millis>,
}

impl StateMachine {
    fn new(
        intake: Arc<Intake>,
        plan: ConnectionPlan,
        membership: Membership,
        uncovered: mpsc::UnboundedSender<BTreeSet<String>>,
        stream: Socket,
    ) -> Self {
        let now = Instant::now();
        let times = intake.context.settings.pace;
        let messages = u32::try_from(plan.batches.len()).unwrap_or(u32::MAX);
        let heartbeat = intake.context.venue.heartbeat();
        let next_request = intake.context.pacer.reserve(now);
        Self {
            subscriptions: Subscriptions::of(&plan),
            sequences: Sequences::new(
                intake
                    .context
                    .venue
                    .numbers_late()
                    .unwrap_or_default()
                    .max(MIN_LATENESS)
                    .min(span(times.acknowledge)),
            ),
            next_request,
            next_ping: now + span_or(times.ping, heartbeat.every),
            acknowledge_by: next_request + plan.between * messages + span(times.acknowledge),
            heartbeat: HeartbeatMonitor::new(
                &heartbeat,
                &times,
                now,
                plan.control != Control::None,
            ),
            opened: intake.context.clock.now(),
            pings: Pings::default(),
            proven_until: None,
            uncovered,
            is_live: false,
            liveness: Liveness::new(plan.control),
            is_settled: false,
            resubscribe_at: None,
            resubscribe: Backoff::new(span(times.resubscribe), span(times.resubscribe) * 8),
            intake,
            plan,
            membership,
            stream,
        }
    }

    async fn run(mut self, mut stop: watch::Receiver<StopSignal>) -> Loss {
        let reason = match self.greet().await {
            Ok(()) => self.receive(&mut stop).await,
            Err(reason) => reason,
        };
        // A dropped sender counts as an intended close.
        let is_wanted = *stop.borrow() == StopSignal::Close || stop.has_changed().is_err();
        self.shut_down(is_wanted).await;
        self.record_losses(None);
        let behind_since = self.behind_since(REDUNDANT_DELAY).or(self.proven_until);
        let proven_until = self.proven_until.min(behind_since);
        Loss {
            reason,
            proven_until,
        }
    }

    /// Closes the socket. On an intended close, frames in transit are received first. The exchange's close frame comes
    /// after them, so it proves their receipt.
    async fn shut_down(&mut self, is_wanted: bool) {
        let at = self.intake.context.clock.now();
        if is_wanted {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.ping()).await;
            // With a control stream, a pong proves nothing until another message of that stream follows, so the loop
            // waits for it.
            let within = self
                .intake
                .context
                .venue
                .heartbeat()
                .within(LifeSign::Control);
            let is_frequent = within.is_some_and(|within| within <= FREQUENT);
            let deadline = Instant::now() + NEXT_CONTROL;
            while self.liveness.is_watched()
                && is_frequent
                && self.is_live
                && self.proven_until < Some(at)
                && let Ok(Some(Ok(message))) =
                    tokio::time::timeout_at(deadline, self.stream.next()).await
                && self.on_message(message).await.is_ok()
            {}
        }
        // After a loss the peer may be gone, so no answer to the close frame is awaited.
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let sent = tokio::time::timeout_at(deadline, self.stream.close(None)).await;
        if !is_wanted || !matches!(sent, Ok(Ok(()))) {
            return;
        }
        while let Ok(Some(Ok(message))) =
            tokio::time::timeout_at(deadline, self.stream.next()).await
        {
            if message.is_close() && !self.liveness.is_watched() {
                self.prove(at);
            }
            // The connection is closing, so errors are ignored.
            let _ = self.on_message(message).await;
        }
    }

    async fn greet(&mut self) -> Result<(), String> {
        for greeting in self.intake.context.venue.greeting() {
            self.send(Message::text(*greeting)).await?;
        }
        // If the URL itself subscribes, the exchange may have answered already.
        self.on_timer().await
    }

    /// The time of this connection's last event, if the other connection has had newer events for `patience`.
    fn behind_since(&self, patience: Duration) -> Option<Millis> {
        let (group, slot) = (locked(&self.membership.group), self.membership.slot);
        let at = group.stale_at(slot, patience)?;
        group.behind_since(slot).filter(|_| at <= Instant::now())
    }

    /// Receives frames until the connection is lost or stopped. Returns the reason of its end.
    async fn receive(&mut self, stop: &mut watch::Receiver<StopSignal>) -> String {
        let prove = Arc::clone(&self.membership.prove);
        loop {
            let due = self.due();
            let event = tokio::select! {
                biased;
                () = stopped(stop) => {
                    return match &*stop.borrow() {
                        StopSignal::Restart(reason) => {
                            // A stale connection answers pings but sends no events, so only its events prove receipt.
                            let of_exchange = || self.intake.context.board.notes().last_event_at;
                            let own = self.behind_since(Duration::ZERO);
                            let last_event = own.or_else(of_exchange).or(Some(self.opened));
                            self.proven_until = self.proven_until.min(last_event);
                            reason.clone()
                        }
                        StopSignal::Run | StopSignal::Close => "closed".to_owned(),
                    };
                }
                () = tokio::time::sleep_until(due) => self.on_timer().await,
                () = prove.notified(), if self.is_live => self.ping().await,
                message = self.stream.next() => match message {
                    Some(Ok(message)) => self.on_message(message).await,
                    Some(Err(error)) => Err(self.on_error(&error)),
                    None => Err("the connection was closed".to_owned()),
                },
            };
            if let Err(reason) = event {
                return reason;
            }
        }
    }

    /// When the next timer fires.
    fn due(&self) -> Instant {
        let request = self
            .subscriptions
            .has_requests()
            .then_some(self.next_request);
        let give_up = (!self.is_live && !self.is_settled).then_some(self.acknowledge_by);
        let timers = [
            self.heartbeat.next_check(),
            request,
            give_up,
            self.resubscribe_at,
            self.sequences.next_due(),
        ];
        timers
            .into_iter()
            .flatten()
            .fold(self.next_ping, Instant::min)
    }

    async fn on_timer(&mut self) -> Result<(), String> {
        let now = Instant::now();
        self.record_losses(Some(now));
        if let Some(missing) = self.heartbeat.check(now)
            && !(missing.sign == LifeSign::Control && self.is_control_ignored())
        {
            // Other signs of life may have arrived since then, but they do not prove receipt in place of the missing
            // sign.
            let since = i64::try_from(missing.since.as_millis()).unwrap_or(i64::MAX);
            self.proven_until = self
                .proven_until
                .min(Some(self.intake.context.clock.now().back(since)));
            return Err(format!(
                "no {} for {} s",
                missing.sign.name(),
                missing.within.as_secs_f64()
            ));
        }
        if now >= self.next_request
            && let Some((number, topics)) = self.subscriptions.next()
        {
            self.schedule_request(now + self.plan.between);
            let venue = self.intake.context.venue;
            let text = venue.subscription(number, &topics, self.intake.context.clock.now());
            // The text is empty if the URL itself subscribes.
            if !text.is_empty() {
                self.send(Message::text(text)).await?;
            }
        }
        if now >= self.next_ping {
            let every = span_or(
                self.intake.context.settings.pace.ping,
                self.intake.context.venue.heartbeat().every,
            );
            self.next_ping = now + every;
            self.ping().await?;
        }
        if self.resubscribe_at.is_some_and(|at| now >= at) {
            self.subscriptions.retry_uncovered();
            self.schedule_request(now);
            self.resubscribe_at = Some(now + self.resubscribe.next());
        }
        if !self.is_live && !self.is_settled && now >= self.acknowledge_by {
            if self.subscriptions.cover_nothing() {
                return Err(format!(
                    "no subscription was acknowledged within {} s",
                    self.intake.context.settings.pace.acknowledge
                ));
            }
            self.go_live();
        }
        Ok(())
    }

    /// Whether the exchange ignores the control stream's topic on this socket and on several earlier ones. If so, the
    /// connection continues without the control stream.
    fn is_control_ignored(&mut self) -> bool {
        if !self.intake.context.venue.answers_steady() || !self.subscriptions.is_control_ignored() {
            return false;
        }
        if !self.membership.ignored_control.is_certain() {
            self.membership.ignored_control.count();
            return false;
        }
        self.drop_control("was neither acknowledged nor sent");
        true
    }

    /// Schedules the next subscription request at `least` or later, and extends the time limit for its answer.
    fn schedule_request(&mut self, least: Instant) {
        self.next_request = least;
        if self.subscriptions.has_requests() {
            self.next_request = self.intake.context.pacer.reserve(least);
            let patience = span(self.intake.context.settings.pace.acknowledge);
            self.acknowledge_by = self.acknowledge_by.max(self.next_request + patience);
        }
    }

    async fn ping(&mut self) -> Result<(), String> {
        let number = self
            .pings
            .send(self.intake.context.clock.now(), Instant::now());
        let message = match self.intake.context.venue.heartbeat().beat {
            PingMessage::Protocol => Message::Ping(number.to_be_bytes().to_vec().into()),
            PingMessage::Text(text) => Message::text(text),
            PingMessage::Stamped(before, behind) => {
                let seconds = self.intake.context.clock.now().0 / 1000;
                Message::text(format!("{before}{seconds}{behind}"))
            }
        };
        self.send(message).await
    }

    async fn send(&mut self, message: Message) -> Result<(), String> {
        let patience = span(self.intake.context.settings.pace.connect);
        match tokio::time::timeout(patience, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the connection broke: {error}")),
            Err(_) => Err(format!(
                "nothing could be sent for {} s",
                patience.as_secs_f64()
            )),
        }
    }

    async fn on_message(&mut self, message: Message) -> Result<(), String> {
        match message {
            Message::Text(text) => self.on_text(text.as_str()).await,
            Message::Binary(bytes) => {
                let unzipped = unzipped(&bytes, self.intake.context.settings.frame_bytes);
                let text = match &unzipped {
                    Ok(bytes) => text(bytes),
                    Err(fault) => Err(fault.clone()),
                };
                match text {
                    Ok(text) => self.on_text(text).await,
                    Err(fault) => {
                        self.reject(&String::from_utf8_lossy(&bytes), fault);
                        Ok(())
                    }
                }
            }
            Message::Pong(token) => {
                self.heartbeat.on_sign(LifeSign::Pong, Instant::now());
                let number = token.as_ref().try_into().map(u64::from_be_bytes);
                self.on_pong(number.ok());
                Ok(())
            }
            // The WebSocket library sends the pong at the next read.
            Message::Ping(_) => {
                self.heartbeat.on_sign(LifeSign::Ping, Instant::now());
                Ok(())
            }
            Message::Close(frame) => Err(match frame {
                Some(frame) if !frame.reason.is_empty() => {
                    format!("closed by the exchange: {} {}", frame.code, frame.reason)
                }
                Some(frame) => format!("closed by the exchange: {}", frame.code),
                None => "closed by the exchange".to_owned(),
            }),
            Message::Frame(_) => Ok(()),
        }
    }

    /// Records losses that the sequence numbers of the exchange show.
    fn record_losses(&mut self, now: Option<Instant>) {
        for hole in self.sequences.take_lost(now) {
            self.intake
                .coverage
                .sequence_hole(&self.plan.name, &self.membership, &hole);
        }
    }

    fn reject(&self, text: &str, fault: Error) {
        self.intake
            .reject(text, &[fault], self.intake.context.clock.now());
    }

    /// Counts a message that broke the protocol or the size limit; returns the reason of the loss.
    fn on_error(&self, error: &WebSocketError) -> String {
        let is_of_message = matches!(
            error,
            WebSocketError::Capacity(_) | WebSocketError::Utf8(_) | WebSocketError::Protocol(_)
        );
        let is_reset = matches!(
            error,
            WebSocketError::Protocol(
                tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake
            )
        );
        if is_of_message && !is_reset {
            self.reject("", Error::whole(error.to_string()));
        }
        format!("the connection broke: {error}")
    }

    async fn on_text(&mut self, text: &str) -> Result<(), String> {
        let subscriptions = &self.subscriptions;
        let (sent, all_taken) = (subscriptions.sent(), subscriptions.are_settled());
        let sequences = &mut self.sequences;
        let received = self.intake.context.clock.now();
        let membership = &self.membership;
        let intake = self
            .intake
            .receive_frame(text, sent, all_taken, sequences, membership, received);
        let (message, events) = intake.await;
        self.record_losses(Some(Instant::now()));
        if events.has_events {
            locked(&self.membership.group).on_events(self.membership.slot, events.news, received);
            if !events.is_past {
                // Some exchanges send heartbeats only while there are no events, so events count as heartbeats.
                if self.plan.control == Control::ByItself {
                    self.heartbeat.on_sign(LifeSign::Control, Instant::now());
                }
                self.on_traffic();
            }
        }
        if let Some(last) = events.last {
            self.prove(last);
        }
        match message {
            FrameKind::Ping(answer) => {
                self.heartbeat.on_sign(LifeSign::Ping, Instant::now());
                if let Some(at) = self.liveness.on_answer(ping_time(&answer)) {
                    self.prove(at);
                }
                return self.send(Message::text(answer)).await;
            }
            FrameKind::Pong => {
                self.heartbeat.on_sign(LifeSign::Pong, Instant::now());
                self.on_pong(None);
            }
            FrameKind::Control => {
                // Control messages may arrive several times a second, so the status board is only updated on a change.
                if !self.liveness.is_watched() && self.plan.control != Control::None {
                    self.liveness.restore();
                    self.intake.context.board.clear_unwatched(&self.plan.name);
                }
                if self.subscriptions.set_control(ControlStatus::Taken)
                    != Some(ControlStatus::Taken)
                {
                    self.membership.ignored_control.reset();
                }
                self.heartbeat.on_sign(LifeSign::Control, Instant::now());
                self.on_traffic();
            }
            FrameKind::Data | FrameKind::Other => {}
            FrameKind::Ack { topics } => {
                if self.subscriptions.acknowledge(&topics) {
                    self.on_answer();
                }
                if !self.subscriptions.is_control_open() {
                    self.membership.ignored_control.reset();
                }
            }
            FrameKind::Refused { topics, message } => self.on_refusal(&topics, &message)?,
            FrameKind::Notice(notice) => {
                return Err(format!("the exchange will close the connection: {notice}"));
            }
        }
        Ok(())
    }

    fn on_refusal(&mut self, topics: &[String], message: &str) -> Result<(), String> {
        let board = &self.intake.context.board;
        match self.subscriptions.refuse(topics) {
            RefusalOutcome::Unknown => board.trouble(format!("a request was refused: {message}")),
            RefusalOutcome::Topic(topic) => {
                board.trouble(format!("{topic} was refused: {message}"));
            }
            RefusalOutcome::Control => self.drop_control(&format!("was refused: {message}")),
            RefusalOutcome::Halved => self.acknowledge_by += self.plan.between * 2,
        }
        self.on_answer();
        if self.subscriptions.are_refused() {
            return Err(format!("every subscription was refused: {message}"));
        }
        Ok(())
    }

    /// Handles the answer to a subscription; the last missing answer makes the connection live unless
    /// other messages are still missing.
    fn on_answer(&mut self) {
        if self.subscriptions.is_control_refused() {
            self.drop_control("was refused by a message that names no topic");
        }
        if self.subscriptions.are_settled() && !self.subscriptions.cover_nothing() {
            self.go_live();
        } else if self.is_live {
            self.send_uncovered();
        }
    }

    /// Makes the connection live, unless the first message of the control stream is missing.
    fn go_live(&mut self) {
        self.is_settled = true;
        if self.liveness.is_awaited() {
            return;
        }
        if !self.is_live {
            // Coverage begins here. The first ping is sent immediately.
            self.proven_until = Some(self.intake.context.clock.now());
            self.next_ping = Instant::now();
        }
        self.is_live = true;
        self.send_uncovered();
    }

    /// Reports the uncovered topics, and schedules another request for them.
    fn send_uncovered(&mut self) {
        let uncovered = self.subscriptions.uncovered();
        let is_refused = |(_, status)| status == ControlStatus::Refused;
        if uncovered.is_empty() && !self.subscriptions.control().is_some_and(is_refused) {
            self.resubscribe_at = None;
        } else if self.resubscribe_at.is_none() {
            self.resubscribe_at = Some(Instant::now() + self.resubscribe.next());
        }
        let _ = self.uncovered.send(uncovered);
    }

    /// Handles a pong. It answers the ping with its number, or the oldest ping if it has no number.
    fn on_pong(&mut self, number: Option<u64>) {
        let (at, by) = (self.intake.context.clock.now(), Instant::now());
        let sent = self.pings.on_pong(number, at, by);
        if let Some(sent) = self.liveness.on_answer(sent) {
            self.prove(sent);
        }
    }

    /// Handles the arrival of an event or a control message.
    fn on_traffic(&mut self) {
        let was_awaited = self.liveness.is_awaited();
        if let Some(sent) = self.liveness.on_traffic() {
            self.prove(sent);
        }
        if was_awaited && self.is_settled {
            self.go_live();
        }
    }

    /// Continues without a control stream: from now on, only answers to pings show that the exchange is alive.
    fn drop_control(&mut self, why: &str) {
        let Some((topic, _)) = self.subscriptions.control() else {
            return;
        };
        self.subscriptions.set_control(ControlStatus::Refused);
        if !self.liveness.is_watched() {
            return;
        }
        self.intake
            .coverage
            .no_heartbeat(&self.plan.name, topic, why);
        self.heartbeat
            .stop_expecting(LifeSign::Control, Instant::now());
        if let Some(sent) = self.liveness.drop_control() {
            self.prove(sent);
        }
        if self.is_settled {
            self.go_live();
        }
    }

    /// Records that everything sent up to `at` was received.
    fn prove(&mut self, at: Millis) {
        // Frames that waited while this process was suspended prove nothing.
        if !self.intake.context.clock.is_present() || !self.is_live {
            return;
        }
        let at = at.min(self.intake.context.clock.now());
        self.proven_until = self.proven_until.max(Some(at));
        // While the sequence has a hole, the feed group gets no proof.
        if !self.sequences.is_waiting()
            && let Some(at) = self.proven_until
        {
            locked(&self.membership.group).prove(self.membership.slot, at);
        }
    }
}
