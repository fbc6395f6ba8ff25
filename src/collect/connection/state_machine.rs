//! One socket of a venue, from its opening until it is lost.
//!
//! Every topic has to be acknowledged, every connection has to prove again and again that the other end lives, and a frame
//! may only be so large. What a frame says is left to the [`Intake`].
//!
//! What comes may have been long on its way, and what was said since then be lost. So a frame proves that everything was
//! heard that was said before it was: before the ping that it answers, or before the event that it tells.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Error as WebSocketError, Message};

use crate::collect::connection::handshake::{Socket, open};
use crate::collect::connection::redundancy::Place;
use crate::collect::connection::sequence::Sequences;
use crate::collect::health::heartbeat::HeartbeatMonitor;
use crate::collect::health::liveness::Liveness;
use crate::collect::health::pings::{Pings, said_at};
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::collect::settings::{span, span_or};
use crate::collect::subscription::subscriptions::{ControlStatus, RefusalOutcome, Subscriptions};
use crate::feeds::{Beat, Control, Error, Heard, Line, Sign, text, unzipped};
use crate::model::Millis;
use crate::net::{Backoff, Connector};

/// How long a close is waited for.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long it is waited for what a control stream tells next: one tells each three seconds.
const IN_TURN: Duration = Duration::from_millis(3200);
/// The silence of a control stream that may tell within that time.
const SOON: Duration = Duration::from_secs(30);
/// How much later than the next of them a number may come, whatever the venue promises: frames of one moment may be sent
/// in any order.
const IN_ANY_ORDER: Duration = Duration::from_secs(1);

/// Why a socket is no more, and until when it certainly listened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) reason: String,
    /// Until when all that was said was heard; absent where it never listened.
    pub(crate) last_sign: Option<Millis>,
}

/// What one of two has told the other tells within so long.
const IN_TIME: Duration = Duration::from_secs(5);

/// What ends a socket from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing: it goes on.
    #[default]
    Listen,
    /// It is to be given up and opened anew, for this reason.
    Renew(String),
    /// It is to be closed.
    Close,
}

/// Opens `line`, listens on it until it is lost, and says through `covers` which topics it does not cover: once it covers
/// what it can, and whenever that has changed. Where there is a control stream, that is not before it is heard.
pub(crate) async fn listen(
    intake: Arc<Intake>,
    connector: Connector,
    line: Line,
    place: Place,
    covers: mpsc::UnboundedSender<BTreeSet<String>>,
    mut ending: watch::Receiver<Ending>,
) -> Loss {
    let never = |reason: String| Loss {
        reason,
        last_sign: None,
    };
    tokio::select! {
        () = intake.context.cooldowns.over(line.host) => {}
        () = ended(&mut ending) => return never("closed".to_owned()),
    }
    let patience = span(intake.context.settings.pace.connect);
    let opening = tokio::time::timeout(patience, open(&intake.context, &connector, &line));
    let stream = tokio::select! {
        opened = opening => match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(reason)) => return never(format!("no connection: {reason}")),
            Err(_) => return never(format!("no connection within {} s", patience.as_secs_f64())),
        },
        () = ended(&mut ending) => return never("closed".to_owned()),
    };
    intake.context.board.notes().status.connections += 1;
    StateMachine::new(intake, line, place, covers, stream)
        .run(ending)
        .await
}

/// Returns once the socket is to end, or nobody is left to say so.
async fn ended(ending: &mut watch::Receiver<Ending>) {
    let _ = ending.wait_for(|ending| *ending != Ending::Listen).await;
}

struct StateMachine {
    intake: Arc<Intake>,
    line: Line,
    place: Place,
    stream: Socket,
    covers: mpsc::UnboundedSender<BTreeSet<String>>,
    /// Whether it has said that it covers what it can.
    is_ready: bool,
    pulse: Liveness,
    /// Whether all was asked for, and answered or waited for long enough.
    is_settled: bool,
    /// When topics that are not covered are asked for again, and after how long the next time.
    again: Option<Instant>,
    patience: Backoff,
    subscriptions: Subscriptions,
    sequences: Sequences,
    next_ask: Instant,
    next_beat: Instant,
    give_up_waiting: Instant,
    life: HeartbeatMonitor,
    opened: Millis,
    pings: Pings,
    /// Until when all that was said was heard.
    last_sign: Option<Millis>,
}

impl StateMachine {
    fn new(
        intake: Arc<Intake>,
        line: Line,
        place: Place,
        covers: mpsc::UnboundedSender<BTreeSet<String>>,
        stream: Socket,
    ) -> Self {
        let now = Instant::now();
        let times = intake.context.settings.pace;
        let messages = u32::try_from(line.batches.len()).unwrap_or(u32::MAX);
        let heartbeat = intake.context.venue.heartbeat();
        let next_ask = intake.context.pacer.reserve(now);
        Self {
            subscriptions: Subscriptions::of(&line),
            sequences: Sequences::new(
                intake
                    .context
                    .venue
                    .numbers_late()
                    .unwrap_or_default()
                    .max(IN_ANY_ORDER)
                    .min(span(times.acknowledge)),
            ),
            next_ask,
            next_beat: now + span_or(times.ping, heartbeat.every),
            give_up_waiting: next_ask + line.between * messages + span(times.acknowledge),
            life: HeartbeatMonitor::new(&heartbeat, &times, now, line.control != Control::None),
            opened: intake.context.clock.now(),
            pings: Pings::default(),
            last_sign: None,
            covers,
            is_ready: false,
            pulse: Liveness::new(line.control),
            is_settled: false,
            again: None,
            patience: Backoff::new(span(times.again), span(times.again) * 8),
            intake,
            line,
            place,
            stream,
        }
    }

    async fn run(mut self, mut ending: watch::Receiver<Ending>) -> Loss {
        let reason = match self.greet().await {
            Ok(()) => self.converse(&mut ending).await,
            Err(reason) => reason,
        };
        // Nobody to say that it goes on is as good as a word to close.
        let is_our_wish = *ending.borrow() == Ending::Close || ending.has_changed().is_err();
        self.part(is_our_wish).await;
        self.note_holes(None);
        let mute_since = self.is_mute_since(IN_TIME).or(self.last_sign);
        let last_sign = self.last_sign.min(mute_since);
        Loss { reason, last_sign }
    }

    /// Says farewell. Where it is our wish, what was on its way before the other end heard of it is still taken: its own
    /// farewell comes behind all of that, and proves that all of it was heard.
    async fn part(&mut self, is_our_wish: bool) {
        let at = self.intake.context.clock.now();
        if is_our_wish {
            let _ = tokio::time::timeout(FAREWELL, self.beat()).await;
            // Who answers may be mute: where there is a control stream it has to go on behind the answer. One that tells more
            // rarely than that is not waited for.
            let within = self.intake.context.venue.heartbeat().within(Sign::Control);
            let is_soon = within.is_some_and(|within| within <= SOON);
            let deadline = Instant::now() + IN_TURN;
            while self.pulse.is_watched()
                && is_soon
                && self.is_ready
                && self.last_sign < Some(at)
                && let Ok(Some(Ok(message))) =
                    tokio::time::timeout_at(deadline, self.stream.next()).await
                && self.on_message(message).await.is_ok()
            {}
        }
        // It is a courtesy otherwise: the other end may be long gone.
        let deadline = Instant::now() + FAREWELL;
        let said = tokio::time::timeout_at(deadline, self.stream.close(None)).await;
        if !is_our_wish || !matches!(said, Ok(Ok(()))) {
            return;
        }
        while let Ok(Some(Ok(message))) =
            tokio::time::timeout_at(deadline, self.stream.next()).await
        {
            if message.is_close() && !self.pulse.is_watched() {
                self.proves(at);
            }
            // Nothing can be answered any more, and nothing needs to be.
            let _ = self.on_message(message).await;
        }
    }

    async fn greet(&mut self) -> Result<(), String> {
        for greeting in self.intake.context.venue.greeting() {
            self.say(Message::text(*greeting)).await?;
        }
        // Where the path of the socket asked for it, the answer may be there already.
        self.on_time().await
    }

    /// Since when it tells nothing, where another has told news for longer than `patience`.
    fn is_mute_since(&self, patience: Duration) -> Option<Millis> {
        let (ears, ear) = (locked(&self.place.ears), self.place.ear);
        let at = ears.is_mute_at(ear, patience)?;
        ears.is_mute_since(ear).filter(|_| at <= Instant::now())
    }

    /// Listens until there is a reason to stop.
    async fn converse(&mut self, ending: &mut watch::Receiver<Ending>) -> String {
        let proof = Arc::clone(&self.place.proof);
        loop {
            let due = self.due();
            let step = tokio::select! {
                biased;
                () = ended(ending) => {
                    return match &*ending.borrow() {
                        Ending::Renew(reason) => {
                            // It answered all the while and told nothing: only events prove what was heard.
                            let of_venue = || self.intake.context.board.notes().last_event_at;
                            let own = self.is_mute_since(Duration::ZERO);
                            let last_event = own.or_else(of_venue).or(Some(self.opened));
                            self.last_sign = self.last_sign.min(last_event);
                            reason.clone()
                        }
                        Ending::Listen | Ending::Close => "closed".to_owned(),
                    };
                }
                () = tokio::time::sleep_until(due) => self.on_time().await,
                // Another is lost, or back: the sooner this one proves what it heard, the less is unproven.
                () = proof.notified(), if self.is_ready => self.beat().await,
                message = self.stream.next() => match message {
                    Some(Ok(message)) => self.on_message(message).await,
                    Some(Err(error)) => Err(self.on_error(&error)),
                    None => Err("the connection was closed".to_owned()),
                },
            };
            if let Err(reason) = step {
                return reason;
            }
        }
    }

    /// When something is to be done next, if nothing comes.
    fn due(&self) -> Instant {
        let ask = self.subscriptions.are_to_ask().then_some(self.next_ask);
        let give_up = (!self.is_ready && !self.is_settled).then_some(self.give_up_waiting);
        let numbers = self.sequences.next_due();
        [self.life.next(), ask, give_up, self.again, numbers]
            .into_iter()
            .flatten()
            .fold(self.next_beat, Instant::min)
    }

    async fn on_time(&mut self) -> Result<(), String> {
        let now = Instant::now();
        self.note_holes(Some(now));
        if let Some(missing) = self.life.look(now)
            && !(missing.sign == Sign::Control && self.passes_over_control())
        {
            // Other signs may have come since; what this one stands for has not.
            let since = i64::try_from(missing.since.as_millis()).unwrap_or(i64::MAX);
            self.last_sign = self
                .last_sign
                .min(Some(self.intake.context.clock.now().back(since)));
            return Err(format!(
                "no {} for {} s",
                missing.sign.name(),
                missing.within.as_secs_f64()
            ));
        }
        if now >= self.next_ask
            && let Some((number, topics)) = self.subscriptions.next()
        {
            self.wait_for_turn(now + self.line.between);
            let venue = self.intake.context.venue;
            let text = venue.subscription(number, &topics, self.intake.context.clock.now());
            // Where the path of the socket says what is wanted, there is nothing to say.
            if !text.is_empty() {
                self.say(Message::text(text)).await?;
            }
        }
        if now >= self.next_beat {
            let every = span_or(
                self.intake.context.settings.pace.ping,
                self.intake.context.venue.heartbeat().every,
            );
            self.next_beat = now + every;
            self.beat().await?;
        }
        if self.again.is_some_and(|again| now >= again) {
            self.subscriptions.ask_again();
            self.wait_for_turn(now);
            self.again = Some(now + self.patience.next());
        }
        if !self.is_ready && !self.is_settled && now >= self.give_up_waiting {
            if self.subscriptions.cover_nothing() {
                return Err(format!(
                    "no subscription was acknowledged within {} s",
                    self.intake.context.settings.pace.acknowledge
                ));
            }
            self.is_live();
        }
        Ok(())
    }

    /// Whether the venue says nothing of the topic of the control stream, as on sockets before this one: then it is done without.
    fn passes_over_control(&mut self) -> bool {
        if !self.intake.context.venue.answers_steady()
            || !self.subscriptions.is_control_passed_over()
        {
            return false;
        }
        if !self.place.ignored_control.is_certain() {
            self.place.ignored_control.count();
            return false;
        }
        self.do_without("was neither acknowledged nor told");
        true
    }

    /// Takes the turn of the next subscription, where there is one; until it is over nothing is given up.
    fn wait_for_turn(&mut self, least: Instant) {
        self.next_ask = least;
        if self.subscriptions.are_to_ask() {
            self.next_ask = self.intake.context.pacer.reserve(least);
            let patience = span(self.intake.context.settings.pace.acknowledge);
            self.give_up_waiting = self.give_up_waiting.max(self.next_ask + patience);
        }
    }

    async fn beat(&mut self) -> Result<(), String> {
        let number = self
            .pings
            .say(self.intake.context.clock.now(), Instant::now());
        let message = match self.intake.context.venue.heartbeat().beat {
            Beat::Protocol => Message::Ping(number.to_be_bytes().to_vec().into()),
            Beat::Text(text) => Message::text(text),
            Beat::Stamped(before, behind) => {
                let seconds = self.intake.context.clock.now().0 / 1000;
                Message::text(format!("{before}{seconds}{behind}"))
            }
        };
        self.say(message).await
    }

    async fn say(&mut self, message: Message) -> Result<(), String> {
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
                self.life.heard(Sign::Pong, Instant::now());
                let number = token.as_ref().try_into().map(u64::from_be_bytes);
                self.is_answered(number.ok());
                Ok(())
            }
            // The answer goes out with the next read.
            Message::Ping(_) => {
                self.life.heard(Sign::Ping, Instant::now());
                Ok(())
            }
            Message::Close(frame) => Err(match frame {
                Some(frame) if !frame.reason.is_empty() => {
                    format!("closed by the venue: {} {}", frame.code, frame.reason)
                }
                Some(frame) => format!("closed by the venue: {}", frame.code),
                None => "closed by the venue".to_owned(),
            }),
            Message::Frame(_) => Ok(()),
        }
    }

    /// Records what was not heard by the venue's own numbers, as far as it does not come any more.
    fn note_holes(&mut self, now: Option<Instant>) {
        for hole in self.sequences.take_lost(now) {
            self.intake
                .coverage
                .sequence_hole(&self.line.name, &self.place, &hole);
        }
    }

    fn reject(&self, text: &str, fault: Error) {
        self.intake
            .reject(text, &[fault], self.intake.context.clock.now());
    }

    /// Counts a message that broke the protocol or the bound of a frame.
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
        let (asked, all_taken) = (subscriptions.asked(), subscriptions.are_settled());
        let sequences = &mut self.sequences;
        let came = self.intake.context.clock.now();
        let place = &self.place;
        let hearing = self
            .intake
            .receive_frame(text, asked, all_taken, sequences, place, came);
        let (heard, told) = hearing.await;
        self.note_holes(Some(Instant::now()));
        if told.has_events {
            locked(&self.place.ears).tells(self.place.ear, told.news, came);
            if !told.is_past {
                // A heartbeat that comes where nothing else does is not owed meanwhile.
                if self.line.control == Control::ByItself {
                    self.life.heard(Sign::Control, Instant::now());
                }
                self.on_sign();
            }
        }
        if let Some(last) = told.last {
            self.proves(last);
        }
        match heard {
            Heard::Ping(answer) => {
                self.life.heard(Sign::Ping, Instant::now());
                if let Some(at) = self.pulse.answer(said_at(&answer)) {
                    self.proves(at);
                }
                return self.say(Message::text(answer)).await;
            }
            Heard::Pong => {
                self.life.heard(Sign::Pong, Instant::now());
                self.is_answered(None);
            }
            Heard::Control => {
                // It may come several times a second: the board is told what is news to it.
                if !self.pulse.is_watched() && self.line.control != Control::None {
                    self.pulse.come_back();
                    self.intake.context.board.tells(&self.line.name);
                }
                if self.subscriptions.note_control(ControlStatus::Taken)
                    != Some(ControlStatus::Taken)
                {
                    self.place.ignored_control.end();
                }
                self.life.heard(Sign::Control, Instant::now());
                self.on_sign();
            }
            Heard::Data | Heard::Other => {}
            Heard::Ack { topics } => {
                if self.subscriptions.take(&topics) {
                    self.when_all_are_settled();
                }
                if !self.subscriptions.is_control_open() {
                    self.place.ignored_control.end();
                }
            }
            Heard::Refused { topics, message } => self.on_refusal(&topics, &message)?,
            Heard::Notice(notice) => {
                return Err(format!("the venue will close the connection: {notice}"));
            }
        }
        Ok(())
    }

    fn on_refusal(&mut self, topics: &[String], message: &str) -> Result<(), String> {
        let board = &self.intake.context.board;
        match self.subscriptions.refuse(topics) {
            RefusalOutcome::Unknown => board.trouble(format!("a request was refused: {message}")),
            RefusalOutcome::Topic(topic) => {
                board.trouble(format!("{topic} was refused: {message}"))
            }
            RefusalOutcome::Control => self.do_without(&format!("was refused: {message}")),
            RefusalOutcome::Halved => self.give_up_waiting += self.line.between * 2,
        }
        self.when_all_are_settled();
        if self.subscriptions.are_refused() {
            return Err(format!("every subscription was refused: {message}"));
        }
        Ok(())
    }

    fn when_all_are_settled(&mut self) {
        if self.subscriptions.is_control_refused() {
            self.do_without("was refused, by a word that names nothing");
        }
        if self.subscriptions.are_settled() && !self.subscriptions.cover_nothing() {
            self.is_live();
        } else if self.is_ready {
            self.say_covered();
        }
    }

    /// Says that it covers what it can, once that is certain.
    fn is_live(&mut self) {
        self.is_settled = true;
        if self.pulse.is_awaited() {
            return;
        }
        if !self.is_ready {
            // From here on all is heard that is proven to be; the first proof is asked for at once.
            self.last_sign = Some(self.intake.context.clock.now());
            self.next_beat = Instant::now();
        }
        self.is_ready = true;
        self.say_covered();
    }

    /// Says what it does not cover; those topics are asked for again in a while.
    fn say_covered(&mut self) {
        let uncovered = self.subscriptions.uncovered();
        let is_refused = |(_, standing)| standing == ControlStatus::RefusalOutcome;
        if uncovered.is_empty() && !self.subscriptions.control().is_some_and(is_refused) {
            self.again = None;
        } else if self.again.is_none() {
            self.again = Some(Instant::now() + self.patience.next());
        }
        let _ = self.covers.send(uncovered);
    }

    /// A ping of ours is answered: that one, or the oldest where it does not say which.
    fn is_answered(&mut self, number: Option<u64>) {
        let (at, by) = (self.intake.context.clock.now(), Instant::now());
        let said = self.pings.hear(number, at, by);
        if let Some(said) = self.pulse.answer(said) {
            self.proves(said);
        }
    }

    /// It tells something: who was awaited for that is live.
    fn on_sign(&mut self) {
        let was_awaited = self.pulse.is_awaited();
        if let Some(said) = self.pulse.hear() {
            self.proves(said);
        }
        if was_awaited && self.is_settled {
            self.is_live();
        }
    }

    /// There is no control stream: it is judged by its answers to pings alone.
    fn do_without(&mut self, why: &str) {
        let Some((topic, _)) = self.subscriptions.control() else {
            return;
        };
        self.subscriptions
            .note_control(ControlStatus::RefusalOutcome);
        if !self.pulse.is_watched() {
            return;
        }
        self.intake
            .coverage
            .no_heartbeat(&self.line.name, topic, why);
        self.life.remit(Sign::Control, Instant::now());
        if let Some(said) = self.pulse.leave() {
            self.proves(said);
        }
        if self.is_settled {
            self.is_live();
        }
    }

    /// All that was said until then was heard.
    fn proves(&mut self, at: Millis) {
        // What has waited while this process had no turn does not prove that it listened.
        if !self.intake.context.clock.is_present() || !self.is_ready {
            return;
        }
        let at = at.min(self.intake.context.clock.now());
        self.last_sign = self.last_sign.max(Some(at));
        // One that may have missed something proves nothing.
        if !self.sequences.is_waiting()
            && let Some(at) = self.last_sign
        {
            locked(&self.place.ears).sign(self.place.ear, at);
        }
    }
}
