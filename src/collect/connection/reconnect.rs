//! Keeps one connection open: reconnects after a loss, and replaces the socket before it grows too old.
//!
//! After a loss, the outage lasts from the last proof of receipt of the lost socket until the next socket is live. At a
//! replacement, the new socket is live before the old socket is closed. The old socket stays open for a short overlap,
//! because earlier events may still arrive. If the old socket turns out to have been dead, that time is an outage too.
//!
//! The [`FeedGroup`] decides which outages are gaps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::collect::connection::state_machine;
use crate::collect::connection::state_machine::{Loss, StopSignal};
use crate::collect::feed_group::feed_group::{FeedGroup, Membership};
use crate::collect::feed_group::outages::Outage;
use crate::collect::intake::intake::Intake;
use crate::collect::lock::locked;
use crate::collect::settings::settings::{span, span_or};
use crate::collect::status::status_board::BoardNotes;
use crate::feeds::ConnectionPlan;
use crate::model::{Millis, TimeRange};
use crate::net::{Backoff, Connector};

/// A command to one connection.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionCommand {
    /// Treats the connection as lost, for this reason.
    Restart(String),
    /// Changes the topics of the connection.
    SetPlan(Box<ConnectionPlan>),
}

/// An event of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConnectionEvent {
    /// The connection became live, for the first time or again.
    Live,
}

/// The task that runs one socket.
struct SocketTask {
    task: JoinHandle<Loss>,
    /// Receives the uncovered topics (those that are not received) whenever they change. The first message also means
    /// that the socket is live.
    uncovered: mpsc::UnboundedReceiver<BTreeSet<String>>,
    stop: watch::Sender<StopSignal>,
    live_since: Option<Instant>,
}

impl SocketTask {
    fn spawn(
        intake: &Arc<Intake>,
        connector: &Connector,
        plan: &ConnectionPlan,
        membership: &Membership,
    ) -> Self {
        let (sender, uncovered) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(StopSignal::Run);
        let task = tokio::spawn(state_machine::run(
            Arc::clone(intake),
            connector.clone(),
            plan.clone(),
            membership.clone(),
            sender,
            stopped,
        ));
        Self {
            task,
            uncovered,
            stop,
            live_since: None,
        }
    }

    /// Waits for the next change of the socket.
    async fn update(&mut self) -> SocketUpdate {
        let lost = tokio::select! {
            biased;
            Some(uncovered) = self.uncovered.recv() => {
                let is_first = self.live_since.is_none();
                self.live_since.get_or_insert_with(Instant::now);
                return if is_first {
                    SocketUpdate::Live(uncovered)
                } else {
                    SocketUpdate::Uncovered(uncovered)
                };
            }
            lost = &mut self.task => lost,
        };
        SocketUpdate::Lost(lost.unwrap_or_else(|error| Loss {
            reason: format!("a bug in liqdata, please report it: {error}"),
            proven_until: None,
        }))
    }

    /// Closes the socket. Returns the instant up to which everything was received.
    async fn close(self) -> Option<Millis> {
        let _ = self.stop.send(StopSignal::Close);
        self.task.await.ok()?.proven_until
    }
}

/// A closed socket that another one had replaced.
#[derive(Clone, Copy)]
struct Retired {
    replaced_at: Millis,
    proven_until: Option<Millis>,
}

/// A change of the state of a socket.
enum SocketUpdate {
    /// The socket is live and covers all topics except these.
    Live(BTreeSet<String>),
    /// The uncovered topics have changed.
    Uncovered(BTreeSet<String>),
    Lost(Loss),
}

async fn update(socket: &mut Option<SocketTask>) -> SocketUpdate {
    match socket {
        Some(socket) => socket.update().await,
        None => std::future::pending().await,
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Keeps a connection open until the sender of `commands` is dropped.
pub(crate) async fn run(
    intake: Arc<Intake>,
    connector: Connector,
    plan: ConnectionPlan,
    membership: Membership,
    mut commands: mpsc::UnboundedReceiver<ConnectionCommand>,
    events: mpsc::UnboundedSender<ConnectionEvent>,
) {
    let mut connection = Reconnector::new(intake, connector, plan, membership, events);
    loop {
        let rotate_at = connection.rotate_at();
        tokio::select! {
            command = commands.recv() => match command {
                Some(command) => connection.on_command(command),
                None => break,
            },
            update = update(&mut connection.current) => match update {
                SocketUpdate::Live(uncovered) => connection.on_live(&uncovered),
                SocketUpdate::Uncovered(uncovered) => connection.set_uncovered(&uncovered),
                SocketUpdate::Lost(loss) => connection.on_loss(&loss),
            },
            update = update(&mut connection.next) => match update {
                SocketUpdate::Live(uncovered) | SocketUpdate::Uncovered(uncovered) => {
                    connection.on_replaced(&uncovered);
                }
                SocketUpdate::Lost(loss) => connection.on_failed_replacement(&loss),
            },
            Some(retired) = connection.retiring.join_next(), if !connection.retiring.is_empty() => {
                connection.on_retired(retired.ok().as_ref());
            }
            () = at(connection.retry_at) => connection.retry(),
            () = at(rotate_at) => connection.replace(),
            () = at(connection.record_at) => connection.record_uncovered(),
            () = at(connection.check_at) => connection.check_staleness(),
        }
    }
    connection.close().await;
}

/// Records gaps of the feed group and requests their backfill.
fn record(intake: &Intake, gaps: Vec<Outage>) {
    for gap in gaps {
        intake
            .coverage
            .gap(gap.range.start, gap.range.end, &gap.reason);
    }
}

struct Reconnector {
    intake: Arc<Intake>,
    connector: Connector,
    plan: ConnectionPlan,
    events: mpsc::UnboundedSender<ConnectionEvent>,
    current: Option<SocketTask>,
    next: Option<SocketTask>,
    /// Replaced sockets that are still open.
    retiring: JoinSet<Retired>,
    retry_at: Option<Instant>,
    /// The earliest time of the next replacement, after a replacement has failed.
    no_rotation_before: Option<Instant>,
    backoff: Backoff,
    membership: Membership,
    /// When to record the uncovered topics again.
    record_at: Option<Instant>,
    /// When to check whether the redundant connection has received events that this connection has not.
    check_at: Option<Instant>,
    /// Whether the topics of the connection plan have changed since the current socket was opened.
    is_outdated: bool,
}

impl Reconnector {
    fn new(
        intake: Arc<Intake>,
        connector: Connector,
        plan: ConnectionPlan,
        membership: Membership,
        events: mpsc::UnboundedSender<ConnectionEvent>,
    ) -> Self {
        let backoff = intake.context.settings.pace.backoff();
        let current = SocketTask::spawn(&intake, &connector, &plan, &membership);
        let mut connection = Self {
            intake,
            connector,
            plan,
            events,
            current: Some(current),
            next: None,
            retiring: JoinSet::new(),
            retry_at: None,
            no_rotation_before: None,
            backoff,
            membership,
            record_at: None,
            check_at: None,
            is_outdated: false,
        };
        connection.check_staleness();
        connection
    }

    /// When the socket is due for replacement.
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
        let due = if self.is_outdated {
            since
        } else {
            (!age.is_zero()).then(|| since + age)?
        };
        Some(self.no_rotation_before.map_or(due, |least| due.max(least)))
    }

    fn on_command(&mut self, command: ConnectionCommand) {
        match command {
            ConnectionCommand::Restart(reason) => {
                if let Some(socket) = &self.current {
                    let _ = socket.stop.send(StopSignal::Restart(reason));
                }
            }
            ConnectionCommand::SetPlan(plan) => {
                self.plan = *plan;
                self.is_outdated = true;
                let (topics, now) = (self.topics(), self.intake.context.clock.now());
                self.change(|group| group.set_topics(topics, now));
                // A replacement that is being opened also has the old topics, so it is dropped.
                self.next = None;
                self.replace();
            }
        }
    }

    /// Restarts the connection if it has long missed events that the redundant connection has received.
    fn check_staleness(&mut self) {
        let patience = span(self.intake.context.settings.pace.stale_connection);
        let slot = self.membership.slot;
        let (is_redundant, stale_at) =
            self.group(|group| (group.is_redundant(), group.stale_at(slot, patience)));
        let now = Instant::now();
        let each = patience.div_f64(4.0).max(Duration::from_millis(10));
        self.check_at = is_redundant.then(|| now + each);
        if stale_at.is_some_and(|at| at <= now) {
            let seconds = patience.as_secs_f64();
            self.on_command(ConnectionCommand::Restart(format!(
                "stale: no event for {seconds} s while the redundant connection reports"
            )));
        }
    }

    fn topics(&self) -> BTreeSet<String> {
        self.plan.topics().cloned().collect()
    }

    fn group<T>(&self, access: impl FnOnce(&mut FeedGroup) -> T) -> T {
        access(&mut locked(&self.membership.group))
    }

    /// Applies `change` to the feed group. Then records the topics that were uncovered before the change or are
    /// uncovered now.
    fn change(&mut self, change: impl FnOnce(&mut FeedGroup)) {
        let now = self.intake.context.clock.now();
        let (before, after) = self.group(|group| {
            let before = group.uncovered();
            change(group);
            (before, group.uncovered())
        });
        if !before.is_empty() {
            self.intake.coverage.topic_gaps(&before, now);
        }
        // Topics that are covered again are backfilled like any other gap.
        let over = before
            .iter()
            .filter(|(topic, _)| !after.contains_key(*topic));
        if let Some(since) = over.map(|(_, (since, _))| *since).min() {
            self.intake
                .coverage
                .backfill
                .request(TimeRange::new(since, now));
        }
        self.record_uncovered();
        self.show();
    }

    fn set_uncovered(&mut self, uncovered: &BTreeSet<String>) {
        let (own, now) = (self.topics(), self.intake.context.clock.now());
        let (slot, is_outdated) = (self.membership.slot, self.is_outdated);
        self.change(|group| group.set_uncovered(slot, &own, uncovered, is_outdated, now));
    }

    /// Whether the status board shows this feed group. While this group closes, a new group of the same name may have
    /// replaced it on the board.
    fn is_shown(&self, notes: &BoardNotes) -> bool {
        let status = notes.groups.get(&self.plan.name);
        status
            .and_then(|status| status.group.as_ref())
            .is_none_or(|group| Arc::ptr_eq(group, &self.membership.group))
    }

    /// Shows the state of the feed group on the status board.
    fn show(&self) {
        let topics = self.topics();
        let (live, wanted, uncovered) =
            self.group(|group| (group.live(), group.slots().len(), group.uncovered()));
        {
            let mut notes = self.intake.context.board.notes();
            if !self.is_shown(&notes) {
                return;
            }
            let status = notes.groups.entry(self.plan.name.clone()).or_default();
            status.is_live = live > 0;
            status.was_live |= live > 0;
            (status.sockets, status.wanted) = (live, wanted);
            status.topics = topics.len();
            status.uncovered = if live > 0 {
                uncovered.into_keys().collect()
            } else {
                topics
            };
            if live == wanted {
                notes.status.trouble = None;
            }
        }
        self.intake.coverage.topic_counts();
    }

    /// Records the uncovered topics, so that they are in the archive even if this process crashes.
    fn record_uncovered(&mut self) {
        self.record_at = None;
        let uncovered = self.group(|group| group.uncovered());
        if uncovered.is_empty() {
            return;
        }
        self.intake
            .coverage
            .topic_gaps(&uncovered, self.intake.context.clock.now());
        let each =
            span(self.intake.context.settings.pace.checkpoint).max(Duration::from_millis(10));
        self.record_at = Some(Instant::now() + each);
    }

    fn on_live(&mut self, uncovered: &BTreeSet<String>) {
        let (slot, now) = (self.membership.slot, self.intake.context.clock.now());
        log::info!(target: "liqdata::feeds", "{}: {} is live", self.intake.context.name(), self.plan.name);
        let (own, is_outdated) = (self.topics(), self.is_outdated);
        let intake = Arc::clone(&self.intake);
        self.change(|group| {
            // The gap is recorded under the group's lock, before any task can record later time as covered.
            record(&intake, group.on_live(slot, now));
            group.set_uncovered(slot, &own, uncovered, is_outdated, now);
        });
        self.membership.prove.notify_waiters();
        let _ = self.events.send(ConnectionEvent::Live);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let healthy = span(self.intake.context.settings.pace.healthy);
        let live_since = self.current.take().and_then(|socket| socket.live_since);
        if live_since.is_some_and(|since| since.elapsed() >= healthy) {
            self.backoff.reset();
        }
        let reason = format!("{}: {}", self.plan.name, loss.reason);
        if live_since.is_some() {
            let (slot, now) = (self.membership.slot, self.intake.context.clock.now());
            let since = loss.proven_until.unwrap_or(now);
            let (why, mut gaps) = (reason.clone(), Vec::new());
            self.change(|group| gaps = group.on_loss(slot, since, why, now));
            record(&self.intake, gaps);
            self.membership.prove.notify_waiters();
        }
        self.show();
        self.intake.context.board.trouble(reason);
        match self.next.take() {
            // A replacement is being opened already; it becomes the current socket.
            Some(next) => self.current = Some(next),
            None => self.retry_at = Some(Instant::now() + self.backoff.next()),
        }
    }

    fn retry(&mut self) {
        self.retry_at = None;
        self.is_outdated = false;
        self.current = Some(self.open());
    }

    fn open(&self) -> SocketTask {
        let (intake, membership) = (&self.intake, &self.membership);
        SocketTask::spawn(intake, &self.connector, &self.plan, membership)
    }

    /// Opens the socket that will replace the current one.
    fn replace(&mut self) {
        if self.current.is_some() && self.next.is_none() {
            self.no_rotation_before = None;
            self.next = Some(self.open());
        }
    }

    fn on_replaced(&mut self, uncovered: &BTreeSet<String>) {
        if let Some(old) = self.current.take() {
            let overlap = span(self.intake.context.settings.pace.overlap);
            let replaced_at = self.intake.context.clock.now();
            let slot = self.membership.slot;
            self.group(|group| group.begin_handover(slot, replaced_at));
            self.retiring.spawn(async move {
                tokio::time::sleep(overlap).await;
                Retired {
                    replaced_at,
                    proven_until: old.close().await,
                }
            });
        }
        self.current = self.next.take();
        self.is_outdated = false;
        self.backoff.reset();
        self.on_live(uncovered);
    }

    /// Records an outage if a replaced socket was dead before its replacement was live.
    fn on_retired(&mut self, retired: Option<&Retired>) {
        let (slot, now) = (self.membership.slot, self.intake.context.clock.now());
        if let Some(&Retired {
            replaced_at,
            proven_until: Some(proven_until),
        }) = retired
            && proven_until < replaced_at
        {
            let reason = format!(
                "{}: the replaced socket had received nothing since before its \
                 replacement",
                self.plan.name
            );
            let outage = Outage::new(proven_until, replaced_at, reason);
            let gaps = self.group(|group| group.add_outage(slot, outage, now));
            record(&self.intake, gaps);
        }
        if self.retiring.is_empty() {
            self.group(|group| group.end_handover(slot));
        }
    }

    fn on_failed_replacement(&mut self, loss: &Loss) {
        self.next = None;
        self.no_rotation_before = Some(Instant::now() + self.backoff.next());
        self.intake.context.board.trouble(format!(
            "{}: the socket could not be replaced yet: {}",
            self.plan.name, loss.reason
        ));
    }

    async fn close(mut self) {
        for socket in [self.current.take(), self.next.take()]
            .into_iter()
            .flatten()
        {
            socket.close().await;
        }
        while let Some(retired) = self.retiring.join_next().await {
            self.on_retired(retired.ok().as_ref());
        }
        let (slot, now) = (self.membership.slot, self.intake.context.clock.now());
        let mut gaps = Vec::new();
        self.change(|group| gaps = group.close(slot, now));
        record(&self.intake, gaps);
        if self.group(|group| group.is_closed()) {
            let mut notes = self.intake.context.board.notes();
            if self.is_shown(&notes) {
                notes.groups.remove(&self.plan.name);
            }
        }
        self.intake.coverage.topic_counts();
    }
}
