//! Everything about one venue: its markets, its sockets, what was missed, its history. Nothing that happens here touches
//! another venue.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::fill::Fill;
use super::intake::{Intake, Markets, told};
use super::line::{self, News, Order};
use super::rest::{Rest, RestError};
use super::settings::{millis, span};
use super::yardstick::Yardstick;
use crate::archive::{Archive, ArchiveError, RunId};
use crate::feeds::{Ask, Error, Line, Listing};
use crate::model::Millis;

/// How far before a gap a back-fill begins: clocks differ.
const MARGIN: i64 = 5000;

/// What a venue's tasks share.
pub(super) struct Tended {
    pub(super) intake: Arc<Intake>,
    pub(super) rest: Arc<Rest>,
    pub(super) archive: PathBuf,
    pub(super) history_coins: Vec<String>,
    pub(super) yardstick: Arc<Yardstick>,
    /// Whether only the past is asked for.
    pub(super) once: bool,
    /// Whether the back-fills of the start are over.
    pub(super) filled: AtomicBool,
    /// Whether the markets have been read.
    pub(super) known: watch::Sender<bool>,
    /// What the sockets are told from outside, such as that they are mute.
    pub(super) orders: watch::Sender<Option<String>>,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Rest(#[from] RestError),
    #[error("the reply cannot be read: {0}")]
    Reply(#[from] Error),
}

/// Returns once it is said, or nobody is left to say it.
async fn said(word: &mut watch::Receiver<bool>) {
    let _ = word.wait_for(|said| *said).await;
}

/// Stretches with a margin, none before `furthest`, those that touch taken together, the newest first.
fn merged(mut stretches: Vec<(Millis, Millis)>, furthest: Millis) -> Vec<(Millis, Millis)> {
    stretches.sort_unstable();
    let mut merged: Vec<(Millis, Millis)> = Vec::new();
    for (from, until) in stretches {
        let (from, until) = (from.back(MARGIN).max(furthest), until.on(MARGIN));
        if until <= furthest {
            continue;
        }
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = until.max(*end),
            _ => merged.push((from, until)),
        }
    }
    merged.reverse();
    merged
}

/// Tends a venue until `stop`, or until its past is filled where that is all that is wanted.
pub(super) async fn tend(venue: Arc<Tended>, mut stop: watch::Receiver<bool>) {
    if venue.once {
        let past = async {
            if venue.is_proven().await {
                venue.run_once().await;
            }
        };
        tokio::select! {
            () = past => {}
            () = said(&mut stop) => {}
        }
    } else {
        loop {
            tokio::select! {
                () = venue.until_proven() => {}
                () = said(&mut stop) => break,
            }
            if venue.run(stop.clone()).await == End::Wanted {
                break;
            }
        }
    }
    venue.intake.give_up_held();
    venue.intake.end_loss();
    venue.filled.store(true, Ordering::Release);
    venue.intake.seat.notes().stopped = true;
}

/// Why the listening to a venue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It was told to.
    Wanted,
    /// What the venue tells must not be kept.
    Disproved,
}

impl Tended {
    /// Asks for the past and ends.
    async fn run_once(&self) {
        self.read_markets_until_known().await;
        let missing = self.missing().await;
        tokio::join!(self.fill_all(missing), self.fill_history());
        self.intake.try_held().await;
    }

    /// Listens until `stop`, or until what the venue tells must not be kept; returns once the sockets are closed.
    async fn run(&self, mut stop: watch::Receiver<bool>) -> End {
        let (stretches, to_fill) = mpsc::unbounded_channel();
        let missing = self.missing().await;
        let beside = async {
            tokio::join!(
                self.tend_markets(),
                self.tend_missed(to_fill, missing),
                self.tend_held(),
            );
            std::future::pending::<()>().await;
        };
        let (leave, leaving) = watch::channel(false);
        let end = async {
            let end = tokio::select! {
                () = said(&mut stop) => End::Wanted,
                () = self.until_disproved(), if self.is_in_doubt() => End::Disproved,
            };
            leave.send_replace(true);
            end
        };
        tokio::select! {
            (end, ()) = async { tokio::join!(end, self.tend_lines(stretches, leaving)) } => end,
            () = beside => End::Wanted,
        }
    }

    /// Returns once the markets are known, where the venue lists any.
    async fn markets_are_known(&self) {
        if !self.intake.venue.listing_requests().is_empty() {
            said(&mut self.known.subscribe()).await;
        }
    }

    /// The stretches of which liquidations may be missing and can still be asked for: since the archive last listened,
    /// and the gaps on record, for a back-fill may have been cut short; merged, the newest first.
    async fn missing(&self) -> Vec<(Millis, Millis)> {
        let now = super::now();
        let hours = i64::from(self.intake.settings.missed_hours);
        let reach = hours
            .saturating_mul(Millis::HOUR)
            .min(self.intake.venue.look_back());
        if reach == 0 {
            return Vec::new();
        }
        let furthest = now.back(reach);
        let (path, name) = (self.archive.clone(), self.intake.name());
        let read = move || -> Result<Vec<(Millis, Millis)>, ArchiveError> {
            let archive = Archive::read(path)?;
            let runs = archive.runs(Millis(0), now.on(1))?;
            let of_venue = runs.into_iter().filter(|run| run.exchange == name);
            let last_seen = of_venue.map(|run| run.seen).max();
            let gaps = archive.gaps(furthest, now.on(1))?;
            let mut missing: Vec<(Millis, Millis)> = gaps
                .into_iter()
                .filter(|gap| gap.exchange == name)
                .map(|gap| (gap.start, gap.end))
                .collect();
            missing.push((last_seen.unwrap_or(furthest), now));
            Ok(missing)
        };
        let missing = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(missing)) => missing,
            Ok(Err(fault)) => {
                self.intake
                    .seat
                    .trouble(format!("the archive cannot be read: {fault}"));
                vec![(furthest, now)]
            }
            Err(_) => vec![(furthest, now)],
        };
        merged(missing, furthest)
    }

    // --- markets

    /// Reads the markets; whether that succeeded.
    async fn read_markets(&self) -> Result<(), Failure> {
        let venue = self.intake.venue;
        let mut listings: Vec<Listing> = Vec::new();
        let mut asks: VecDeque<Ask> = venue.listing_requests().into();
        let mut failed = None;
        while let Some(ask) = asks.pop_front() {
            let body = match self.rest.get(&ask).await {
                Ok(body) => body,
                // One kind of market that cannot be read does not cost the others.
                Err(fault) => {
                    failed = Some(fault);
                    continue;
                }
            };
            let page = self.read_listings(&ask, &body)?;
            listings.extend(page.rows);
            asks.extend(page.rest);
        }
        match failed {
            Some(fault) if listings.is_empty() => return Err(fault.into()),
            Some(fault) => self.intake.seat.trouble(fault.to_string()),
            None => {}
        }
        self.intake.markets.store(Arc::new(Markets::of(listings)));
        self.known.send_replace(true);
        Ok(())
    }

    fn read_listings(&self, ask: &Ask, body: &str) -> Result<crate::feeds::Page<Listing>, Error> {
        let faults = RefCell::new(Vec::new());
        let none = crate::feeds::Instruments::default();
        let venue = self.intake.venue;
        let page = venue.read_listings(ask, &venue.frame(body, None, &none).keeping(&faults))?;
        // Options and other kinds of contract stand in these lists as well; what a market lacks shows when a row needs it.
        for fault in faults.take() {
            log::debug!(target: "liqdata::feeds", "{}: a market is passed over: {fault}", self.intake.name());
        }
        Ok(page)
    }

    async fn read_markets_until_known(&self) {
        if self.intake.venue.listing_requests().is_empty() {
            return;
        }
        let mut backoff = self.intake.settings.pace.backoff();
        let mut attempts = 0;
        while let Err(fault) = self.read_markets().await {
            self.intake
                .seat
                .trouble(format!("the markets cannot be read: {fault}"));
            attempts += 1;
            if self.once && attempts >= 3 {
                return;
            }
            tokio::time::sleep(backoff.next()).await;
        }
    }

    /// Reads the markets at the start, every hour, and soon after an unknown one turned up.
    async fn tend_markets(&self) {
        if self.intake.venue.listing_requests().is_empty() {
            return;
        }
        self.read_markets_until_known().await;
        let pace = &self.intake.settings.pace;
        loop {
            self.intake.try_held().await;
            let read = Instant::now();
            // A market may be traded before it is listed, so it is looked for as long as rows wait for it.
            let again = if self.intake.held() > 0 {
                span(pace.instruments_least).min(span(pace.instruments))
            } else {
                span(pace.instruments)
            };
            tokio::select! {
                () = tokio::time::sleep(again) => {}
                () = self.intake.unknown.notified() => {
                    tokio::time::sleep_until(read + span(pace.instruments_least)).await;
                }
            }
            if let Err(fault) = self.read_markets().await {
                self.intake
                    .seat
                    .trouble(format!("the markets cannot be read: {fault}"));
            }
        }
    }

    /// The markets of the coins that are asked for.
    fn asked_for(&self, listings: &[Listing]) -> Vec<Listing> {
        listings
            .iter()
            .filter(|listing| self.intake.is_asked_for(&listing.coin().0))
            .cloned()
            .collect()
    }

    /// Gives up the rows that have waited too long.
    async fn tend_held(&self) {
        let each = span(self.intake.settings.pace.hold)
            .div_f64(4.0)
            .max(Duration::from_millis(10));
        loop {
            tokio::time::sleep(each).await;
            if self.intake.held() > 0 {
                self.intake.try_held().await;
            }
        }
    }

    // --- sockets

    /// Keeps the sockets open that the markets ask for, and writes down that the listening goes on.
    async fn tend_lines(
        &self,
        stretches: mpsc::UnboundedSender<(Millis, Millis)>,
        mut stop: watch::Receiver<bool>,
    ) {
        let pace = &self.intake.settings.pace;
        if self.intake.venue.listens_by_market() {
            tokio::select! {
                () = self.markets_are_known() => {}
                () = said(&mut stop) => return,
            }
        }
        let (news, mut heard) = mpsc::unbounded_channel();
        let mut lines: HashMap<String, (Line, mpsc::UnboundedSender<Order>)> = HashMap::new();
        let mut tasks = JoinSet::new();
        let mut run: Option<RunId> = None;
        let mut orders = self.orders.subscribe();
        let mut seen = tokio::time::interval(span(pace.seen).max(Duration::from_millis(10)));
        seen.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut planned: Option<Arc<Markets>> = None;
        loop {
            let markets = self.intake.markets.load_full();
            if planned
                .as_ref()
                .is_none_or(|known| !Arc::ptr_eq(known, &markets))
            {
                let plan = self.intake.venue.lines(&self.asked_for(&markets.listings));
                // A line that is no longer wanted ends with its orders.
                lines.retain(|name, _| plan.iter().any(|line| line.name == *name));
                for line in plan {
                    self.plan(line, &mut lines, &mut tasks, &news);
                }
                planned = Some(markets);
            }
            tokio::select! {
                () = said(&mut stop) => break,
                Some(piece) = heard.recv() => match piece {
                    News::Live if run.is_none() => run = self.begin_run(super::now()).await,
                    News::Live => {}
                    News::Back { since, until } => {
                        let _ = stretches.send((since, until));
                    }
                },
                Ok(()) = orders.changed() => {
                    let reason = orders.borrow_and_update().clone();
                    if let Some(reason) = reason {
                        for (_, line) in lines.values() {
                            let _ = line.send(Order::Renew(reason.clone()));
                        }
                    }
                }
                _ = seen.tick() => {
                    if let (Some(run), Some(at)) = (run, self.intake.seat.seen()) {
                        self.intake.keep.note(Vec::new(), vec![(run, at)]);
                    }
                }
            }
        }
        if let (Some(run), Some(at)) = (run, self.intake.seat.seen()) {
            self.intake.keep.note(Vec::new(), vec![(run, at)]);
        }
        drop(lines);
        while tasks.join_next().await.is_some() {}
    }

    fn plan(
        &self,
        line: Line,
        lines: &mut HashMap<String, (Line, mpsc::UnboundedSender<Order>)>,
        tasks: &mut JoinSet<()>,
        news: &mpsc::UnboundedSender<News>,
    ) {
        match lines.get_mut(&line.name) {
            Some((known, _)) if *known == line => {}
            Some((known, orders)) => {
                *known = line.clone();
                let _ = orders.send(Order::Replace(Box::new(line)));
            }
            None => {
                let (orders, received) = mpsc::unbounded_channel();
                lines.insert(line.name.clone(), (line.clone(), orders));
                tasks.spawn(line::tend(
                    Arc::clone(&self.intake),
                    self.rest.http.connector.clone(),
                    line,
                    received,
                    news.clone(),
                ));
            }
        }
    }

    async fn begin_run(&self, at: Millis) -> Option<RunId> {
        let completeness = told(self.intake.venue.completeness());
        self.intake
            .keep
            .begin(self.intake.name(), completeness, at)
            .await
    }

    // --- what was missed

    /// Asks for what was missed: since the last run at the start, then whenever a connection came back. A venue without
    /// sockets is polled.
    async fn tend_missed(
        &self,
        mut to_fill: mpsc::UnboundedReceiver<(Millis, Millis)>,
        missing: Vec<(Millis, Millis)>,
    ) {
        self.markets_are_known().await;
        let polled = self
            .intake
            .venue
            .lines(&self.intake.markets.load().listings)
            .is_empty();
        let past = async {
            if polled {
                self.poll(missing).await;
            } else {
                self.fill_all(missing).await;
                while let Some((since, until)) = to_fill.recv().await {
                    self.fill_missed(since.back(MARGIN), until.on(MARGIN)).await;
                }
            }
        };
        let history = async {
            let Some(mut fill) = self.fill() else {
                self.filled.store(true, Ordering::Release);
                return;
            };
            fill.begin().await;
            self.filled.store(true, Ordering::Release);
            self.go_on(fill).await;
        };
        tokio::join!(past, history);
    }

    async fn fill_all(&self, missing: Vec<(Millis, Millis)>) {
        for (from, until) in missing {
            self.fill_missed(from, until).await;
        }
    }

    /// Asks for the liquidations of a stretch; whether all requests were answered.
    async fn fill_missed(&self, from: Millis, until: Millis) -> bool {
        let venue = self.intake.venue;
        if venue.look_back() == 0 || from >= until {
            return true;
        }
        let markets = self.intake.markets.load_full();
        let mut asks: VecDeque<Ask> = venue
            .missed(&self.asked_for(&markets.listings), from, until)
            .into();
        self.intake.seat.notes().status.to_ask += u64::try_from(asks.len()).unwrap_or(0);
        let (mut answered, mut complete) = (0, true);
        while let Some(ask) = asks.pop_front() {
            if answered >= self.intake.settings.missed_requests {
                let reason = format!(
                    "back-fill given up after {answered} requests (missed_requests); {} are left",
                    asks.len() + 1
                );
                self.intake.seat.trouble(reason.clone());
                self.intake.gap(from, until, &reason);
                return false;
            }
            match self.ask_for_missed(&ask).await {
                Ok(rest) => {
                    self.intake.seat.notes().status.to_ask +=
                        u64::try_from(rest.len()).unwrap_or(0);
                    asks.extend(rest);
                }
                // The venue no longer answers such requests at all: the live feed goes on without.
                Err(Failure::Rest(fault)) if fault.is_absent() => {
                    self.intake.seat.trouble(format!("no back-fill: {fault}"));
                    complete = false;
                    let left = u64::try_from(asks.len()).unwrap_or(0);
                    let mut notes = self.intake.seat.notes();
                    notes.status.to_ask = notes.status.to_ask.saturating_sub(left);
                    asks.clear();
                }
                Err(fault) => {
                    self.intake.seat.trouble(format!("back-fill: {fault}"));
                    complete = false;
                }
            }
            answered += 1;
            self.intake.seat.notes().status.asked += 1;
        }
        complete
    }

    async fn ask_for_missed(&self, ask: &Ask) -> Result<Vec<Ask>, Failure> {
        let body = self.rest.get(ask).await?;
        match self.intake.take_body(ask, &body).await {
            Ok(rest) => Ok(rest),
            Err(fault) => {
                self.intake
                    .reject(&body, std::slice::from_ref(&fault), super::now());
                Err(fault.into())
            }
        }
    }

    /// Asks a venue without sockets again and again. The time from poll to poll is covered while they are answered; the
    /// past before the first one is asked for and not called covered, as with every other venue.
    async fn poll(&self, missing: Vec<(Millis, Millis)>) {
        let every = span(self.intake.settings.pace.poll);
        let mut stretches = missing.into_iter();
        let mut from = stretches.next().map_or_else(super::now, |(from, _)| from);
        self.fill_all(stretches.collect()).await;
        let mut run = None;
        // Until when it is covered, and whether a poll since then went unanswered.
        let (mut covered, mut in_vain) = (None, false);
        loop {
            let now = super::now();
            let answered = self.fill_missed(from, now).await;
            self.intake.seat.notes().polled = Some(answered);
            in_vain |= !answered;
            if answered {
                if let Some(since) = covered.replace(now).filter(|_| in_vain) {
                    self.intake.gap(since, now, "a poll was not answered");
                }
                in_vain = false;
                if run.is_none() {
                    run = self.begin_run(now).await;
                }
                if let Some(run) = run {
                    self.intake.keep.note(Vec::new(), vec![(run, now)]);
                }
                // Rows may be reported late.
                from = now.back(millis(self.intake.settings.pace.poll));
            }
            tokio::time::sleep(every).await;
        }
    }

    // --- history

    fn fill(&self) -> Option<Fill> {
        let venue = self.intake.venue;
        let collected = venue.open_interest_look_back() > 0 && !self.history_coins.is_empty();
        collected.then(|| {
            Fill::new(
                Arc::clone(&self.intake),
                Arc::clone(&self.rest),
                Arc::clone(&self.yardstick),
                self.archive.clone(),
                self.history_coins.clone(),
            )
        })
    }

    async fn fill_history(&self) {
        if let Some(mut fill) = self.fill() {
            fill.begin().await;
        }
    }

    async fn go_on(&self, mut fill: Fill) {
        let pace = &self.intake.settings.pace;
        let mut readings = Instant::now();
        loop {
            tokio::time::sleep(span(pace.bars)).await;
            let due = readings <= Instant::now();
            if due {
                readings = Instant::now() + span(pace.poll);
            }
            fill.go_on(due).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_asked_for_once_and_none_beyond_reach() {
        let of = |all: &[(i64, i64)]| {
            let all = all
                .iter()
                .map(|(from, until)| (Millis(from * 1000), Millis(until * 1000)))
                .collect();
            merged(all, Millis(100_000))
        };
        assert_eq!(
            of(&[(300, 310), (200, 210), (215, 220), (10, 20), (50, 120)]),
            [
                (Millis(295_000), Millis(315_000)),
                (Millis(195_000), Millis(225_000)),
                (Millis(100_000), Millis(125_000)),
            ]
        );
        assert_eq!(of(&[]), []);
    }
}
