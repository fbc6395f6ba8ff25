//! The connections of one exchange: opens the connections that its markets require, and records up to when orders are
//! covered.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::archive::SessionId;
use crate::collect::connection::reconnect;
use crate::collect::connection::reconnect::{ConnectionCommand, ConnectionEvent};
use crate::collect::feed_group::feed_group::{FeedGroup, Membership};
use crate::collect::feed_group::liveness::IgnoredControl;
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::settings::{millis, span};
use crate::collect::venue_tasks::{VenueTasks, is_set};
use crate::feeds::ConnectionPlan;
use crate::model::{Millis, TimeRange};

/// The open feed groups by name. Each has a plan, and a command channel per connection.
type Groups = HashMap<
    String,
    (
        ConnectionPlan,
        Vec<mpsc::UnboundedSender<ConnectionCommand>>,
    ),
>;

impl VenueTasks {
    /// Keeps the required connections open, and records up to when orders are covered.
    ///
    /// The gap before `begun` is in the backfill queue already.
    pub(crate) async fn run_connections(&self, begun: Millis, mut stop: watch::Receiver<bool>) {
        let pace = &self.context.settings.pace;
        if self.context.venue.listens_by_market() {
            tokio::select! {
                () = self.markets_are_known() => {}
                () = is_set(&mut stop) => return,
            }
        }
        let (events, mut received) = mpsc::unbounded_channel();
        let mut groups = Groups::new();
        let mut tasks = JoinSet::new();
        let mut run = None;
        let mut restart = self.restart.subscribe();
        let mut checkpoint = interval(span(pace.checkpoint).max(Duration::from_millis(10)));
        checkpoint.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut planned: Option<Arc<Markets>> = None;
        // Market lists to store as soon as the gaps of their new topics are recorded.
        let mut to_store = None;
        loop {
            let markets = self.context.markets.load_full();
            let known = planned.as_ref();
            if known.is_none_or(|known| !Arc::ptr_eq(known, &markets)) {
                let plans = self.context.venue.lines(&self.context.wanted_of(&markets));
                if run.is_some() {
                    let topics = groups.values().flat_map(|(plan, _)| plan.topics());
                    let topics = topics.cloned().collect();
                    self.record_new_topics(
                        known.and_then(|known| known.known_until()),
                        &plans,
                        &topics,
                    );
                }
                if self.context.is_complete(&markets) {
                    if let Some(before) = self.take_cached_markets() {
                        let cached = self.context.venue.lines(&self.context.wanted_of(&before));
                        let topics = cached
                            .iter()
                            .flat_map(ConnectionPlan::topics)
                            .cloned()
                            .collect();
                        self.record_new_topics(before.known_until(), &plans, &topics);
                    }
                    to_store = Some(Arc::clone(&markets));
                }
                // A connection ends when its command channel is dropped.
                groups.retain(|name, _| plans.iter().any(|plan| plan.name == *name));
                // Before the session begins, nothing counts as covered, so a new group adds no gap.
                let since = run.map(|_| self.context.clock.now());
                for plan in plans {
                    self.open(plan, since, &mut groups, &mut tasks, &events);
                }
                if markets.are_all_read() {
                    self.context.board.notes().unplanned = false;
                }
                planned = Some(markets);
            }
            tokio::select! {
                () = is_set(&mut stop) => break,
                Some(ConnectionEvent::Live) = received.recv() => {
                    if run.is_none() {
                        run = self.begin_when_live(begun).await;
                    }
                }
                Ok(()) = restart.changed() => {
                    let reason = restart.borrow_and_update().clone().unwrap_or_default();
                    for commands in groups.values().flat_map(|(_, commands)| commands) {
                        let _ = commands.send(ConnectionCommand::Restart(reason.clone()));
                    }
                }
                _ = checkpoint.tick() => {
                    // The session may have to wait for the last market list, which may arrive after all connections
                    // are live.
                    if run.is_none() {
                        run = self.begin_when_live(begun).await;
                    }
                    self.record_checkpoint(run);
                    if let Some(markets) = to_store.take() {
                        self.store_lists(&markets);
                    }
                }
            }
        }
        self.record_checkpoint(run);
        drop(groups);
        while tasks.join_next().await.is_some() {}
    }

    /// Records a gap of the new topics since the last read of the market lists, and requests its backfill.
    fn record_new_topics(
        &self,
        since: Option<Millis>,
        plans: &[ConnectionPlan],
        known: &HashSet<String>,
    ) {
        let new = plans.iter().flat_map(ConnectionPlan::topics).cloned();
        let new = new.filter(|topic| !known.contains(topic));
        let Some(since) = since else { return };
        let reason = "listed after the previous read of the markets";
        let new: BTreeMap<_, _> = new
            .map(|topic| (topic, (since, reason.to_owned())))
            .collect();
        if !new.is_empty() {
            let now = self.context.clock.now();
            let count = plans.iter().flat_map(ConnectionPlan::topics).count();
            self.intake.coverage.topic_gaps_among(&new, count, now);
            self.intake
                .coverage
                .backfill
                .request(TimeRange::new(since, now));
        }
    }

    /// Begins the session once all connections are live.
    async fn begin_when_live(&self, begun: Millis) -> Option<SessionId> {
        self.context.board.covered_until()?;
        let now = self.context.clock.now();
        // A quiet connection is known to be alive once its next message or pong arrives.
        let pace = &self.context.settings.pace;
        let late = millis(pace.stale_connection + 3.0 * pace.checkpoint);
        let run = self.begin_session(now, late).await?;
        // Backfills the time in which the markets were read and the connections opened.
        self.intake
            .coverage
            .backfill
            .request(TimeRange::new(begun, now));
        Some(run)
    }

    /// Records the instant up to which all orders are in the archive.
    fn record_checkpoint(&self, run: Option<SessionId>) {
        if let (Some(run), Some(at)) = (run, self.context.board.covered_until()) {
            let at = self.intake.delivered_until(at);
            self.context.delivery.note_seen(run, at);
        }
    }

    /// Opens a feed group, or changes the topics of an open feed group.
    fn open(
        &self,
        plan: ConnectionPlan,
        since: Option<Millis>,
        groups: &mut Groups,
        tasks: &mut JoinSet<()>,
        events: &mpsc::UnboundedSender<ConnectionEvent>,
    ) {
        match groups.get_mut(&plan.name) {
            Some((known, _)) if *known == plan => {}
            Some((known, commands)) => {
                *known = plan.clone();
                for command in commands {
                    let _ = command.send(ConnectionCommand::SetPlan(Box::new(plan.clone())));
                }
            }
            None => {
                let topics = plan.topics().cloned().collect();
                let now = self.context.clock.now();
                let group =
                    FeedGroup::new(self.context.is_redundant(), &plan.name, topics, since, now);
                let slots = group.slots();
                let group = Arc::new(Mutex::new(group));
                // The group is added to the status board first, so that the exchange does not count as live without
                // it.
                let mut notes = self.context.board.notes();
                let status = notes.groups.entry(plan.name.clone()).or_default();
                status.group = Some(Arc::clone(&group));
                drop(notes);
                let ignored_control = Arc::new(IgnoredControl::default());
                let prove = Arc::new(Notify::new());
                let mut channels = Vec::with_capacity(slots.len());
                for slot in slots {
                    let (commands, received) = mpsc::unbounded_channel();
                    channels.push(commands);
                    let membership = Membership {
                        slot: *slot,
                        group: Arc::clone(&group),
                        ignored_control: Arc::clone(&ignored_control),
                        prove: Arc::clone(&prove),
                    };
                    tasks.spawn(reconnect::run(
                        Arc::clone(&self.intake),
                        self.rest.http.connector.clone(),
                        plan.clone(),
                        membership,
                        received,
                        events.clone(),
                    ));
                }
                groups.insert(plan.name.clone(), (plan, channels));
            }
        }
    }
}
