//! What comes in from a venue, on its way to the archive: read, told apart, compared with what was heard, priced.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::board::Seat;
use super::dedupe::Memory;
use super::hold::{Hold, Waiting};
use super::keep::{Keep, NotTaken};
use super::lock::locked;
use super::settings::{Settings, millis};
use super::yardstick::Yardstick;
use crate::archive::{Batch, Completeness as Told, Gap, OrderRow};
use crate::feeds::{
    Asked, Completeness, Error, Event, Frame, Heard, Instruments, Listing, Venue, price_of_one,
};
use crate::model::{Millis, Order, Vocabulary, coin_of_base};

/// How a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Over a socket, as it happens.
    Socket,
    /// As an answer about the past: the reply to a request, or what comes with a subscription.
    Request,
}

/// The markets of a venue.
#[derive(Debug, Default)]
pub(super) struct Markets {
    pub(super) listings: Vec<Listing>,
    pub(super) instruments: Instruments,
}

impl Markets {
    pub(super) fn of(listings: Vec<Listing>) -> Self {
        Self {
            instruments: listings.iter().collect(),
            listings,
        }
    }
}

/// What is lost while the archive takes nothing: since when, how much, why.
#[derive(Debug)]
struct Lost {
    since: Millis,
    rows: u64,
    reason: String,
}

/// The intake of one venue.
pub(super) struct Intake {
    pub(super) venue: &'static Venue,
    pub(super) settings: Arc<Settings>,
    pub(super) seat: Arc<Seat>,
    pub(super) keep: Keep,
    pub(super) markets: ArcSwap<Markets>,
    /// Told when a row cannot be priced.
    pub(super) unknown: Notify,
    coins: Option<Vec<String>>,
    yardstick: Arc<Yardstick>,
    memory: Mutex<Memory>,
    hold: Mutex<Hold>,
    lost: Mutex<Option<Lost>>,
}

/// The rows of a frame that are ready to be kept.
type Ready = Vec<OrderRow>;

impl Intake {
    pub(super) fn new(
        venue: &'static Venue,
        settings: &Arc<Settings>,
        coins: Option<Vec<String>>,
        keep: Keep,
        yardstick: Arc<Yardstick>,
    ) -> Self {
        let remember = millis(settings.pace.remember);
        Self {
            venue,
            settings: Arc::clone(settings),
            seat: Arc::new(Seat::new(venue.name())),
            keep,
            markets: ArcSwap::default(),
            unknown: Notify::new(),
            coins,
            yardstick,
            memory: Mutex::new(Memory::new(remember, settings.remembered)),
            hold: Mutex::default(),
            lost: Mutex::default(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.venue.name()
    }

    /// What a frame of a socket is; its events are kept before this returns.
    pub(super) async fn hear(&self, text: &str, asked: &Asked, all_taken: bool) -> Heard {
        let now = super::now();
        self.seat.notes().status.last_heard = Some(now);
        // The lock-free part is over before anything is waited for.
        let (heard, ready) = self.read(text, asked, all_taken, now);
        if !ready.is_empty() {
            self.hand_over(ready).await;
        }
        heard
    }

    fn read(&self, text: &str, asked: &Asked, all_taken: bool, now: Millis) -> (Heard, Ready) {
        let markets = self.markets.load();
        let faults = RefCell::new(Vec::new());
        let frame = self
            .venue
            .frame(text, Some(now), &markets.instruments)
            .keeping(&faults);
        let events = match self.venue.decode(&frame) {
            Ok(events) => events,
            Err(fault) => {
                self.reject(text, &[fault], now);
                return (Heard::Other, Vec::new());
            }
        };
        let rejected = faults.take();
        if !rejected.is_empty() {
            self.reject(text, &rejected, now);
        }
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
        (heard, self.sift(events, text, None, way, now))
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        if let Some(answer) = self.venue.answer(frame)? {
            return Ok(Heard::Ping(answer));
        }
        self.venue.control(frame, asked)
    }

    /// What in the reply to a proof disproves how rows are read, if anything does.
    pub(super) fn disproof(&self, body: &str) -> Result<Option<String>, Error> {
        let markets = self.markets.load();
        let frame = self.venue.frame(body, None, &markets.instruments);
        self.venue.disproof(&frame)
    }

    /// Keeps the liquidations of a body; the requests that go on from there are handed back. Rows are kept even where it
    /// cannot be told how to go on.
    pub(super) async fn take_body(
        &self,
        ask: &crate::feeds::Ask,
        body: &str,
    ) -> Result<Vec<crate::feeds::Ask>, Error> {
        let now = super::now();
        let (ready, rest) = {
            let markets = self.markets.load();
            let only = ask.market.as_deref().and_then(|market| {
                let instrument = markets.instruments.get(market)?.clone();
                Some(Instruments::from_iter([(market.to_owned(), instrument)]))
            });
            let faults = RefCell::new(Vec::new());
            let known = only.as_ref().unwrap_or(&markets.instruments);
            let frame = self.venue.frame(body, Some(now), known).keeping(&faults);
            let mut events = self.venue.decode(&frame)?;
            let rest = self.venue.go_on(ask, &frame);
            let rejected = faults.take();
            if !rejected.is_empty() {
                self.reject(body, &rejected, now);
            }
            events.retain(|event| {
                event
                    .timestamp
                    .is_none_or(|at| ask.from <= at && at < ask.until)
            });
            let ready = self.sift(events, body, ask.market.as_deref(), Way::Request, now);
            (ready, rest)
        };
        if !ready.is_empty() {
            self.hand_over(ready).await;
        }
        rest
    }

    /// The rows to be kept of the events of a frame; the others are counted by what became of them.
    fn sift(
        &self,
        events: Vec<Event>,
        text: &str,
        market: Option<&str>,
        way: Way,
        now: Millis,
    ) -> Ready {
        if events.is_empty() {
            return Vec::new();
        }
        if way == Way::Socket {
            self.seat.notes().last_event_at = Some(now);
        }
        let mut ready = Vec::with_capacity(events.len());
        let mut shared: Option<Arc<str>> = None;
        for event in events {
            if !self.is_asked_for(&event.coin) {
                self.seat.notes().status.unasked += 1;
                continue;
            }
            if let Some(reason) = self.out_of_time(&event, way, now) {
                self.refuse(text, &format!("{}: {reason}", event.dedupe_key), now);
                continue;
            }
            if !locked(&self.memory).is_new(&event.dedupe_key, now) {
                self.seat.notes().status.repeated += 1;
                continue;
            }
            if event.is_held() {
                let frame = shared.get_or_insert_with(|| text.into());
                self.hold(Waiting {
                    key: event.dedupe_key,
                    native_id: event.native_id,
                    side: event.side,
                    price: event.price,
                    timestamp: event.timestamp,
                    frame: Arc::clone(frame),
                    market: market.map(str::to_owned),
                    received_at: now,
                });
                continue;
            }
            self.note_event(&event, way, now);
            ready.extend(self.row(event, text, now));
        }
        ready
    }

    fn note_event(&self, event: &Event, way: Way, now: Millis) {
        self.seat.count(now, 1);
        let mut notes = self.seat.notes();
        let status = &mut notes.status;
        status.last_event = status.last_event.max(event.timestamp);
        if way == Way::Socket {
            status.lag = event.timestamp.map(|at| now.0.saturating_sub(at.0));
        }
    }

    /// Whether rows of a coin are wanted.
    pub(super) fn is_asked_for(&self, coin: &str) -> bool {
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
    fn row(&self, event: Event, text: &str, now: Millis) -> Option<OrderRow> {
        let (Some(qty), Some(value_usd), Some(timestamp)) =
            (event.qty, event.value_usd, event.timestamp)
        else {
            self.seat.notes().status.unpriced += 1;
            let reason = format!(
                "{}: {} has no value in USD",
                event.dedupe_key, event.native_id
            );
            self.set_aside(text, &reason, now);
            return None;
        };
        let base = event.symbol.strip_suffix(quote_of(&event.symbol));
        let (_, scale) = coin_of_base(base.unwrap_or(&event.symbol));
        let suspicion = price_of_one(event.price, scale)
            .and_then(|price| self.yardstick.doubt(&event.coin, price, value_usd, now));
        if let Some(doubt) = &suspicion {
            self.seat.notes().status.suspect += 1;
            self.seat
                .trouble(format!("looks wrong: {}: {doubt}", event.dedupe_key));
        }
        let worth_keeping = self.settings.raw || suspicion.is_some();
        Some(OrderRow {
            order: Order {
                exchange: event.exchange.to_owned(),
                symbol: event.symbol,
                side: event.side,
                price: event.price,
                qty,
                value_usd,
                timestamp,
            },
            coin: event.coin,
            price_kind: event.price_kind.name().to_owned(),
            completeness: told(self.venue.completeness()),
            native_id: Some(event.native_id),
            dedupe_key: event.dedupe_key,
            received_at: now,
            raw: worth_keeping.then(|| text.to_owned()),
        })
    }

    fn hold(&self, row: Waiting) {
        let given_up = {
            let mut hold = locked(&self.hold);
            let given_up = hold.wait(row, self.settings.held_rows);
            self.seat.notes().status.held = u64::try_from(hold.len()).unwrap_or(u64::MAX);
            given_up
        };
        if let Some(row) = given_up {
            self.give_up(&row, "too many rows wait for their market");
        }
        self.unknown.notify_one();
    }

    fn give_up(&self, row: &Waiting, reason: &str) {
        self.seat.notes().status.unpriced += 1;
        self.set_aside(
            &row.frame,
            &format!("{}: {}: {reason}", row.key, row.native_id),
            row.received_at,
        );
    }

    /// Tries the rows that wait once more; those whose time is over are given up.
    pub(super) async fn try_held(&self) {
        let now = super::now();
        let waiting = locked(&self.hold).take();
        if waiting.is_empty() {
            return;
        }
        let mut ready = Vec::new();
        let markets = self.markets.load_full();
        let mut decoded: HashMap<usize, Vec<Event>> = HashMap::new();
        for row in waiting {
            // Rows of one frame share it.
            let place = row.frame.as_ptr().addr();
            let events = decoded
                .entry(place)
                .or_insert_with(|| self.decode_again(&row, &markets));
            let priced = row
                .find_in(events)
                .filter(|event| !event.is_held())
                .cloned();
            match priced {
                Some(event) => {
                    self.note_event(&event, Way::Request, now);
                    ready.extend(self.row(event, &row.frame, row.received_at));
                }
                None => locked(&self.hold)
                    .wait(row, usize::MAX)
                    .map_or((), |row| self.give_up(&row, "no room")),
            }
        }
        drop(decoded);
        let expired = locked(&self.hold).expired(now.back(millis(self.settings.pace.hold)));
        for row in &expired {
            self.give_up(row, "its multiplier is not known");
        }
        let held = locked(&self.hold).len();
        self.seat.notes().status.held = u64::try_from(held).unwrap_or(u64::MAX);
        if !ready.is_empty() {
            self.hand_over(ready).await;
        }
    }

    fn decode_again(&self, row: &Waiting, markets: &Markets) -> Vec<Event> {
        let only = row.market.as_deref().and_then(|market| {
            let instrument = markets.instruments.get(market)?.clone();
            Some(Instruments::from_iter([(market.to_owned(), instrument)]))
        });
        let faults = RefCell::new(Vec::new());
        let known = only.as_ref().unwrap_or(&markets.instruments);
        let frame = self.venue.frame(&row.frame, Some(row.received_at), known);
        let decoded = self.venue.decode(&frame.keeping(&faults));
        decoded.unwrap_or_default()
    }

    /// How many rows wait for their market.
    pub(super) fn held(&self) -> usize {
        locked(&self.hold).len()
    }

    /// Gives everything up that still waits, because the collecting ends.
    pub(super) fn give_up_held(&self) {
        let waiting = locked(&self.hold).take();
        for row in &waiting {
            self.give_up(row, "the collecting ended before its multiplier was known");
        }
        self.seat.notes().status.held = 0;
    }

    /// Hands rows to the archive; what it cannot take in time is counted, and the time becomes a gap.
    async fn hand_over(&self, rows: Ready) {
        let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let first = rows
            .iter()
            .map(|row| row.order.timestamp.min(row.received_at))
            .min();
        let batch = Batch {
            orders: rows,
            ..Batch::default()
        };
        match self.keep.rows(batch).await {
            Ok(unfit) => {
                for reason in unfit {
                    self.count_rejected(1, &reason);
                }
                self.end_loss();
            }
            Err(NotTaken { keys, reason }) => {
                let mut memory = locked(&self.memory);
                for key in &keys {
                    memory.forget(key);
                }
                drop(memory);
                self.seat.notes().status.lost += count;
                self.seat.trouble(format!("orders are lost: {reason}"));
                let mut lost = locked(&self.lost);
                let since = first.unwrap_or_else(super::now);
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

    /// Records the gap of what was lost, once the archive takes rows again.
    pub(super) fn end_loss(&self) {
        let Some(lost) = locked(&self.lost).take() else {
            return;
        };
        let reason = format!("{} orders lost: {}", lost.rows, lost.reason);
        self.gap(lost.since, super::now(), &reason);
    }

    /// Records a gap; one shorter than a millisecond is taken for one.
    pub(super) fn gap(&self, start: Millis, end: Millis, reason: &str) {
        let end = end.max(start.on(1));
        {
            let mut notes = self.seat.notes();
            notes.status.gaps += 1;
            notes.status.last_gap = Some(reason.to_owned());
        }
        log::info!(target: "liqdata::feeds", "{}: gap from {start} until {end}: {reason}", self.name());
        let gap = Gap {
            exchange: self.name().to_owned(),
            start,
            end,
            reason: reason.to_owned(),
            recorded_at: super::now(),
        };
        self.keep.note(vec![gap], Vec::new());
    }

    /// Counts what could not be read and sets the frame aside.
    pub(super) fn reject(&self, text: &str, faults: &[Error], now: Millis) {
        let reasons: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let reason = reasons.join("; ");
        self.count_rejected(faults.len(), &reason);
        self.set_aside(text, &reason, now);
    }

    /// Counts an event that is not taken and sets its frame aside.
    fn refuse(&self, text: &str, reason: &str, now: Millis) {
        self.count_rejected(1, reason);
        self.set_aside(text, reason, now);
    }

    fn count_rejected(&self, count: usize, reason: &str) {
        self.seat.notes().status.rejected += u64::try_from(count).unwrap_or(u64::MAX);
        self.seat.trouble(format!("rejected: {reason}"));
    }

    /// Sets a frame aside with the reason.
    pub(super) fn set_aside(&self, text: &str, reason: &str, now: Millis) {
        let line = serde_json::json!({
            "exchange": self.name(),
            "received_at": now.0,
            "reason": reason,
            "frame": text,
        });
        self.keep.aside(&line.to_string());
    }
}

fn quote_of(symbol: &str) -> &'static str {
    crate::model::quote_of_pair(symbol).unwrap_or_default()
}

/// The same in the archive's words.
pub(super) fn told(completeness: Completeness) -> Told {
    match completeness {
        Completeness::Complete => Told::Complete,
        Completeness::Sampled => Told::Sampled,
        Completeness::Unknown => Told::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completeness_is_the_same_word_in_both_rooms() {
        for each in Completeness::ALL {
            assert_eq!(each.name(), told(*each).name());
        }
    }
}
