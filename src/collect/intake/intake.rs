//! What comes in from a venue, on its way to the archive: read, told apart, compared with what was heard, priced.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::archive::{self, Batch, CommitHandle, CounterKind, OrderRow};
use crate::collect::backfill::queue::Stretch;
use crate::collect::clock::AdjustedClock;
use crate::collect::connection::redundancy::Place;
use crate::collect::connection::sequence::Sequences;
use crate::collect::health::cooldown::Cooldowns;
use crate::collect::health::status_board::StatusBoard;
use crate::collect::intake::dedupe::HeardKeys;
use crate::collect::intake::dedupe_keys::{Kept, Keys, Way};
use crate::collect::intake::delivery::{Delivery, NotTaken, Sent};
use crate::collect::intake::pending_rows::{Hold, Waiting};
use crate::collect::lock::locked;
use crate::collect::quality::daily_counts::Counts;
use crate::collect::quality::reference_price::{Doubt, Yardstick};
use crate::collect::quarantine::dead_letter::Aside;
use crate::collect::quarantine::readmit::{Figures, quarantine_line};
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::{Settings, millis};
use crate::feeds::{Ask, Asked, Completeness, Error, Event, Frame, Heard, Keyed, Venue};
use crate::model::{Millis, Order, Vocabulary};

/// What is lost while the archive takes nothing: since when, how much, why.
#[derive(Debug)]
struct Lost {
    since: Millis,
    rows: u64,
    reason: String,
}

/// The intake of one venue.
pub(crate) struct Intake {
    pub(crate) venue: &'static Venue,
    pub(crate) settings: Arc<Settings>,
    pub(crate) board: StatusBoard,
    pub(crate) clock: Arc<AdjustedClock>,
    /// Since when this process listens.
    pub(crate) begun: Millis,
    pub(crate) delivery: Delivery,
    pub(crate) markets: ArcSwap<Markets>,
    /// Told when a row cannot be priced.
    pub(crate) unknown: Notify,
    coins: Option<Vec<String>>,
    yardstick: Arc<Yardstick>,
    heard: Mutex<HeardKeys>,
    pub(crate) hold: Mutex<Hold>,
    lost: Mutex<Option<Lost>>,
    /// The times of the first of rows that are being handed over.
    under_way: Mutex<Vec<Millis>>,
    /// Stretches of which something was missed, to be asked for.
    pub(crate) owed: Mutex<Vec<Stretch>>,
    /// Told when there are such.
    pub(crate) owes: Notify,
    pub(crate) counts: Mutex<Counts>,
    pub(crate) keys: Mutex<Keys>,
    /// How many topics were asked for and heard when that was written down last.
    pub(crate) marked: Mutex<Option<(u64, u64)>>,
    /// Until when requests, and hosts that refused handshakes, are left alone.
    pub(crate) cooldowns: Cooldowns,
    /// When the subscription that was given the last turn goes out.
    turn: Mutex<Option<Instant>>,
}

/// Rows that are being handed over, until it shows what becomes of them.
struct UnderWay<'a> {
    intake: &'a Intake,
    first: Millis,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut under_way = locked(&self.intake.under_way);
        if let Some(place) = under_way.iter().position(|first| *first == self.first) {
            under_way.swap_remove(place);
        }
    }
}

/// A row that is ready to be kept.
#[derive(Debug)]
pub(crate) struct Judged {
    row: OrderRow,
    /// Whether nothing measured it.
    is_unjudged: bool,
}

/// Those of a frame.
type Ready = Vec<Judged>;

/// An order that is kept though nothing measured it: its key, and when it happened.
pub(crate) type Unjudged = (String, Millis);

/// The rows, and those among them that nothing measured.
fn apart(ready: Ready) -> (Vec<OrderRow>, Vec<Unjudged>) {
    let mut unjudged = Vec::new();
    let rows = ready.into_iter().map(|Judged { row, is_unjudged }| {
        if is_unjudged {
            unjudged.push((row.dedupe_key.clone(), row.order.timestamp));
        }
        row
    });
    (rows.collect(), unjudged)
}

/// What a frame of a socket told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// Whether it told of events at all.
    pub(crate) any: bool,
    /// Since when others who listen owe some of them, which are news.
    pub(crate) news: Option<Millis>,
    /// Whether they are of the past, told to who subscribes.
    pub(crate) is_past: bool,
    /// When the last of them happened, where the venue says so: it was said after that.
    pub(crate) last: Option<Millis>,
}

/// What became of a body.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The requests that go on from there.
    pub(crate) rest: Result<Vec<Ask>, Error>,
    /// What says that its rows are durable; absent where none are new.
    pub(crate) receipt: Option<CommitHandle>,
    /// Whether the archive took all of them.
    pub(crate) all: bool,
}

impl Intake {
    pub(crate) fn new(
        venue: &'static Venue,
        settings: &Arc<Settings>,
        coins: Option<Vec<String>>,
        delivery: Delivery,
        yardstick: Arc<Yardstick>,
        clock: Arc<AdjustedClock>,
    ) -> Self {
        let remember = millis(settings.pace.remember);
        let cooldowns = Cooldowns::of(&delivery.archive, venue.name(), clock.now());
        Self {
            venue,
            settings: Arc::clone(settings),
            board: StatusBoard::new(venue.name()),
            begun: clock.now(),
            clock,
            delivery,
            markets: ArcSwap::default(),
            unknown: Notify::new(),
            coins,
            yardstick,
            heard: Mutex::new(HeardKeys::new(remember, settings.remembered)),
            hold: Mutex::default(),
            lost: Mutex::default(),
            under_way: Mutex::default(),
            owed: Mutex::default(),
            owes: Notify::new(),
            counts: Mutex::new(Counts::of(venue.numbers_late().is_some())),
            keys: Mutex::default(),
            marked: Mutex::default(),
            cooldowns,
            turn: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.venue.name()
    }

    /// How many sockets are to listen to the same.
    pub(crate) fn ears(&self) -> usize {
        self.venue.ears().min(self.settings.ears)
    }

    /// When the next subscription of a socket may go out, not before `earliest`: all of the venue's share one allowance, where
    /// there is one.
    pub(crate) fn turn(&self, earliest: Instant) -> Instant {
        let between = self.venue.between();
        if between.is_zero() {
            return earliest;
        }
        let mut last = locked(&self.turn);
        let next = last.map_or(earliest, |last| earliest.max(last + between));
        *last.insert(next)
    }

    /// Whether what cannot be taken was heard by another socket before, so that it counts once.
    fn was_counted(&self, what: &str, now: Millis) -> bool {
        let is_told_twice = self.ears() > 1 && !what.is_empty();
        is_told_twice && !locked(&self.heard).is_new(&format!("not taken|{what}"), now)
    }

    /// What a frame of a socket that came `now` is and tells; its events are kept before this returns.
    pub(crate) async fn hear(
        &self,
        text: &str,
        asked: &Asked,
        all_taken: bool,
        sequences: &mut Sequences,
        place: &Place,
        now: Millis,
    ) -> (Heard, Told) {
        self.board.notes().status.last_heard = Some(now);
        if self.venue.is_steady(text) {
            return (Heard::Control, Told::default());
        }
        // The lock-free part is over before anything is waited for.
        let (heard, mut told, ready) = self.read(text, asked, all_taken, sequences, now);
        told.news = self.owed_since(&ready, told.is_past, now);
        let heard_until = || locked(&place.ears).seen().unwrap_or(now);
        let known_until = told.is_past.then(heard_until);
        self.hand_over(ready, known_until).await;
        (heard, told)
    }

    /// Since when all who listen owe something of what came `now`.
    fn owed_since(&self, ready: &[Judged], is_past: bool, now: Millis) -> Option<Millis> {
        if !is_past {
            return (!ready.is_empty()).then_some(now);
        }
        // What others told so long ago is forgotten, and looks like news.
        let forgotten = now.on(-millis(self.settings.pace.remember));
        let times = ready.iter().map(|one| one.row.order.timestamp);
        times.max().filter(|newest| *newest > forgotten)
    }

    fn read(
        &self,
        text: &str,
        asked: &Asked,
        all_taken: bool,
        sequences: &mut Sequences,
        now: Millis,
    ) -> (Heard, Told, Ready) {
        let markets = self.markets.load();
        let faults = RefCell::default();
        let frame = self.venue.frame(text, Some(now), &markets.instruments);
        let frame = frame.keeping(&faults);
        let numbers = self.venue.numbers(&frame);
        if !numbers.is_empty() {
            self.count_numbers(sequences.hear(numbers, now, Instant::now()), now);
        }
        let mut events = match self.venue.decode(&frame) {
            Ok(events) => events,
            Err(fault) => {
                self.reject(text, &[fault], now);
                self.keep_frame(text, now);
                return (Heard::Other, Told::default(), Vec::new());
            }
        };
        let mut told = Told {
            any: !events.is_empty(),
            news: None,
            is_past: false,
            // Where the venue does not say, the time of receipt stands in.
            last: events
                .iter()
                .filter(|event| event.timestamp != event.received_at)
                .filter_map(|event| event.timestamp)
                .max(),
        };
        let faults = faults.take();
        self.reject(text, &faults, now);
        // Some venues acknowledge with a frame that carries data.
        let heard = if events.is_empty() || !all_taken {
            match self.control(&frame, asked) {
                Ok(heard) => heard,
                Err(fault) => {
                    self.reject(text, &[fault], now);
                    Heard::Other
                }
            }
        } else {
            Heard::Data
        };
        let way = if !events.is_empty() && self.venue.recalls(&frame) {
            Way::Request
        } else {
            Way::Socket
        };
        told.is_past = way == Way::Request;
        let announces = self.assign_keys(&frame, &mut events, way, now);
        let (ready, is_new) = self.sift(events, text, None, way, now);
        if is_new || announces || !faults.is_empty() {
            self.keep_frame(text, now);
        }
        (heard, told, ready)
    }

    /// Gives events the keys under which they are kept; whether the frame announces more.
    fn assign_keys(&self, frame: &Frame<'_>, events: &mut [Event], way: Way, now: Millis) -> bool {
        let keyed = self.venue.keyed();
        if keyed == Keyed::Whole {
            return false;
        }
        let positions = self.venue.announced(frame);
        let announces = !positions.is_empty();
        let mut keys = locked(&self.keys);
        keys.announce(positions, now);
        keys.assign(keyed, events, way, now);
        announces
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        if let Some(answer) = self.venue.answer(frame)? {
            return Ok(Heard::Ping(answer));
        }
        self.venue.control(frame, asked)
    }

    /// What in the reply to a proof disproves how rows are read, if anything does.
    pub(crate) fn disproof(&self, body: &str) -> Result<Option<String>, Error> {
        let markets = self.markets.load();
        let frame = self.venue.frame(body, None, &markets.instruments);
        self.venue.disproof(&frame)
    }

    /// Keeps the liquidations of a body. Rows are kept even where it cannot be told how to go on.
    pub(crate) async fn take_body(&self, ask: &Ask, body: &str) -> Result<Taken, Error> {
        let now = self.clock.now();
        let (ready, rest) = {
            let markets = self.markets.load();
            let instruments = markets.of_body(ask.market.as_deref());
            let faults = RefCell::default();
            let frame = self.venue.frame(body, Some(now), &instruments);
            let frame = frame.keeping(&faults);
            let decoded = self.venue.decode(&frame);
            let mut events = decoded.inspect_err(|_| self.keep_body(ask, body, now))?;
            let announces = self.assign_keys(&frame, &mut events, Way::Request, now);
            let rest = self.venue.go_on(ask, &frame);
            let faults = faults.take();
            self.reject(body, &faults, now);
            events.retain(|event| {
                event
                    .timestamp
                    .is_none_or(|at| ask.from <= at && at < ask.until)
            });
            let (ready, is_new) = self.sift(events, body, ask.market.as_deref(), Way::Request, now);
            if is_new || announces || !faults.is_empty() {
                self.keep_body(ask, body, now);
            }
            (ready, rest)
        };
        let (receipt, all) = self.hand_over_told(ready).await;
        Ok(Taken { rest, receipt, all })
    }

    /// Hands rows of a body to the archive. What it cannot take in time is nothing lost: it is asked for again.
    async fn hand_over_told(&self, ready: Ready) -> (Option<CommitHandle>, bool) {
        if ready.is_empty() {
            return (None, true);
        }
        let (rows, unjudged) = apart(ready);
        let unjudged = self.new_among(&unjudged).await;
        let batch = Batch {
            orders: rows,
            ..Batch::default()
        };
        match self.delivery.send(batch, Way::Request).await {
            Ok(Sent { unfit, receipt }) => {
                self.count_unjudged(unjudged);
                for reason in unfit {
                    self.count_rejected(1, &reason);
                }
                self.end_loss();
                (receipt, true)
            }
            Err(NotTaken { keys, reason }) => {
                self.forget(&keys);
                self.board
                    .trouble(format!("back-fill: nothing could be kept: {reason}"));
                (None, false)
            }
        }
    }

    /// Forgets keys whose events were not kept, so that they count when they come again.
    fn forget(&self, keys: &[String]) {
        let mut heard = locked(&self.heard);
        for key in keys {
            heard.forget(key);
        }
    }

    /// Forgets what was heard so far, and what waits of it: rows that are told no more count when they come again.
    pub(crate) fn forget_all(&self) {
        locked(&self.heard).forget_all();
        locked(&self.hold).take();
    }

    /// The rows to be kept of the events of a frame, and whether any event was not heard before; the others are counted by
    /// what became of them.
    fn sift(
        &self,
        events: Vec<Event>,
        text: &str,
        market: Option<&str>,
        way: Way,
        now: Millis,
    ) -> (Ready, bool) {
        if events.is_empty() {
            return (Vec::new(), false);
        }
        let mut is_new = false;
        if way == Way::Socket {
            self.board.notes().last_event_at = Some(now);
        }
        let mut ready = Vec::with_capacity(events.len());
        let mut shared: Option<Arc<str>> = None;
        for event in events {
            if !self.is_asked_for(&event.coin) {
                self.board.notes().status.unasked += 1;
                continue;
            }
            if let Some(reason) = self.out_of_time(&event, way, now) {
                is_new = true;
                self.refuse(text, &format!("{}: {reason}", event.dedupe_key), now);
                continue;
            }
            let kept = locked(&self.keys).look(self.venue.keyed(), &event);
            if kept == Kept::Before || !locked(&self.heard).is_new(&event.dedupe_key, now) {
                self.board.notes().status.repeated += 1;
                continue;
            }
            if self.is_quarantined(&event) {
                self.board.notes().status.repeated += 1;
                continue;
            }
            is_new = true;
            if let Kept::Twice(why) = kept {
                self.quarantine(&event.dedupe_key, Figures::of(&event), &why, text, now);
                continue;
            }
            if event.is_held() {
                let frame = shared.get_or_insert_with(|| text.into());
                self.hold(Waiting {
                    event,
                    frame: Arc::clone(frame),
                    market: market.map(str::to_owned),
                    received_at: now,
                });
                continue;
            }
            self.note_event(&event, way, now);
            ready.extend(self.row(event, text, now));
        }
        (ready, is_new)
    }

    /// Whether an event was quarantined in the units in which it is told now.
    fn is_quarantined(&self, event: &Event) -> bool {
        let quarantined = locked(&self.delivery.quarantined);
        quarantined.has(&event.dedupe_key, &Figures::of(event))
    }

    /// Counts an event whose quantity is known.
    pub(crate) fn note_event(&self, event: &Event, way: Way, now: Millis) {
        self.board.count(now, 1);
        let mut notes = self.board.notes();
        let status = &mut notes.status;
        status.last_event = status.last_event.max(event.timestamp);
        if way == Way::Socket {
            status.lag = event.timestamp.map(|at| now.0.saturating_sub(at.0));
        }
    }

    /// Whether rows of a coin are wanted.
    pub(crate) fn is_asked_for(&self, coin: &str) -> bool {
        self.coins
            .as_ref()
            .is_none_or(|coins| coins.iter().any(|asked| asked == coin))
    }

    /// Why an event's time cannot be right.
    fn out_of_time(&self, event: &Event, way: Way, now: Millis) -> Option<String> {
        let at = event.timestamp?;
        let pace = &self.settings.pace;
        if at > now.on(millis(pace.ahead)) {
            return Some(format!("{at} is more than {} s ahead", pace.ahead));
        }
        (way == Way::Socket && at < now.back(millis(pace.oldest)))
            .then(|| format!("{at} is more than {} s old on a live channel", pace.oldest))
    }

    /// The row of an event whose quantity is known; one that cannot be valued in USD is set aside.
    pub(crate) fn row(&self, event: Event, text: &str, now: Millis) -> Option<Judged> {
        if self.is_quarantined(&event) {
            self.board.notes().status.repeated += 1;
            return None;
        }
        let unpriced = format!(
            "{}: {} has no value in USD",
            event.dedupe_key, event.native_id
        );
        let Some(mut row) = order_row(event, self.venue.completeness(), None, now) else {
            self.count_unpriced();
            self.set_aside(text, &unpriced, now);
            return None;
        };
        let native_id = row.native_id.as_deref().unwrap_or_default();
        let own = self.markets.load().price(native_id);
        let doubt = self.yardstick.doubt_row(self.name(), &row, own);
        let key = &row.dedupe_key;
        match &doubt {
            Some(Doubt::Impossible(why)) => {
                self.quarantine(key, Figures::of_row(&row), why, text, now);
                return None;
            }
            Some(Doubt::Suspect(why)) => {
                self.board.notes().status.suspect += 1;
                self.board.trouble(format!("looks wrong: {key}: {why}"));
            }
            // It is counted once it is known whether the archive has it.
            Some(Doubt::Unjudged) | None => {}
        }
        let worth_keeping = self.settings.raw || matches!(doubt, Some(Doubt::Suspect(_)));
        row.raw = worth_keeping.then(|| text.to_owned());
        Some(Judged {
            row,
            is_unjudged: doubt == Some(Doubt::Unjudged),
        })
    }

    /// Counts an event that is not kept, because it cannot mean what it says, and sets its frame aside.
    fn quarantine(&self, key: &str, figures: Figures, why: &str, text: &str, now: Millis) {
        locked(&self.delivery.quarantined).add(key, figures);
        self.board.notes().status.quarantined += 1;
        locked(&self.counts).add(CounterKind::Quarantined, 1, now);
        let reason = format!("quarantined: {key}: {why}");
        self.board.trouble(reason.clone());
        let mut line = self.aside_line(text, &reason, now);
        quarantine_line(&mut line, key, &figures);
        self.write_aside(&line);
    }

    /// When the first of some rows happened at the earliest.
    fn first_of(&self, rows: &[OrderRow]) -> Millis {
        let times = rows.iter().map(|row| {
            let at = row.order.timestamp;
            // It may have waited for long to be read, where the time of receipt stands in.
            let proven = (at == row.received_at).then(|| self.board.seen()).flatten();
            proven
                .map_or(at, |proven| proven.min(at))
                .min(row.received_at)
        });
        times.min().unwrap_or_else(|| self.clock.now())
    }

    /// Hands rows to the archive; what it cannot take in time is counted, and the time becomes a gap: not before
    /// `known_until`, where everything up to then was heard or is known to be missing.
    pub(crate) async fn hand_over(&self, ready: Ready, known_until: Option<Millis>) {
        if ready.is_empty() {
            return;
        }
        let (rows, unjudged) = apart(ready);
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let first = self.first_of(&rows);
        locked(&self.under_way).push(first);
        let _under_way = UnderWay {
            intake: self,
            first,
        };
        let unjudged = self.new_among(&unjudged).await;
        let batch = Batch {
            orders: rows,
            ..Batch::default()
        };
        match self.delivery.rows(batch, Way::Socket).await {
            Ok(unfit) => {
                self.count_unjudged(unjudged);
                for reason in unfit {
                    self.count_rejected(1, &reason);
                }
                self.end_loss();
            }
            Err(NotTaken { keys, reason }) => {
                self.forget(&keys);
                self.board.notes().status.lost += count;
                self.board.trouble(format!("orders are lost: {reason}"));
                let since = known_until.map_or(first, |known| known.max(first));
                let mut lost = locked(&self.lost);
                let lost = lost.get_or_insert_with(|| Lost {
                    since,
                    rows: 0,
                    reason,
                });
                lost.since = lost.since.min(since);
                lost.rows += count;
            }
        }
    }

    /// Until when what was heard is kept or will be, of what was heard until `at`: not beyond rows that the archive has not
    /// taken yet, or that are lost and whose gap is not on record.
    pub(crate) fn kept_until(&self, at: Millis) -> Millis {
        if self.delivery.trouble().is_none() {
            self.end_loss();
        }
        let lost = locked(&self.lost).as_ref().map(|lost| lost.since);
        let under_way = locked(&self.under_way).iter().min().copied();
        let firsts = lost.into_iter().chain(under_way);
        firsts.fold(at, Millis::min)
    }

    /// Records the gap of what was lost, once the archive takes rows again.
    pub(crate) fn end_loss(&self) {
        let Some(lost) = locked(&self.lost).take() else {
            return;
        };
        let reason = format!("{} orders lost: {}", lost.rows, lost.reason);
        self.gap(lost.since, self.clock.now(), &reason);
    }

    /// Counts what could not be read and sets the frame aside.
    pub(crate) fn reject(&self, text: &str, faults: &[Error], now: Millis) {
        if faults.is_empty() || self.was_counted(text, now) {
            return;
        }
        let reasons: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let reason = reasons.join("; ");
        self.count_rejected(faults.len(), &reason);
        self.set_aside(text, &reason, now);
    }

    /// Counts an event that is not taken and sets its frame aside.
    fn refuse(&self, text: &str, reason: &str, now: Millis) {
        if self.was_counted(reason, now) {
            return;
        }
        self.count_rejected(1, reason);
        self.set_aside(text, reason, now);
    }

    fn count_rejected(&self, count: usize, reason: &str) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.board.notes().status.rejected += count;
        locked(&self.counts).add(CounterKind::Rejected, count, self.clock.now());
        self.board.trouble(format!("rejected: {reason}"));
    }

    /// Sets a frame aside with the reason.
    pub(crate) fn set_aside(&self, text: &str, reason: &str, now: Millis) {
        self.write_aside(&self.aside_line(text, reason, now));
    }

    fn aside_line(&self, text: &str, reason: &str, now: Millis) -> Value {
        serde_json::json!({
            "exchange": self.name(),
            "received_at": now.0,
            "reason": reason,
            "frame": text,
        })
    }

    fn write_aside(&self, line: &Value) {
        match self.delivery.aside(&line.to_string()) {
            Aside::Written | Aside::LeftOut => {}
            Aside::Full(why) => self.board.trouble(format!("set aside: {why}")),
        }
    }
}

/// The row of an event that was received at an instant; `None` where it cannot be valued in USD.
pub(crate) fn order_row(
    event: Event,
    completeness: Completeness,
    raw: Option<String>,
    received_at: Millis,
) -> Option<OrderRow> {
    Some(OrderRow {
        order: Order {
            exchange: event.exchange.to_owned(),
            symbol: event.symbol,
            side: event.side,
            price: event.price,
            qty: event.qty?,
            value_usd: event.value_usd?,
            timestamp: event.timestamp?,
        },
        coin: event.coin,
        price_kind: event.price_kind.name().to_owned(),
        completeness: recorded(completeness),
        native_id: Some(event.native_id),
        dedupe_key: event.dedupe_key,
        received_at,
        raw,
        group_id: event.group_id,
    })
}

/// The same in the archive's words.
pub(crate) fn recorded(completeness: Completeness) -> archive::Completeness {
    match completeness {
        Completeness::Complete => archive::Completeness::Complete,
        Completeness::Sampled => archive::Completeness::Sampled,
        Completeness::Unknown => archive::Completeness::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::intake::intake::*;

    #[test]
    fn completeness_is_the_same_word_in_both_rooms() {
        for each in Completeness::ALL {
            assert_eq!(each.name(), recorded(*each).name());
        }
    }
}
