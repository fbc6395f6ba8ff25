//! The liquidations of a venue that nobody heard: which stretches may be missing, and asking for them again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::archive::{Archive, ArchiveError, CommitHandle, Filter, GapState, SessionId};
use crate::collect::backfill::queue::{Debts, Owed, Stretch};
use crate::collect::lock::locked;
use crate::collect::reference_data::markets::Markets;
use crate::collect::rest_client::RestError;
use crate::collect::settings::{millis, span, span_or};
use crate::collect::venue_tasks::{Failure, VenueTasks};
use crate::feeds::{Ask, Keyed};
use crate::model::Millis;
use crate::net::Backoff;

/// How far before a gap a back-fill begins: clocks differ.
pub(crate) const MARGIN: i64 = 5000;
/// The shortest part that a stretch is split into.
const SHORTEST: i64 = 10 * Millis::MINUTE;

/// How one pass over a stretch went.
#[derive(Debug)]
struct Told {
    /// Orders that became known by it.
    rows: u64,
    requests: u32,
    /// How many of them there were to begin with, and how many were left in the end.
    first: usize,
    left: usize,
    answer: Answer,
}

impl Told {
    /// Why there were too many.
    fn given_up(&self) -> String {
        let (requests, left) = (self.requests, self.left);
        format!("back-fill given up after {requests} requests (missed_requests); {left} are left")
    }
}

/// What the venue said to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// All requests were answered, and all rows are durable.
    Whole,
    /// Some were not.
    Partial,
    /// It answers such requests no more.
    Gone,
    /// More requests than the settings allow.
    TooMany,
}

impl VenueTasks {
    /// The stretches of which liquidations may be missing: since the archive last listened, and the gaps on record that are
    /// not settled, for a back-fill may have been cut short; as far back as they are to be asked for, and those that
    /// nobody can ask for any more, which are lost.
    pub(crate) async fn missing(&self, now: Millis) -> Vec<Stretch> {
        let limit = self.intake.settings.missed_reach();
        let look_back = self.intake.venue.look_back();
        let reach = limit.unwrap_or(look_back).min(look_back);
        // Where nothing was recorded yet nothing is missing.
        let new = limit.unwrap_or(Millis::DAY).min(look_back);
        let (furthest, forgotten) = (now.back(reach), now.back(look_back));
        let (path, name) = (self.archive.clone(), self.intake.name());
        let (keyed, late) = (self.intake.venue.keyed(), self.late().max(MARGIN));
        let read = move || -> Result<_, ArchiveError> {
            let archive = Archive::read(path)?;
            let runs = archive.sessions(Millis(0), now.on(1))?;
            let of_venue = runs.into_iter().filter(|run| run.exchange == name);
            let last_seen = of_venue.map(|run| run.seen).max();
            let unsettled = archive.open_ranges(name, furthest)?.into_iter();
            let mut missing: Vec<Stretch> =
                unsettled.map(|range| (range.start, range.end)).collect();
            match last_seen {
                Some(last_seen) => missing.push((last_seen, now)),
                None if new > 0 => missing.push((now.back(new), now)),
                None => {}
            }
            let mut before = Vec::new();
            let asked = missing.iter().filter(|(_, end)| *end > furthest);
            let first = asked.map(|(start, _)| (*start).max(furthest)).min();
            if let Some(first) = first.filter(|_| keyed == Keyed::ByAmount) {
                let filter = Filter {
                    exchange: Some(name.to_owned()),
                    start: Some(first.back(late)),
                    ..Filter::default()
                };
                before = archive.orders(&filter)?.rows;
            }
            Ok((missing, before))
        };
        let (missing, before) = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(found)) => found,
            Ok(Err(fault)) => {
                self.trouble(format!("the archive cannot be read: {fault}"));
                (vec![(now.back(new), now)], Vec::new())
            }
            Err(_) => (vec![(now.back(new), now)], Vec::new()),
        };
        locked(&self.intake.keys).remember(&before);
        let mut parts = Vec::with_capacity(missing.len());
        for (start, end) in missing {
            parts.push((start, end.min(forgotten)));
            parts.push((start.max(furthest), end));
        }
        parts.retain(|(start, end)| start < end);
        parts
    }

    /// Asks for what was missed: since the last run at the start, then whenever there is more; each until it is told. A
    /// venue without sockets is polled.
    pub(crate) async fn tend_missed(&self, missing: Vec<Stretch>) {
        self.markets_are_known().await;
        if self.intake.venue.is_polled() {
            return self.poll(missing).await;
        }
        let mut debts = self.debts(missing);
        loop {
            self.take_owed(&mut debts);
            if self.pay_one(&mut debts).await {
                continue;
            }
            let next = debts.next();
            tokio::select! {
                () = self.intake.owes.notified() => {}
                () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
            }
        }
    }

    fn debts(&self, missing: Vec<Stretch>) -> Debts {
        let mut debts = Debts::default();
        for stretch in missing {
            self.add(&mut debts, stretch);
        }
        debts
    }

    /// The waits after what failed.
    fn waits(&self) -> Backoff {
        let pace = &self.intake.settings.pace;
        Backoff::new(span(pace.retry_first), span(pace.retry_most) * 10)
    }

    fn add(&self, debts: &mut Debts, stretch: Stretch) {
        debts.add(stretch, MARGIN, Instant::now(), || self.waits());
    }

    fn take_owed(&self, debts: &mut Debts) {
        for stretch in self.intake.take_owed() {
            self.add(debts, stretch);
        }
    }

    /// Asks for the newest of what is due; whether there was anything.
    async fn pay_one(&self, debts: &mut Debts) -> bool {
        let Some(owed) = debts.take_due(Instant::now()) else {
            return false;
        };
        if let Some(owed) = self.catch_up(owed, debts).await {
            debts.put_back(owed);
        }
        true
    }

    /// Asks for stretches three times at most; for a run that ends when the past is told.
    pub(crate) async fn fill_all(&self, missing: Vec<Stretch>) {
        let mut debts = self.debts(missing);
        while let Some(next) = debts.next() {
            sleep_until(next).await;
            if let Some(owed) = debts.take_due(Instant::now())
                && let Some(owed) = self.catch_up(owed, &mut debts).await
                && owed.attempts < 3
            {
                debts.put_back(owed);
            }
        }
    }

    /// How late rows may be told.
    pub(crate) fn late(&self) -> i64 {
        let late = Duration::from_millis(u64::try_from(self.intake.venue.late()).unwrap_or(0));
        let late = span_or(self.intake.settings.pace.late, late).as_millis();
        i64::try_from(late).unwrap_or(i64::MAX)
    }

    /// Asks for a stretch once, and writes down what became of it; hands it back where it is to be asked for again. One
    /// that takes too many requests is asked for in halves.
    async fn catch_up(&self, mut owed: Owed, debts: &mut Debts) -> Option<Owed> {
        let (venue, late) = (self.intake.venue, self.late());
        let asked = self.intake.clock.now();
        let forgotten = asked.back(venue.look_back());
        if owed.start < forgotten {
            let how = if venue.look_back() == 0 {
                "the exchange cannot be asked for it"
            } else {
                "longer ago than the exchange tells"
            };
            let lost = (owed.start, owed.end.min(forgotten));
            self.intake.settle(lost, GapState::Lost, 0, how);
            owed.start = forgotten;
        }
        if owed.start >= owed.end {
            return None;
        }
        // Rows that came late before it are missed as well, and clocks differ.
        let from = owed.start.back(late.max(MARGIN)).max(forgotten);
        let lost = self.intake.board.notes().status.lost;
        let until = owed.end.on(MARGIN);
        let mut told = self.fill_missed(from, until, owed.told_until).await;
        // What was heard is not taken from a body once more, and has not got into the archive yet.
        let is_kept = self.intake.kept_until(owed.end) >= owed.end
            && lost == self.intake.board.notes().status.lost;
        if told.answer == Answer::Whole && !is_kept {
            told.answer = Answer::Partial;
        }
        owed.rows += told.rows;
        owed.attempts += 1;
        owed.due = Instant::now();
        match told.answer {
            Answer::Whole => {
                let all_told = owed.end.on(late);
                let reached = if self.once {
                    owed.end.min(asked.back(late))
                } else {
                    owed.end
                };
                if asked >= all_told || self.once {
                    let requests = told.requests;
                    let how = format!("asked again: {requests} requests answered");
                    if owed.start < reached {
                        let stretch = (owed.start, reached);
                        self.intake
                            .settle(stretch, GapState::Recovered, owed.rows, &how);
                    }
                    return None;
                }
                owed.told_until = owed.told_until.max(Some(asked.back(late)));
                let left = all_told.0.saturating_sub(asked.0);
                owed.due += Duration::from_millis(u64::try_from(left).unwrap_or(0));
            }
            Answer::Partial => owed.due += owed.backoff.next(),
            Answer::Gone => owed.due += span(self.intake.settings.pace.instruments),
            Answer::TooMany => match self.middle(&owed, told.first) {
                Ok(middle) => {
                    self.trouble(format!("{}: asked for in halves", told.given_up()));
                    owed.due += owed.backoff.next();
                    // What it told counts once.
                    debts.put_back(Owed {
                        end: middle,
                        rows: 0,
                        backoff: self.waits(),
                        ..owed
                    });
                    // Each half is a new one, and yet apart from what is asked for together.
                    (owed.start, owed.attempts) = (middle, 1);
                }
                // The next run may be allowed more.
                Err(why) => {
                    let reason = format!("{}; {why}", told.given_up());
                    self.trouble(reason.clone());
                    self.intake.note_gap(owed.start, owed.end, &reason);
                    return None;
                }
            },
        }
        Some(owed)
    }

    /// Where a stretch is split that took too many requests, `first` of them to begin with; why it is not, otherwise.
    fn middle(&self, owed: &Owed, first: usize) -> Result<Millis, &'static str> {
        let long = owed.end.0.saturating_sub(owed.start.0);
        if long < 2 * SHORTEST {
            return Err("it is too short to be split");
        }
        let middle = owed.start.on(long / 2);
        let from = middle.back(self.late().max(MARGIN));
        let until = owed.end.on(MARGIN);
        let venue = self.intake.venue;
        let asks = venue.missed(&self.traded_since(from), from, until).len();
        let most = usize::try_from(self.intake.settings.missed_requests).unwrap_or(usize::MAX);
        if asks > most && asks >= first {
            return Err("it is not split: a half takes more than that, too");
        }
        Ok(middle)
    }

    /// Asks for the liquidations of a stretch, of which all was told before up to `told_until`.
    async fn fill_missed(&self, from: Millis, until: Millis, told_until: Option<Millis>) -> Told {
        let venue = self.intake.venue;
        let mut told = Told {
            rows: 0,
            requests: 0,
            first: 0,
            left: 0,
            answer: Answer::Whole,
        };
        if venue.look_back() == 0 || from >= until {
            return told;
        }
        // A market that is not known yet is not asked for.
        let knows_all = self.knows_all_markets();
        let mut asks: VecDeque<Ask> = venue.missed(&self.traded_since(from), from, until).into();
        told.first = asks.len();
        let board = &self.intake.board;
        board.will_ask(asks.len());
        let mut receipts = Vec::new();
        while let Some(ask) = asks.pop_front() {
            if told.requests >= self.intake.settings.missed_requests {
                told.left = asks.len() + 1;
                board.will_not_ask(told.left);
                told.answer = Answer::TooMany;
                break;
            }
            match self.ask_for_missed(&ask, &mut receipts).await {
                Ok(rest) => {
                    board.will_ask(rest.len());
                    asks.extend(rest);
                }
                // Of a market that is closed a venue may tell nothing any more; the others are not to wait for it.
                Err(
                    fault @ (Failure::RestClient(RestError::Status { .. }) | Failure::HttpReply(_)),
                ) if self.note_closed(&ask, told_until, &fault) => {}
                // The venue no longer answers such requests at all: the live feed goes on without.
                Err(Failure::RestClient(fault)) if fault.is_absent() => {
                    self.trouble(format!("no back-fill: {fault}"));
                    told.answer = Answer::Gone;
                    board.will_not_ask(asks.len());
                    asks.clear();
                }
                Err(fault) => {
                    self.trouble(format!("back-fill: {fault}"));
                    told.answer = Answer::Partial;
                }
            }
            told.requests += 1;
            board.notes().status.asked += 1;
        }
        for receipt in receipts {
            match self.intake.delivery.kept(receipt).await {
                Some(rows) => told.rows += rows,
                None => told.answer = Answer::Partial,
            }
        }
        if told.answer == Answer::Whole && !knows_all {
            self.trouble("back-fill: not all markets are known yet".to_owned());
            told.answer = Answer::Partial;
        }
        told
    }

    /// Whether what was refused is about a market that is closed; what of it was not told is on record then;
    /// what was told before up to `told_until` is not missing.
    fn note_closed(&self, ask: &Ask, told_until: Option<Millis>, fault: &Failure) -> bool {
        let markets = self.intake.markets.load();
        let mut closed = markets.closed_since(ask.from);
        let Some(closed) = closed.find(|listing| ask.names(&listing.native_id)) else {
            return false;
        };
        let reason = format!("closed since, and not told any more: {fault}");
        self.trouble(format!("{}: {reason}", closed.native_id));
        let since = told_until.map_or(ask.from, |told| told.max(ask.from));
        if since < ask.until {
            let topics = BTreeMap::from([(closed.native_id.clone(), (since, reason))]);
            self.intake.unheard(&topics, ask.until);
        }
        true
    }

    async fn ask_for_missed(
        &self,
        ask: &Ask,
        receipts: &mut Vec<CommitHandle>,
    ) -> Result<Vec<Ask>, Failure> {
        let body = self.rest.get(ask).await?;
        let taken = match self.intake.take_body(ask, &body).await {
            Ok(taken) => {
                receipts.extend(taken.receipt);
                if !taken.all {
                    return Err(Failure::NotTaken);
                }
                taken.rest
            }
            Err(fault) => Err(fault),
        };
        taken.map_err(|fault| {
            let faults = std::slice::from_ref(&fault);
            self.intake.reject(&body, faults, self.intake.clock.now());
            fault.into()
        })
    }

    /// Asks a venue without sockets again and again. The time from poll to poll is covered while they are answered; the
    /// past before the first one is asked for and not called covered, as with every other venue.
    pub(crate) async fn poll(&self, missing: Vec<Stretch>) {
        let every = span(self.intake.settings.pace.poll);
        let late = self.late();
        // Rows may be told late, those from before the last run ended as well.
        let again = late.max(millis(self.intake.settings.pace.poll));
        let mut debts = self.debts(missing);
        // The newest belongs to the first poll.
        let mut from = self.intake.clock.now();
        let mut before = None;
        if let Some(mut newest) = debts.take_newest() {
            // Of a long time the last day: what is told now does not wait for all of it.
            let day = from.back(Millis::DAY);
            if newest.start < day {
                let before = (newest.start, day);
                newest.start = day;
                self.add(&mut debts, before);
            }
            before = Some(newest.start);
            from = newest.start.back(again);
        }
        let mut run: Option<(SessionId, Millis)> = None;
        // Until when it is covered, and whether a poll since then went unanswered.
        let (mut covered, mut in_vain) = (None, false);
        let mut kept: Option<Arc<Markets>> = None;
        let mut known = self.intake.markets.load_full();
        // A market that was listed before this process began, too; in no more haste than what else is of then.
        if let Some(before_us) = self.take_known_before()
            && let Some(since) = before_us.known_until()
            && since < from
            && known.has_more_than(&before_us)
        {
            self.add(&mut debts, (since, from));
        }
        loop {
            let now = self.intake.clock.now();
            let markets = self.intake.markets.load_full();
            // A market that is new may have been traded since the markets were read before.
            if let Some(since) = known
                .known_until()
                .filter(|_| markets.has_more_than(&known))
            {
                from = from.min(since);
            }
            known = markets;
            let told = self.fill_missed(from, now, None).await;
            let answered = told.answer == Answer::Whole;
            if told.answer == Answer::TooMany {
                self.trouble(told.given_up());
                self.intake.note_gap(from, now, &told.given_up());
            }
            self.intake.board.notes().polled = Some(answered);
            in_vain |= !answered;
            if answered {
                if run.is_none() {
                    run = self.begin_session(now).await.map(|run| (run, now));
                }
                // What was told up to then is all that there was.
                let told_until = now.back(late);
                let seen = run.map_or(told_until, |(_, begun)| told_until.max(begun));
                if let Some(since) = covered.replace(seen).filter(|_| in_vain) {
                    let missed = (since, seen);
                    self.intake.note_gap(since, seen, "a poll was not answered");
                    let how = "told by the next poll";
                    self.intake
                        .settle(missed, GapState::Recovered, told.rows, how);
                }
                in_vain = false;
                let is_kept = kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &known));
                if !is_kept && self.is_all(&known) {
                    self.keep_lists(&known);
                    kept = Some(Arc::clone(&known));
                }
                if let Some((run, begun)) = run {
                    self.intake.delivery.note_seen(run, seen);
                    // From the last run to this one.
                    if let Some(start) = before.take_if(|_| told_until >= begun)
                        && start < begun
                    {
                        let how = "told by the first polls";
                        self.intake
                            .settle((start, begun), GapState::Recovered, told.rows, how);
                    }
                }
                from = now.back(again);
            }
            self.take_owed(&mut debts);
            while self.pay_one(&mut debts).await {}
            sleep(every).await;
        }
    }
}
