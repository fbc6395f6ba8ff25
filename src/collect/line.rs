//! A socket that is kept open: opened again after a loss, replaced by a fresh one before it grows too old.
//!
//! The time from the last sign of a lost connection until the next one listens is a gap, with the reason of the loss. At a
//! replacement the new socket listens before the old one is closed, so there is none. The old one is listened to for a
//! while longer, for what happened before the new one was heard may still be on its way.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::intake::Intake;
use super::settings::{span, span_or};
use super::socket::{self, Loss, Word};
use crate::feeds::Line;
use crate::model::Millis;
use crate::net::{Backoff, Connector};

/// What a line is told.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Its connection is to be taken for lost.
    Renew(String),
    /// Its topics have changed.
    Replace(Box<Line>),
}

/// What a line tells of itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum News {
    /// It listens for the first time.
    Live,
    /// It listens again after it had not since then.
    Back { since: Millis, until: Millis },
}

/// A socket under way.
struct Session {
    task: JoinHandle<Loss>,
    ready: oneshot::Receiver<BTreeSet<String>>,
    word: watch::Sender<Word>,
    live_since: Option<Instant>,
}

impl Session {
    fn open(intake: &Arc<Intake>, connector: &Connector, line: &Line) -> Self {
        let (said, ready) = oneshot::channel();
        let (word, heard) = watch::channel(Word::Listen);
        let task = tokio::spawn(socket::listen(
            Arc::clone(intake),
            connector.clone(),
            line.clone(),
            said,
            heard,
        ));
        Self {
            task,
            ready,
            word,
            live_since: None,
        }
    }

    async fn is_lost(&mut self) -> Loss {
        match (&mut self.task).await {
            Ok(loss) => loss,
            Err(error) => Loss {
                reason: format!("a bug in liqdata, please report it: {error}"),
                last_sign: None,
            },
        }
    }

    async fn close(mut self) {
        let _ = self.word.send(Word::Close);
        self.is_lost().await;
    }
}

/// Either of what a session may come to.
enum Turn {
    Live(BTreeSet<String>),
    Lost(Loss),
}

async fn turn(session: &mut Option<Session>) -> Turn {
    let Some(session) = session else {
        return std::future::pending().await;
    };
    if session.live_since.is_some() {
        return Turn::Lost(session.is_lost().await);
    }
    let Session {
        task,
        ready,
        live_since,
        ..
    } = session;
    tokio::select! {
        biased;
        Ok(uncovered) = ready => {
            *live_since = Some(Instant::now());
            Turn::Live(uncovered)
        }
        ended = task => Turn::Lost(ended.unwrap_or_else(|error| Loss {
            reason: format!("a bug in liqdata, please report it: {error}"),
            last_sign: None,
        })),
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Keeps a line open until `orders` ends.
pub(super) async fn tend(
    intake: Arc<Intake>,
    connector: Connector,
    line: Line,
    mut orders: mpsc::UnboundedReceiver<Order>,
    news: mpsc::UnboundedSender<News>,
) {
    let mut tender = Tender::new(intake, connector, line, news);
    loop {
        let rotate_at = tender.rotate_at();
        tokio::select! {
            order = orders.recv() => match order {
                Some(order) => tender.on_order(order),
                None => break,
            },
            turn = turn(&mut tender.current) => match turn {
                Turn::Live(uncovered) => tender.on_live(uncovered),
                Turn::Lost(loss) => tender.on_loss(&loss),
            },
            turn = turn(&mut tender.next) => match turn {
                Turn::Live(uncovered) => tender.on_replaced(uncovered),
                Turn::Lost(loss) => tender.on_failed_replacement(&loss),
            },
            () = at(tender.retry_at) => tender.retry(),
            () = at(rotate_at) => tender.replace(),
        }
    }
    tender.end().await;
}

struct Tender {
    intake: Arc<Intake>,
    connector: Connector,
    line: Line,
    news: mpsc::UnboundedSender<News>,
    current: Option<Session>,
    next: Option<Session>,
    /// Sockets that were replaced, on their way out.
    parting: JoinSet<()>,
    retry_at: Option<Instant>,
    /// A replacement that failed is not tried before this.
    no_rotation_before: Option<Instant>,
    backoff: Backoff,
    /// Since when nothing listens, and why.
    missing: Option<(Millis, String)>,
    was_live: bool,
}

impl Tender {
    fn new(
        intake: Arc<Intake>,
        connector: Connector,
        line: Line,
        news: mpsc::UnboundedSender<News>,
    ) -> Self {
        let backoff = intake.settings.pace.backoff();
        intake
            .seat
            .notes()
            .lines
            .entry(line.name.clone())
            .or_default();
        let current = Some(Session::open(&intake, &connector, &line));
        Self {
            intake,
            connector,
            line,
            news,
            current,
            next: None,
            parting: JoinSet::new(),
            retry_at: None,
            no_rotation_before: None,
            backoff,
            missing: None,
            was_live: false,
        }
    }

    fn rotate_at(&self) -> Option<Instant> {
        if self.next.is_some() {
            return None;
        }
        let age = span_or(
            self.intake.settings.pace.rotate,
            self.intake.venue.rotation().unwrap_or(Duration::ZERO),
        );
        let since = self.current.as_ref()?.live_since?;
        let due = (!age.is_zero()).then(|| since + age)?;
        Some(self.no_rotation_before.map_or(due, |least| due.max(least)))
    }

    fn on_order(&mut self, order: Order) {
        match order {
            Order::Renew(reason) => {
                if let Some(session) = &self.current {
                    let _ = session.word.send(Word::Renew(reason));
                }
            }
            Order::Replace(line) => {
                self.line = *line;
                // Of a replacement under way the topics are old as well.
                self.next = None;
                self.replace();
            }
        }
    }

    fn note(&self, is_live: bool, uncovered: BTreeSet<String>) {
        let mut notes = self.intake.seat.notes();
        let note = notes.lines.entry(self.line.name.clone()).or_default();
        note.is_live = is_live;
        note.was_live |= is_live;
        note.uncovered = uncovered;
        if is_live {
            note.last_sign = note.last_sign.max(Some(super::now()));
            notes.status.trouble = None;
        }
    }

    fn on_live(&mut self, uncovered: BTreeSet<String>) {
        let now = super::now();
        log::info!(target: "liqdata::feeds", "{}: {} is live", self.intake.name(), self.line.name);
        // The gap is recorded before it can be written down that the listening goes on.
        if let Some((since, reason)) = self.missing.take() {
            self.intake.gap(since, now, &reason);
            let _ = self.news.send(News::Back { since, until: now });
        }
        self.note(true, uncovered);
        if !self.was_live {
            self.was_live = true;
            let _ = self.news.send(News::Live);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let healthy = span(self.intake.settings.pace.healthy);
        let lived = self.current.take().and_then(|session| session.live_since);
        if lived.is_some_and(|since| since.elapsed() >= healthy) {
            self.backoff.reset();
        }
        let reason = format!("{}: {}", self.line.name, loss.reason);
        if lived.is_some() && self.missing.is_none() {
            let since = loss.last_sign.unwrap_or_else(super::now);
            self.missing = Some((since, reason.clone()));
        }
        let topics = self.line.batches.iter().flatten().cloned().collect();
        self.note(false, topics);
        self.intake.seat.trouble(reason);
        match self.next.take() {
            // The replacement is on its way already.
            Some(next) => self.current = Some(next),
            None => self.retry_at = Some(Instant::now() + self.backoff.next()),
        }
    }

    fn retry(&mut self) {
        self.retry_at = None;
        self.current = Some(Session::open(&self.intake, &self.connector, &self.line));
    }

    fn replace(&mut self) {
        if self.current.is_some() && self.next.is_none() {
            self.next = Some(Session::open(&self.intake, &self.connector, &self.line));
        }
    }

    fn on_replaced(&mut self, uncovered: BTreeSet<String>) {
        if let Some(old) = self.current.take() {
            let overlap = span(self.intake.settings.pace.overlap);
            while self.parting.try_join_next().is_some() {}
            self.parting.spawn(async move {
                tokio::time::sleep(overlap).await;
                old.close().await;
            });
        }
        self.current = self.next.take();
        self.no_rotation_before = None;
        self.on_live(uncovered);
    }

    fn on_failed_replacement(&mut self, loss: &Loss) {
        self.next = None;
        self.no_rotation_before = Some(Instant::now() + self.backoff.next());
        self.intake.seat.trouble(format!(
            "{}: not replaced yet: {}",
            self.line.name, loss.reason
        ));
    }

    async fn end(mut self) {
        for session in [self.current.take(), self.next.take()]
            .into_iter()
            .flatten()
        {
            session.close().await;
        }
        while self.parting.join_next().await.is_some() {}
        if let Some((since, reason)) = self.missing.take() {
            self.intake.gap(since, super::now(), &reason);
        }
        self.intake.seat.notes().lines.remove(&self.line.name);
    }
}
