//! Intake of one exchange: turns frames and reply bodies into deduplicated, checked rows of the archive.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use crate::archive::{Batch, CommitHandle, OrderRow};
use crate::collect::delivery::dedupe::{Deduplicator, Novelty};
use crate::collect::delivery::dedupe_keys::EventOrigin;
use crate::collect::delivery::delivery::{NotTaken, Sent};
use crate::collect::feed_group::feed_group::Membership;
use crate::collect::feed_group::sequence::Sequences;
use crate::collect::intake::coverage_log::CoverageLog;
use crate::collect::intake::decode::{decode_again, decode_body, decode_frame};
use crate::collect::intake::in_flight::InFlight;
use crate::collect::intake::order_check::{CheckedRow, OrderCheck};
use crate::collect::intake::pending_rows::{PendingRow, PendingRows};
use crate::collect::intake::raw_frames::{keep_body, keep_frame};
use crate::collect::intake::rejections::Rejections;
use crate::collect::intake::unchecked_orders::{UncheckedOrder, count_new};
use crate::collect::lock::locked;
use crate::collect::reference_data::reference_price::ReferencePrices;
use crate::collect::settings::settings::millis;
use crate::collect::venue_context::VenueContext;
use crate::feeds::{Error, Event, FrameKind, KeyAmbiguity, RestRequest, SentSubscriptions};
use crate::model::{GapState, Millis, TimeRange};

/// Decodes, deduplicates, checks and delivers the messages of one exchange.
///
/// A row with an unknown contract size waits in `pending`. Events that are not stored go to `rejections`.
pub(crate) struct Intake {
    pub(crate) context: Arc<VenueContext>,
    pub(crate) coverage: Arc<CoverageLog>,
    dedupe: Deduplicator,
    check: OrderCheck,
    pub(crate) pending: PendingRows,
    in_flight: InFlight,
    rejections: Arc<Rejections>,
}

/// Summary of the events in a frame of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameReport {
    /// Whether the frame has any event.
    pub(crate) has_events: bool,
    /// Time from which a redundant connection should have received an event too: the receipt of live rows, or the
    /// newest event time of past rows. `None` without new rows.
    pub(crate) news: Option<Millis>,
    /// Whether the events are history that comes with a subscription.
    pub(crate) is_past: bool,
    /// Event time of the latest event, if the exchange sends event times.
    pub(crate) last: Option<Millis>,
}

/// The result of processing a reply body.
#[derive(Debug)]
pub(crate) struct BodyReport {
    /// The requests for the next pages, if any.
    pub(crate) rest: Result<Vec<RestRequest>, Error>,
    /// Resolves once the rows are durable; `None` if no row is new.
    pub(crate) receipt: Option<CommitHandle>,
    /// Whether the archive accepted all rows.
    pub(crate) all: bool,
}

impl Intake {
    pub(crate) fn new(context: &Arc<VenueContext>, prices: Arc<ReferencePrices>) -> Self {
        let context = Arc::clone(context);
        let coverage = Arc::new(CoverageLog::new(Arc::clone(&context)));
        let rejections = Rejections::new(Arc::clone(&context), Arc::clone(&coverage));
        let rejections = Arc::new(rejections);
        Self {
            dedupe: Deduplicator::new(context.venue.keyed(), &context.settings),
            check: OrderCheck::new(
                Arc::clone(&context),
                Arc::clone(&coverage),
                Arc::clone(&rejections),
                prices,
            ),
            pending: PendingRows::new(
                Arc::clone(&context),
                Arc::clone(&coverage),
                Arc::clone(&rejections),
            ),
            in_flight: InFlight::new(Arc::clone(&context), Arc::clone(&coverage)),
            rejections,
            coverage,
            context,
        }
    }

    /// Processes a frame that a connection received at `now`. Returns once its rows are delivered.
    pub(crate) async fn receive_frame(
        &self,
        text: &str,
        sent: &SentSubscriptions,
        all_taken: bool,
        sequences: &mut Sequences,
        membership: &Membership,
        now: Millis,
    ) -> (FrameKind, FrameReport) {
        self.context.board.notes().status.last_received = Some(now);
        if self.context.venue.is_steady(text) {
            return (FrameKind::Control, FrameReport::default());
        }
        // Decoding is a separate synchronous step, so that no await happens under a lock.
        let (meaning, mut report, rows) = self.read_frame(text, sent, all_taken, sequences, now);
        report.news = self.news_since(&rows, report.is_past, now);
        let known_until = report
            .is_past
            .then(|| locked(&membership.group).covered_until().unwrap_or(now));
        self.deliver_live(rows, known_until).await;
        (meaning, report)
    }

    fn read_frame(
        &self,
        text: &str,
        sent: &SentSubscriptions,
        all_taken: bool,
        sequences: &mut Sequences,
        now: Millis,
    ) -> (FrameKind, FrameReport, Vec<CheckedRow>) {
        let decoded = decode_frame(&self.context, text, sent, all_taken, now);
        if !decoded.numbers.is_empty() {
            let compared = sequences.receive(decoded.numbers, now, Instant::now());
            self.coverage.sequence_numbers(compared, now);
        }
        let mut content = match decoded.content {
            Ok(content) => content,
            Err(fault) => {
                self.reject(text, &[fault], now);
                keep_frame(&self.context, text, now);
                return (FrameKind::Other, FrameReport::default(), Vec::new());
            }
        };
        let report = FrameReport {
            has_events: !content.events.is_empty(),
            news: None,
            is_past: content.origin == EventOrigin::Past,
            // An event without its own time has the time of receipt, so it is left out here.
            last: content
                .events
                .iter()
                .filter(|event| event.timestamp != event.received_at)
                .filter_map(|event| event.timestamp)
                .max(),
        };
        self.reject(text, &content.faults, now);
        let meaning = content.control.unwrap_or_else(|fault| {
            self.reject(text, &[fault], now);
            FrameKind::Other
        });
        let announces = !content.announced.is_empty();
        self.dedupe
            .assign(&mut content.events, content.announced, content.origin, now);
        let (rows, is_new) = self.select(content.events, text, None, content.origin, now);
        if is_new || announces || !content.faults.is_empty() {
            keep_frame(&self.context, text, now);
        }
        (meaning, report, rows)
    }

    /// The time from which a redundant connection should have received these rows too.
    fn news_since(&self, rows: &[CheckedRow], is_past: bool, now: Millis) -> Option<Millis> {
        if !is_past {
            return (!rows.is_empty()).then_some(now);
        }
        // Dedupe keys of older rows are no longer remembered. Such a row may be a repeat, so it is not news.
        let forgotten = now.on(-millis(self.context.settings.pace.dedupe));
        let times = rows.iter().map(|one| one.row.order.timestamp);
        times.max().filter(|newest| *newest > forgotten)
    }

    /// Processes the reply to a backfill request. Its rows are delivered even if the requests for the next pages cannot
    /// be derived from the reply.
    pub(crate) async fn receive_body(
        &self,
        request: &RestRequest,
        body: &str,
    ) -> Result<BodyReport, Error> {
        let now = self.context.clock.now();
        let decoded = decode_body(&self.context, request, body, now);
        let mut decoded = decoded.inspect_err(|_| keep_body(&self.context, request, body, now))?;
        let announces = !decoded.announced.is_empty();
        self.dedupe.assign(
            &mut decoded.events,
            decoded.announced,
            EventOrigin::Past,
            now,
        );
        self.reject(body, &decoded.faults, now);
        decoded.events.retain(|event| {
            event
                .timestamp
                .is_none_or(|at| request.from <= at && at < request.until)
        });
        let market = request.market.as_deref();
        let (rows, is_new) = self.select(decoded.events, body, market, EventOrigin::Past, now);
        if is_new || announces || !decoded.faults.is_empty() {
            keep_body(&self.context, request, body, now);
        }
        let (receipt, all) = self.deliver_past(rows).await;
        Ok(BodyReport {
            rest: decoded.rest,
            receipt,
            all,
        })
    }

    /// Decodes the pending rows again with the current markets. Gives up rows that have waited too long.
    pub(crate) async fn retry_pending(&self) {
        let now = self.context.clock.now();
        let waiting = self.pending.take();
        if waiting.is_empty() {
            return;
        }
        let (mut ready, mut outcomes) = (Vec::new(), Vec::new());
        let ambiguity = self.context.venue.keyed();
        let markets = self.context.markets.load_full();
        let mut decoded: HashMap<usize, Vec<Event>> = HashMap::new();
        for row in waiting {
            // The rows of one frame share its text, so each frame is decoded once.
            let events = decoded
                .entry(row.frame.as_ptr().addr())
                .or_insert_with(|| decode_again(&self.context, &row, &markets));
            let Some(event) = row
                .find_in(events, ambiguity)
                .filter(|event| !event.is_pending())
            else {
                self.pending.put_back(row);
                continue;
            };
            self.note_event(event, EventOrigin::Past, now);
            let mut event = event.clone();
            if ambiguity != KeyAmbiguity::Whole {
                event.dedupe_key.clone_from(&row.event.dedupe_key);
            }
            let checked = if self.check.is_quarantined(&event) {
                self.context.board.notes().status.repeated += 1;
                None
            } else {
                self.check.check(event, &row.frame, row.received_at)
            };
            let (state, how) = match checked {
                Some(_) => (
                    GapState::Recovered,
                    "the contract size of its market became known",
                ),
                None => (GapState::Lost, "it cannot be stored"),
            };
            let (at, rows) = (row.timestamp(), u64::from(checked.is_some()));
            let range = TimeRange::new(at, at.on(1));
            let outcome = self.coverage.outcome(range, state, rows, how);
            outcomes.push(outcome);
            ready.extend(checked);
        }
        drop(decoded);
        self.coverage.settle_all(outcomes);
        // A row is given up only if the markets were read after it had waited long enough.
        let since = now.back(millis(self.context.settings.pace.pending));
        let read = markets.known_until().unwrap_or(Millis(i64::MIN));
        self.pending.expire(since.min(read));
        self.deliver_live(ready, None).await;
    }

    /// Selects the rows to store from the events of one frame, and counts the other events. Also returns whether any
    /// event is new.
    fn select(
        &self,
        events: Vec<Event>,
        text: &str,
        market: Option<&str>,
        origin: EventOrigin,
        now: Millis,
    ) -> (Vec<CheckedRow>, bool) {
        if events.is_empty() {
            return (Vec::new(), false);
        }
        let mut is_new = false;
        if origin == EventOrigin::Live {
            self.context.board.notes().last_event_at = Some(now);
        }
        let mut rows = Vec::with_capacity(events.len());
        let mut shared: Option<Arc<str>> = None;
        for event in events {
            if !self.context.is_collected(&event.coin) {
                self.context.board.notes().status.unselected += 1;
                continue;
            }
            if let Some(reason) = self.out_of_time(&event, origin, now) {
                is_new = true;
                let reason = format!("{}: {reason}", event.dedupe_key);
                if self.is_first_report(&reason, now) {
                    self.rejections.invalid(text, &reason, now);
                }
                continue;
            }
            let novelty = self.dedupe.check(&event, now);
            if novelty == Novelty::Duplicate || self.check.is_quarantined(&event) {
                self.context.board.notes().status.repeated += 1;
                continue;
            }
            is_new = true;
            if let Novelty::Excess(why) = novelty {
                self.check.quarantine_excess(&event, &why, text, now);
                continue;
            }
            if event.is_pending() {
                let frame = shared.get_or_insert_with(|| text.into());
                self.pending.add(PendingRow {
                    event,
                    frame: Arc::clone(frame),
                    market: market.map(str::to_owned),
                    received_at: now,
                });
                continue;
            }
            self.note_event(&event, origin, now);
            rows.extend(self.check.check(event, text, now));
        }
        (rows, is_new)
    }

    /// Returns a reason if the time of an event is impossible.
    fn out_of_time(&self, event: &Event, origin: EventOrigin, now: Millis) -> Option<String> {
        let at = event.timestamp?;
        let pace = &self.context.settings.pace;
        if at > now.on(millis(pace.ahead)) {
            return Some(format!("{at} is more than {} s in the future", pace.ahead));
        }
        (origin == EventOrigin::Live && at < now.back(millis(pace.oldest)))
            .then(|| format!("{at} is more than {} s old on a live channel", pace.oldest))
    }

    /// Counts an event with a known quantity.
    fn note_event(&self, event: &Event, origin: EventOrigin, now: Millis) {
        self.context.board.count(now, 1);
        let mut notes = self.context.board.notes();
        let status = &mut notes.status;
        status.last_event = status.last_event.max(event.timestamp);
        if origin == EventOrigin::Live {
            status.lag = event.timestamp.map(|at| now.0.saturating_sub(at.0));
        }
    }

    /// Delivers live rows. Rows that the archive cannot take in time are lost and become a gap, which starts no earlier
    /// than `known_until`.
    async fn deliver_live(&self, rows: Vec<CheckedRow>, known_until: Option<Millis>) {
        if rows.is_empty() {
            return;
        }
        let (batch, unchecked) = batch_of(rows);
        let count = u64::try_from(batch.orders.len()).unwrap_or(u64::MAX);
        let in_flight = self.in_flight.begin(&batch.orders);
        let unchecked = count_new(&self.context, &unchecked).await;
        match self.context.delivery.rows(batch, EventOrigin::Live).await {
            Ok(unstorable) => self.note_delivered(unchecked, &unstorable),
            Err(NotTaken { batch, reason }) => {
                self.dedupe.forget(&batch.orders);
                let start = in_flight.start;
                let since = known_until.map_or(start, |known| known.max(start));
                self.in_flight.lose(count, since, reason);
            }
        }
    }

    /// Delivers rows of a reply. Rows that the archive cannot take in time are not lost, because they are requested
    /// again.
    async fn deliver_past(&self, rows: Vec<CheckedRow>) -> (Option<CommitHandle>, bool) {
        if rows.is_empty() {
            return (None, true);
        }
        let (batch, unchecked) = batch_of(rows);
        let unchecked = count_new(&self.context, &unchecked).await;
        match self.context.delivery.send(batch, EventOrigin::Past).await {
            Ok(Sent {
                unstorable,
                receipt,
            }) => {
                self.note_delivered(unchecked, &unstorable);
                (receipt, true)
            }
            Err(NotTaken { batch, reason }) => {
                self.dedupe.forget(&batch.orders);
                self.context
                    .trouble(format!("backfill: no rows could be stored: {reason}"));
                (None, false)
            }
        }
    }

    fn note_delivered(&self, unchecked: u64, unstorable: &[String]) {
        self.check.count_unchecked(unchecked);
        self.rejections.unstorable(unstorable);
        self.in_flight.end_loss();
    }

    /// The latest instant, at most `at`, up to which all rows are in the archive or their gap is recorded.
    pub(crate) fn delivered_until(&self, at: Millis) -> Millis {
        self.in_flight.delivered_until(at)
    }

    /// Ends the intake: gives up pending rows, and writes the remaining gaps and counts.
    pub(crate) fn close(&self) {
        self.pending.give_up_all();
        self.in_flight.end_loss();
        self.coverage.write_counts();
    }

    /// Counts rows that could not be decoded and writes their frame to the dead-letter file.
    pub(crate) fn reject(&self, text: &str, faults: &[Error], now: Millis) {
        if !faults.is_empty() && self.is_first_report(text, now) {
            self.rejections.undecodable(text, faults, now);
        }
    }

    /// Whether a problem is reported for the first time. With redundant connections, each problem occurs twice.
    fn is_first_report(&self, what: &str, now: Millis) -> bool {
        let can_repeat = self.context.is_redundant() && !what.is_empty();
        !can_repeat || self.dedupe.is_first_report(what, now)
    }
}

/// Makes a batch of the rows. Also returns the orders that were not checked against a reference.
fn batch_of(rows: Vec<CheckedRow>) -> (Batch, Vec<UncheckedOrder>) {
    let mut unchecked = Vec::new();
    let orders = rows.into_iter().map(|CheckedRow { row, is_unchecked }| {
        if is_unchecked {
            unchecked.push((row.dedupe_key.clone(), row.order.timestamp));
        }
        row
    });
    let orders: Vec<OrderRow> = orders.collect();
    let batch = Batch {
        orders,
        ..Batch::default()
    };
    (batch, unchecked)
}
