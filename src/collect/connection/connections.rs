//! The sockets of one venue: those that its markets ask for, kept open.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::archive::SessionId;
use crate::collect::connection::reconnect;
use crate::collect::connection::reconnect::{ConnectionCommand, ConnectionEvent};
use crate::collect::connection::redundancy::{Ears, Place};
use crate::collect::health::liveness::IgnoredControl;
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::span;
use crate::collect::venue_tasks::{VenueTasks, is_set};
use crate::feeds::Line;
use crate::model::{Millis, TimeRange};

/// The lines that are kept open, by name, each with the ways to change it: one to each socket that listens to it.
type Lines = HashMap<String, (Line, Vec<mpsc::UnboundedSender<ConnectionCommand>>)>;

impl VenueTasks {
    /// Keeps the sockets open that the markets ask for, and writes down that the listening goes on.
    ///
    /// What was missed has been looked for up to `begun`.
    pub(crate) async fn run_connections(&self, begun: Millis, mut stop: watch::Receiver<bool>) {
        let pace = &self.context.settings.pace;
        if self.context.venue.listens_by_market() {
            tokio::select! {
                () = self.markets_are_known() => {}
                () = is_set(&mut stop) => return,
            }
        }
        let (news, mut heard) = mpsc::unbounded_channel();
        let mut lines = Lines::new();
        let mut tasks = JoinSet::new();
        let mut run = None;
        let mut renewal = self.renewal.subscribe();
        let mut seen = interval(span(pace.seen).max(Duration::from_millis(10)));
        seen.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut planned: Option<Arc<Markets>> = None;
        // What is to be kept once that which is written down of it is, too.
        let mut to_keep = None;
        loop {
            let markets = self.context.markets.load_full();
            let known = planned.as_ref();
            if known.is_none_or(|known| !Arc::ptr_eq(known, &markets)) {
                let plan = self.context.venue.lines(&self.context.wanted_of(&markets));
                if run.is_some() {
                    let topics = lines.values().flat_map(|(line, _)| line.topics());
                    let topics = topics.cloned().collect();
                    self.note_listed(known.and_then(|known| known.known_until()), &plan, &topics);
                }
                if self.context.is_complete(&markets) {
                    if let Some(before) = self.take_known_before() {
                        let lines = self.context.venue.lines(&self.context.wanted_of(&before));
                        let topics = lines.iter().flat_map(Line::topics).cloned().collect();
                        self.note_listed(before.known_until(), &plan, &topics);
                    }
                    to_keep = Some(Arc::clone(&markets));
                }
                // A line that is no longer wanted ends with the way to change it.
                lines.retain(|name, _| plan.iter().any(|line| line.name == *name));
                // Until all are heard for the first time nothing is called covered.
                let since = run.map(|_| self.context.clock.now());
                for line in plan {
                    self.plan(line, since, &mut lines, &mut tasks, &news);
                }
                if markets.are_all_read() {
                    self.context.board.notes().unplanned = false;
                }
                planned = Some(markets);
            }
            tokio::select! {
                () = is_set(&mut stop) => break,
                Some(ConnectionEvent::Live) = heard.recv() => {
                    if run.is_none() {
                        run = self.begin_when_heard(begun).await;
                    }
                }
                Ok(()) = renewal.changed() => {
                    let reason = renewal.borrow_and_update().clone().unwrap_or_default();
                    for change in lines.values().flat_map(|(_, changes)| changes) {
                        let _ = change.send(ConnectionCommand::Renew(reason.clone()));
                    }
                }
                _ = seen.tick() => {
                    // The last of its markets may be known later than all sockets listen.
                    if run.is_none() {
                        run = self.begin_when_heard(begun).await;
                    }
                    self.note_seen(run);
                    if let Some(markets) = to_keep.take() {
                        self.keep_lists(&markets);
                    }
                }
            }
        }
        self.note_seen(run);
        drop(lines);
        while tasks.join_next().await.is_some() {}
    }

    /// Writes down that topics that are new may have been told of since the markets were read before.
    fn note_listed(&self, since: Option<Millis>, plan: &[Line], known: &HashSet<String>) {
        let new = plan.iter().flat_map(Line::topics).cloned();
        let new = new.filter(|topic| !known.contains(topic));
        let Some(since) = since else { return };
        let reason = "listed since the markets were read before";
        let new: BTreeMap<_, _> = new
            .map(|topic| (topic, (since, reason.to_owned())))
            .collect();
        if !new.is_empty() {
            let now = self.context.clock.now();
            let asked = plan.iter().flat_map(Line::topics).count();
            self.intake.coverage.topic_gaps_among(&new, asked, now);
            self.intake
                .coverage
                .backfill
                .request(TimeRange::new(since, now));
        }
    }

    /// Writes down that the listening begins, once all sockets listen.
    async fn begin_when_heard(&self, begun: Millis) -> Option<SessionId> {
        self.context.board.seen()?;
        let now = self.context.clock.now();
        let run = self.begin_session(now).await?;
        // What happened while the markets were read and the sockets opened.
        self.intake
            .coverage
            .backfill
            .request(TimeRange::new(begun, now));
        Some(run)
    }

    /// Writes down until when all of the sockets certainly listened.
    fn note_seen(&self, run: Option<SessionId>) {
        if let (Some(run), Some(at)) = (run, self.context.board.seen()) {
            let at = self.intake.delivered_until(at);
            self.context.delivery.note_seen(run, at);
        }
    }

    /// Opens a line, or tells it what has changed.
    fn plan(
        &self,
        line: Line,
        since: Option<Millis>,
        lines: &mut Lines,
        tasks: &mut JoinSet<()>,
        news: &mpsc::UnboundedSender<ConnectionEvent>,
    ) {
        match lines.get_mut(&line.name) {
            Some((known, _)) if *known == line => {}
            Some((known, changes)) => {
                *known = line.clone();
                for change in changes {
                    let _ = change.send(ConnectionCommand::Replace(Box::new(line.clone())));
                }
            }
            None => {
                let count = self.context.redundancy();
                let topics = line.topics().cloned().collect();
                let now = self.context.clock.now();
                let ears = Arc::new(Mutex::new(Ears::new(count, &line.name, topics, since, now)));
                // Before anybody may take the venue for heard.
                let mut notes = self.context.board.notes();
                let note = notes.lines.entry(line.name.clone()).or_default();
                note.ears = Some(Arc::clone(&ears));
                drop(notes);
                let ignored_control = Arc::new(IgnoredControl::default());
                let proof = Arc::new(Notify::new());
                let mut ways = Vec::with_capacity(count);
                for ear in 0..count {
                    let (changes, received) = mpsc::unbounded_channel();
                    ways.push(changes);
                    let place = Place {
                        ear,
                        ears: Arc::clone(&ears),
                        ignored_control: Arc::clone(&ignored_control),
                        proof: Arc::clone(&proof),
                    };
                    tasks.spawn(reconnect::tend(
                        Arc::clone(&self.intake),
                        self.rest.http.connector.clone(),
                        line.clone(),
                        place,
                        received,
                        news.clone(),
                    ));
                }
                lines.insert(line.name.clone(), (line, ways));
            }
        }
    }
}
