//! A socket that is kept open: opened again after a loss, replaced by a fresh one before it grows too old.
//!
//! The time from the last sign of a lost connection until the next one listens is a gap, with the reason of the loss. At a
//! replacement the new socket listens before the old one is closed, so there is none where the old one gives a sign after
//! that; it may have been dead for a while, and nobody have noticed. It is listened to for a while longer, for what happened
//! before the new one was heard may still be on its way.
//!
//! Where a venue cannot be asked again, several listen to the same, and only what none of them heard is a gap (`ears`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::collect::connection::redundancy::{Ears, Place, Silence};
use crate::collect::connection::state_machine;
use crate::collect::connection::state_machine::{Ending, Loss};
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::collect::settings::{span, span_or};
use crate::feeds::Line;
use crate::model::{Millis, TimeRange};
use crate::net::{Backoff, Connector};

/// What a line is told.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionCommand {
    /// Its connection is to be taken for lost.
    Renew(String),
    /// Its topics have changed.
    Replace(Box<Line>),
}

/// What a line tells of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConnectionEvent {
    /// It listens for the first time, or again.
    Live,
}

/// A socket under way.
struct Connection {
    task: JoinHandle<Loss>,
    /// The topics that are not covered, as often as that changes; the first time it covers what it can.
    covers: mpsc::UnboundedReceiver<BTreeSet<String>>,
    ending: watch::Sender<Ending>,
    live_since: Option<Instant>,
}

impl Connection {
    fn open(intake: &Arc<Intake>, connector: &Connector, line: &Line, place: &Place) -> Self {
        let (said, covers) = mpsc::unbounded_channel();
        let (ending, heard) = watch::channel(Ending::Listen);
        let task = tokio::spawn(state_machine::listen(
            Arc::clone(intake),
            connector.clone(),
            line.clone(),
            place.clone(),
            said,
            heard,
        ));
        Self {
            task,
            covers,
            ending,
            live_since: None,
        }
    }

    /// Returns once it covers what it can, or is lost.
    async fn turn(&mut self) -> Turn {
        let lost = tokio::select! {
            biased;
            Some(uncovered) = self.covers.recv() => {
                let is_first = self.live_since.is_none();
                self.live_since.get_or_insert_with(Instant::now);
                return if is_first { Turn::Live(uncovered) } else { Turn::Covers(uncovered) };
            }
            lost = &mut self.task => lost,
        };
        Turn::Lost(lost.unwrap_or_else(|error| Loss {
            reason: format!("a bug in liqdata, please report it: {error}"),
            last_sign: None,
        }))
    }

    /// Closes it; until when it listened.
    async fn close(self) -> Option<Millis> {
        let _ = self.ending.send(Ending::Close);
        self.task.await.ok()?.last_sign
    }
}

/// A socket that was replaced and is closed.
#[derive(Clone, Copy)]
struct Parted {
    /// When it was replaced.
    replaced: Millis,
    /// Until when it listened.
    last_sign: Option<Millis>,
}

/// Either of what a connection may come to.
enum Turn {
    Live(BTreeSet<String>),
    /// Of the topics others are covered than before.
    Covers(BTreeSet<String>),
    Lost(Loss),
}

async fn turn(connection: &mut Option<Connection>) -> Turn {
    match connection {
        Some(connection) => connection.turn().await,
        None => std::future::pending().await,
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Keeps a line open until `changes` ends.
pub(crate) async fn tend(
    intake: Arc<Intake>,
    connector: Connector,
    line: Line,
    place: Place,
    mut changes: mpsc::UnboundedReceiver<ConnectionCommand>,
    news: mpsc::UnboundedSender<ConnectionEvent>,
) {
    let mut keeper = Reconnector::new(intake, connector, line, place, news);
    loop {
        let rotate_at = keeper.rotate_at();
        tokio::select! {
            change = changes.recv() => match change {
                Some(change) => keeper.on_change(change),
                None => break,
            },
            turn = turn(&mut keeper.current) => match turn {
                Turn::Live(uncovered) => keeper.on_live(&uncovered),
                Turn::Covers(uncovered) => keeper.covers(&uncovered),
                Turn::Lost(loss) => keeper.on_loss(&loss),
            },
            turn = turn(&mut keeper.next) => match turn {
                Turn::Live(uncovered) | Turn::Covers(uncovered) => keeper.on_replaced(&uncovered),
                Turn::Lost(loss) => keeper.on_failed_replacement(&loss),
            },
            Some(parted) = keeper.parting.join_next(), if !keeper.parting.is_empty() => {
                keeper.on_parted(parted.ok().as_ref());
            }
            () = at(keeper.retry_at) => keeper.retry(),
            () = at(rotate_at) => keeper.replace(),
            () = at(keeper.note_at) => keeper.note_unheard(),
            () = at(keeper.look_at) => keeper.look_for_news(),
        }
    }
    keeper.end().await;
}

/// Records what none of those who listen heard.
fn record(intake: &Intake, silences: Vec<Silence>) {
    for silence in silences {
        intake
            .coverage
            .gap(silence.start, silence.end, &silence.reason);
    }
}

struct Reconnector {
    intake: Arc<Intake>,
    connector: Connector,
    line: Line,
    news: mpsc::UnboundedSender<ConnectionEvent>,
    current: Option<Connection>,
    next: Option<Connection>,
    /// Sockets that were replaced, on their way out.
    parting: JoinSet<Parted>,
    retry_at: Option<Instant>,
    /// A replacement that failed is not tried before this.
    no_rotation_before: Option<Instant>,
    backoff: Backoff,
    place: Place,
    /// When the topics that are not heard are written down again, as far as they reach then.
    note_at: Option<Instant>,
    /// When it is looked whether another is told what this one is not.
    look_at: Option<Instant>,
    /// The topics of the socket that listens, where they are not those of the line.
    stale: bool,
}

impl Reconnector {
    fn new(
        intake: Arc<Intake>,
        connector: Connector,
        line: Line,
        place: Place,
        news: mpsc::UnboundedSender<ConnectionEvent>,
    ) -> Self {
        let backoff = intake.context.settings.pace.backoff();
        let current = Connection::open(&intake, &connector, &line, &place);
        let mut keeper = Self {
            intake,
            connector,
            line,
            news,
            current: Some(current),
            next: None,
            parting: JoinSet::new(),
            retry_at: None,
            no_rotation_before: None,
            backoff,
            place,
            note_at: None,
            look_at: None,
            stale: false,
        };
        keeper.look_for_news();
        keeper
    }

    fn rotate_at(&self) -> Option<Instant> {
        if self.next.is_some() {
            return None;
        }
        let age = span_or(
            self.intake.context.settings.pace.rotate,
            self.intake
                .context
                .venue
                .rotation()
                .unwrap_or(Duration::ZERO),
        );
        let since = self.current.as_ref()?.live_since?;
        let due = if self.stale {
            since
        } else {
            (!age.is_zero()).then(|| since + age)?
        };
        Some(self.no_rotation_before.map_or(due, |least| due.max(least)))
    }

    fn on_change(&mut self, change: ConnectionCommand) {
        match change {
            ConnectionCommand::Renew(reason) => {
                if let Some(connection) = &self.current {
                    let _ = connection.ending.send(Ending::Renew(reason));
                }
            }
            ConnectionCommand::Replace(line) => {
                self.line = *line;
                self.stale = true;
                let (topics, now) = (self.topics(), self.intake.context.clock.now());
                self.change(|ears| ears.replan(topics, now));
                // Of a replacement under way the topics are old as well.
                self.next = None;
                self.replace();
            }
        }
    }

    /// Takes the connection for lost where it tells nothing of what another tells.
    fn look_for_news(&mut self) {
        let patience = span(self.intake.context.settings.pace.owed);
        let ear = self.place.ear;
        let (count, mute_at) = self.ears(|ears| (ears.count(), ears.is_mute_at(ear, patience)));
        let now = Instant::now();
        let each = patience.div_f64(4.0).max(Duration::from_millis(10));
        self.look_at = (count > 1).then(|| now + each);
        if mute_at.is_some_and(|at| at <= now) {
            let seconds = patience.as_secs_f64();
            self.on_change(ConnectionCommand::Renew(format!(
                "no event for {seconds} s while another socket reports: connected but mute"
            )));
        }
    }

    fn topics(&self) -> BTreeSet<String> {
        self.line.topics().cloned().collect()
    }

    fn ears<T>(&self, look: impl FnOnce(&mut Ears) -> T) -> T {
        look(&mut locked(&self.place.ears))
    }

    /// Changes what is heard, and writes down until when topics were not.
    fn change(&mut self, change: impl FnOnce(&mut Ears)) {
        let now = self.intake.context.clock.now();
        let (before, after) = self.ears(|ears| {
            let before = ears.unheard();
            change(ears);
            (before, ears.unheard())
        });
        if !before.is_empty() {
            self.intake.coverage.topic_gaps(&before, now);
        }
        // What was missed of those that are heard now is asked for like everything else.
        let over = before
            .iter()
            .filter(|(topic, _)| !after.contains_key(*topic));
        if let Some(since) = over.map(|(_, (since, _))| *since).min() {
            self.intake
                .coverage
                .backfill
                .request(TimeRange::new(since, now));
        }
        self.note_unheard();
        self.show();
    }

    /// Notes which topics the socket that listens does not cover.
    fn covers(&mut self, uncovered: &BTreeSet<String>) {
        let (own, now) = (self.topics(), self.intake.context.clock.now());
        let (ear, stale) = (self.place.ear, self.stale);
        self.change(|ears| ears.covers(ear, &own, uncovered, stale, now));
    }

    /// Shows how the line is listened to.
    fn show(&self) {
        let topics = self.topics();
        let (live, count, unheard) = self.ears(|ears| (ears.live(), ears.count(), ears.unheard()));
        {
            let mut notes = self.intake.context.board.notes();
            let note = notes.lines.entry(self.line.name.clone()).or_default();
            note.is_live = live > 0;
            note.was_live |= live > 0;
            (note.sockets, note.wanted) = (live, count);
            note.topics = topics.len();
            note.uncovered = if live > 0 {
                unheard.into_keys().collect()
            } else {
                topics
            };
            if live == count {
                notes.status.trouble = None;
            }
        }
        self.intake.coverage.topic_counts();
    }

    /// Writes down which topics have not been heard so far: whatever ends this process, they are on record.
    fn note_unheard(&mut self) {
        self.note_at = None;
        let unheard = self.ears(|ears| ears.unheard());
        if unheard.is_empty() {
            return;
        }
        self.intake
            .coverage
            .topic_gaps(&unheard, self.intake.context.clock.now());
        let each = span(self.intake.context.settings.pace.seen).max(Duration::from_millis(10));
        self.note_at = Some(Instant::now() + each);
    }

    fn on_live(&mut self, uncovered: &BTreeSet<String>) {
        let (ear, now) = (self.place.ear, self.intake.context.clock.now());
        log::info!(target: "liqdata::feeds", "{}: {} is live", self.intake.context.name(), self.line.name);
        let (own, stale) = (self.topics(), self.stale);
        let intake = Arc::clone(&self.intake);
        self.change(|ears| {
            // The gap is recorded before it can be written down that the listening goes on.
            record(&intake, ears.lives(ear, now));
            ears.covers(ear, &own, uncovered, stale, now);
        });
        self.place.proof.notify_waiters();
        let _ = self.news.send(ConnectionEvent::Live);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let healthy = span(self.intake.context.settings.pace.healthy);
        let lived = self
            .current
            .take()
            .and_then(|connection| connection.live_since);
        if lived.is_some_and(|since| since.elapsed() >= healthy) {
            self.backoff.reset();
        }
        let reason = format!("{}: {}", self.line.name, loss.reason);
        if lived.is_some() {
            let (ear, now) = (self.place.ear, self.intake.context.clock.now());
            let since = loss.last_sign.unwrap_or(now);
            let (why, mut found) = (reason.clone(), Vec::new());
            self.change(|ears| found = ears.is_lost(ear, since, why, now));
            record(&self.intake, found);
            self.place.proof.notify_waiters();
        }
        self.show();
        self.intake.context.board.trouble(reason);
        match self.next.take() {
            // The replacement is on its way already.
            Some(next) => self.current = Some(next),
            None => self.retry_at = Some(Instant::now() + self.backoff.next()),
        }
    }

    fn retry(&mut self) {
        self.retry_at = None;
        self.stale = false;
        self.current = Some(self.open());
    }

    fn open(&self) -> Connection {
        let (intake, place) = (&self.intake, &self.place);
        Connection::open(intake, &self.connector, &self.line, place)
    }

    fn replace(&mut self) {
        if self.current.is_some() && self.next.is_none() {
            self.no_rotation_before = None;
            self.next = Some(self.open());
        }
    }

    fn on_replaced(&mut self, uncovered: &BTreeSet<String>) {
        if let Some(old) = self.current.take() {
            let overlap = span(self.intake.context.settings.pace.overlap);
            let replaced = self.intake.context.clock.now();
            let ear = self.place.ear;
            self.ears(|ears| ears.doubt(ear, replaced));
            self.parting.spawn(async move {
                tokio::time::sleep(overlap).await;
                Parted {
                    replaced,
                    last_sign: old.close().await,
                }
            });
        }
        self.current = self.next.take();
        self.stale = false;
        self.backoff.reset();
        self.on_live(uncovered);
    }

    /// Records the time from the last sign of a socket until it was replaced.
    fn on_parted(&mut self, parted: Option<&Parted>) {
        if let Some(&Parted {
            replaced,
            last_sign: Some(last_sign),
        }) = parted
            && last_sign < replaced
        {
            let reason = format!("{}: replaced, and silent since before", self.line.name);
            let (ear, now) = (self.place.ear, self.intake.context.clock.now());
            let silence = Silence {
                start: last_sign,
                end: replaced,
                reason,
            };
            let found = self.ears(|ears| ears.was_silent(ear, silence, now));
            record(&self.intake, found);
        }
        if self.parting.is_empty() {
            let ear = self.place.ear;
            self.ears(|ears| ears.end_doubt(ear));
        }
    }

    fn on_failed_replacement(&mut self, loss: &Loss) {
        self.next = None;
        self.no_rotation_before = Some(Instant::now() + self.backoff.next());
        self.intake.context.board.trouble(format!(
            "{}: not replaced yet: {}",
            self.line.name, loss.reason
        ));
    }

    async fn end(mut self) {
        for connection in [self.current.take(), self.next.take()]
            .into_iter()
            .flatten()
        {
            connection.close().await;
        }
        while let Some(parted) = self.parting.join_next().await {
            self.on_parted(parted.ok().as_ref());
        }
        let (ear, now) = (self.place.ear, self.intake.context.clock.now());
        let mut over = Vec::new();
        self.change(|ears| over = ears.end(ear, now));
        record(&self.intake, over);
        if self.ears(|ears| ears.have_ended()) {
            self.intake
                .context
                .board
                .notes()
                .lines
                .remove(&self.line.name);
        }
        self.intake.coverage.topic_counts();
    }
}
