//! Replay of raw frames: decodes them again in order of receipt, and compares the result with the stored rows.
//!
//! The steps of the live intake are repeated. Dedupe keys are assigned, rows wait for their contract size, and new or
//! changed rows are checked against the reference prices of their time. Each row is compared with the stored row that
//! has the same dedupe key and receipt time. Differences are collected per day and written one day after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::archive::{
    Archive, ArchiveError, DayCorrection, Filter, OrderRow, RawLine, RawLineKind,
};
use crate::collect::delivery::dedupe_keys::{DedupeKeys, EventOrigin};
use crate::collect::intake::order_check::order_row;
use crate::collect::intake::pending_rows::PendingRow;
use crate::collect::intake::raw_frames::path_and_query;
use crate::collect::quarantine::quarantine::QuarantinedOrders;
use crate::collect::quarantine::quarantined_order::Figures;
use crate::collect::rebuild::reference_history::ReferenceHistory;
use crate::collect::rebuild::report::{ArchiveAccess, RebuildOptions, RebuildReport};
use crate::collect::reference_data::markets::Markets;
use crate::collect::reference_data::reference_price::{Outlier, ReferencePrices};
use crate::collect::settings::plan::CollectError;
use crate::collect::settings::settings::{Pace, millis};
use crate::feeds::{Event, Instruments, KeyAmbiguity, Listing, RestRequest, Venue, venue};
use crate::model::{Millis, Vocabulary};

/// Stored rows up to this many milliseconds older than a REST reply are compared with it.
const LOOK_BACK: i64 = 8 * Millis::DAY;
/// Maximum disorder of receipt times in a file, in milliseconds. Each connection stores its own frames, so a frame may
/// have been received before the frame that precedes it in the file.
const MAX_DISORDER: i64 = 10_000;
/// Maximum number of rows of an exchange that wait for their contract size.
const MAX_PENDING: usize = 100_000;

/// The parts of a stored row that are compared.
#[derive(Clone, Debug)]
struct StoredRow {
    received_at: Millis,
    day: Millis,
    content: u64,
}

/// A stored row that some frame of its receipt time should contain.
#[derive(Clone, Debug)]
struct Expected {
    key: String,
    native_id: Option<String>,
    day: Millis,
    /// Whether a frame of the same receipt time names the row's contract.
    is_of_frame: bool,
}

/// The stored rows of one exchange, loaded day by day.
#[derive(Debug, Default)]
struct StoredRows {
    days: HashSet<Millis>,
    by_key: HashMap<String, StoredRow>,
    by_receipt: HashMap<Millis, Vec<Expected>>,
    /// The rows by event time, if an ingest may have stored the orders of the day. An order of a frame may be among them
    /// under the key of another source.
    by_time: HashMap<Millis, Vec<OrderRow>>,
}

/// The replay of one exchange.
struct VenueReplay {
    venue: &'static Venue,
    is_chosen: bool,
    coins: Option<Vec<String>>,
    lists: Vec<Option<Vec<Listing>>>,
    markets: Markets,
    keys: DedupeKeys,
    pending: Vec<PendingRow>,
    stored: StoredRows,
    /// The stored rows that no replayed frame has contained so far, by receipt time. The list is empty if a frame of
    /// that receipt time is unreadable.
    missing: BTreeMap<Millis, Vec<Expected>>,
    /// The latest receipt time of which all frames were replayed.
    settled: Option<Millis>,
}

/// The start of the UTC day of an instant.
fn day_of(at: Millis) -> Millis {
    Millis(at.0.div_euclid(Millis::DAY).saturating_mul(Millis::DAY))
}

/// The replay of all exchanges.
pub(crate) struct Replay {
    open: ArchiveAccess,
    start: Option<Millis>,
    end: Option<Millis>,
    venues: HashMap<&'static str, VenueReplay>,
    chosen: Vec<&'static str>,
    prices: ReferencePrices,
    /// Orders that were quarantined when they were received.
    quarantined: QuarantinedOrders,
    references: ReferenceHistory,
    pace: Pace,
    days: BTreeMap<Millis, DayCorrection>,
    pub(crate) report: RebuildReport,
}

/// A hash of the content of a row, without its dedupe key and receipt time.
fn content(row: &OrderRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    let order = &row.order;
    (&order.symbol, &row.coin, order.side.name(), &row.price_kind).hash(&mut hasher);
    let amounts = [order.price, order.qty, order.value_usd];
    amounts.map(|amount| amount.normalize()).hash(&mut hasher);
    (order.timestamp, &row.native_id, &row.group_id).hash(&mut hasher);
    row.completeness.name().hash(&mut hasher);
    hasher.finish()
}

impl StoredRows {
    /// Loads the stored rows of a day.
    fn load(&mut self, archive: &Archive, exchange: &str, day: Millis) -> Result<(), ArchiveError> {
        if !self.days.insert(day) {
            return Ok(());
        }
        let filter = Filter {
            exchange: Some(exchange.to_owned()),
            start: Some(day),
            end: Some(day.on(Millis::DAY)),
            ..Filter::default()
        };
        let has_ingests = !archive.catalog().ingests()?.is_empty();
        for row in archive.orders(&filter)?.rows {
            if has_ingests {
                let at = row.order.timestamp;
                self.by_time.entry(at).or_default().push(row.clone());
            }
            let content = content(&row);
            let expected = Expected {
                key: row.dedupe_key.clone(),
                native_id: row.native_id,
                day,
                is_of_frame: false,
            };
            self.by_receipt
                .entry(row.received_at)
                .or_default()
                .push(expected);
            let mark = StoredRow {
                received_at: row.received_at,
                day,
                content,
            };
            self.by_key.insert(row.dedupe_key, mark);
        }
        Ok(())
    }

    /// Drops the days before `before`; they are loaded again when needed.
    fn forget(&mut self, before: Millis) {
        self.days.retain(|day| *day >= before);
        self.by_key.retain(|_, mark| mark.day >= before);
        self.by_receipt.retain(|_, rows| {
            rows.retain(|row| row.day >= before);
            !rows.is_empty()
        });
        self.by_time.retain(|at, _| day_of(*at) >= before);
    }

    /// Removes the stored row of another source that is the order of `row`; returns whether there is one.
    fn take_of_another_source(&mut self, row: &OrderRow) -> bool {
        let Some(rows) = self.by_time.get_mut(&row.order.timestamp) else {
            return false;
        };
        let place = rows
            .iter()
            .position(|known| known.is_of_another_source(row));
        if let Some(place) = place {
            rows.swap_remove(place);
        }
        place.is_some()
    }
}

impl VenueReplay {
    fn new(venue: &'static Venue, is_chosen: bool) -> Self {
        Self {
            venue,
            is_chosen,
            coins: None,
            lists: Vec::new(),
            markets: Markets::default(),
            keys: DedupeKeys::default(),
            pending: Vec::new(),
            stored: StoredRows::default(),
            missing: BTreeMap::new(),
            settled: None,
        }
    }

    /// Adds a recorded page of a market list. Ignores unreadable pages and pages of unknown requests.
    fn add_markets(&mut self, line: &RawLine) {
        let request = line.request.as_deref().unwrap_or_default();
        let requests = self.venue.listing_requests();
        let path = |text: &str| text.split('?').next().map(str::to_owned);
        let listing: Option<&RestRequest> = requests
            .iter()
            .find(|one| path_and_query(one) == request)
            .or_else(|| {
                let index = usize::try_from(line.list?).ok()?;
                requests
                    .get(index)
                    .filter(|one| path(&path_and_query(one)) == path(request))
            });
        let (Some(listing), Some(index)) = (
            listing,
            line.list.and_then(|list| usize::try_from(list).ok()),
        ) else {
            return;
        };
        let faults = RefCell::default();
        let none = Instruments::default();
        let frame = self.venue.frame(&line.frame, None, &none).keeping(&faults);
        let Ok(page) = self.venue.read_listings(listing, &frame) else {
            return;
        };
        if self.lists.len() <= index {
            self.lists.resize(index + 1, None);
        }
        if let Some(list) = self.lists.get_mut(index) {
            let mut known = list
                .take()
                .filter(|_| line.page.unwrap_or(0) > 0)
                .unwrap_or_default();
            known.extend(page.rows);
            *list = Some(known);
        }
        self.markets = Markets::of(self.lists.clone(), vec![None; self.lists.len()]);
    }

    fn is_collected(&self, coin: &str) -> bool {
        self.coins
            .as_ref()
            .is_none_or(|coins| coins.iter().any(|selected| selected == coin))
    }
}

impl Replay {
    pub(crate) fn new(
        open: ArchiveAccess,
        quarantined: QuarantinedOrders,
        options: &RebuildOptions,
        chosen: &[&'static Venue],
    ) -> Self {
        Self {
            open,
            start: options.start,
            end: options.end,
            venues: HashMap::new(),
            chosen: chosen.iter().map(|venue| venue.name()).collect(),
            prices: ReferencePrices::default(),
            quarantined,
            references: ReferenceHistory::default(),
            pace: Pace::default(),
            days: BTreeMap::new(),
            report: RebuildReport::default(),
        }
    }

    pub(crate) fn archive(&self) -> &Archive {
        self.open.archive()
    }

    /// Loads the reference prices of a day.
    pub(crate) fn begin_day(&mut self, day: Millis) -> Result<(), ArchiveError> {
        self.references = ReferenceHistory::of(self.open.archive(), day)?;
        Ok(())
    }

    fn is_within(&self, at: Millis) -> bool {
        self.start.is_none_or(|start| at >= start) && self.end.is_none_or(|end| at < end)
    }

    /// Replays one line of a raw file.
    pub(crate) fn line(&mut self, line: RawLine) -> Result<(), CollectError> {
        // Lines of an exchange that is no longer supported are skipped, because there is no decoder.
        let Ok(venue) = venue(&line.exchange) else {
            return Ok(());
        };
        let name = venue.name();
        let is_chosen = self.chosen.is_empty() || self.chosen.contains(&name);
        let mut one = match self.venues.remove(name) {
            Some(one) => one,
            None => VenueReplay::new(venue, is_chosen),
        };
        let outcome = self.replay(&mut one, line);
        self.venues.insert(name, one);
        outcome
    }

    fn replay(&mut self, one: &mut VenueReplay, line: RawLine) -> Result<(), CollectError> {
        match line.kind {
            RawLineKind::Start => one.coins = line.coins,
            RawLineKind::Dropped => {
                let within = |at: Millis| {
                    line.from.is_none_or(|from| at >= from)
                        && line.until.is_none_or(|until| at < until)
                };
                let dropped = one.missing.iter_mut().filter(|(at, _)| within(**at));
                dropped.for_each(|(_, rows)| rows.clear());
            }
            RawLineKind::Markets => {
                one.add_markets(&line);
                self.retry_pending(one)?;
            }
            RawLineKind::Socket | RawLineKind::Request => self.frame(one, &line)?,
        }
        Ok(())
    }

    /// Settles the receipt times before `before`, or all for `None`: marks rows that no frame contains for removal.
    fn settle_missing(&mut self, one: &mut VenueReplay, before: Option<Millis>) {
        // Imported rows (`|file|`) have no frame, so they are never removed.
        let gone = |row: &Expected| row.is_of_frame && !row.key.contains("|file|");
        while let Some(first) = one.missing.first_entry() {
            if before.is_some_and(|before| *first.key() >= before) {
                break;
            }
            let (at, rows) = first.remove_entry();
            one.settled = one.settled.max(Some(at));
            for row in rows.into_iter().filter(gone) {
                let name = one.venue.name();
                self.report.of(name).gone += 1;
                one.stored.by_key.remove(&row.key);
                let revision = self.days.entry(row.day).or_default();
                revision.removed.push((name.to_owned(), row.key));
            }
        }
    }

    /// Protects the rows of the last receipt times of an exchange from removal, because not all of their frames are
    /// known.
    pub(crate) fn skip_missing(&mut self, exchange: &str) {
        if let Some(one) = self.venues.get_mut(exchange) {
            one.missing.values_mut().for_each(Vec::clear);
        }
    }

    /// Loads the rows that a frame may contain.
    fn load(&self, one: &mut VenueReplay, line: &RawLine) -> Result<(), ArchiveError> {
        let at = line.received_at;
        let first = match line.from {
            Some(from) if line.kind == RawLineKind::Request => from.max(at.back(LOOK_BACK)).min(at),
            _ => at.back(Millis::DAY),
        };
        let mut day = day_of(first);
        while day <= at {
            one.stored
                .load(self.open.archive(), one.venue.name(), day)?;
            let next = day.on(Millis::DAY);
            if next == day {
                break; // the last representable day
            }
            day = next;
        }
        Ok(())
    }

    fn frame(&mut self, one: &mut VenueReplay, line: &RawLine) -> Result<(), CollectError> {
        let (name, at) = (one.venue.name(), line.received_at);
        let counts = one.is_chosen && self.is_within(at);
        self.references.apply(&self.prices, at);
        if counts && !one.missing.contains_key(&at) {
            self.settle_missing(one, Some(at.back(MAX_DISORDER)));
            self.load(one, line)?;
            let is_settled = one.settled.is_some_and(|settled| at <= settled);
            let rows = one.stored.by_receipt.get(&at).filter(|_| !is_settled);
            let rows = rows.cloned().unwrap_or_default();
            one.missing.insert(at, rows);
        }
        if counts {
            self.report.of(name).frames += 1;
        }
        let read = decode(one, line);
        let Some((events, origin)) = read else {
            if counts {
                self.report.of(name).unread += 1;
                one.missing.entry(at).or_default().clear();
            }
            return Ok(());
        };
        if let Some(missing) = one.missing.get_mut(&at).filter(|_| counts) {
            let keys: HashSet<&str> = events
                .iter()
                .map(|event| event.dedupe_key.as_str())
                .collect();
            missing.retain_mut(|row| {
                row.is_of_frame |= row.native_id.as_deref().is_none_or(|native_id| {
                    line.frame.contains(native_id) || line.market.as_deref() == Some(native_id)
                });
                !keys.contains(row.key.as_str())
            });
        }
        for event in events {
            if !one.is_collected(&event.coin) || self.is_out_of_time(&event, origin, at) {
                continue;
            }
            if one.keys.excess(one.venue.keyed(), &event).is_some() {
                continue;
            }
            if event.is_pending() {
                if one.pending.len() >= MAX_PENDING {
                    continue;
                }
                one.pending.push(PendingRow {
                    event,
                    frame: Arc::from(line.frame.as_str()),
                    market: line.market.clone(),
                    received_at: at,
                });
                continue;
            }
            self.compare(one, event, at)?;
        }
        Ok(())
    }

    fn is_out_of_time(&self, event: &Event, origin: EventOrigin, now: Millis) -> bool {
        event.timestamp.is_some_and(|at| {
            at > now.on(millis(self.pace.ahead))
                || origin == EventOrigin::Live && at < now.back(millis(self.pace.oldest))
        })
    }

    /// Decodes pending rows again with the new markets.
    fn retry_pending(&mut self, one: &mut VenueReplay) -> Result<(), CollectError> {
        for row in std::mem::take(&mut one.pending) {
            let faults = RefCell::default();
            let instruments = one.markets.for_body(row.market.as_deref());
            let frame = one
                .venue
                .frame(&row.frame, Some(row.received_at), &instruments);
            let decoded = one.venue.decode(&frame.keeping(&faults));
            let events = decoded.unwrap_or_default().events;
            drop(instruments);
            let ambiguity = one.venue.keyed();
            let found = row.find_in(&events, ambiguity);
            match found.filter(|event| !event.is_pending()) {
                Some(event) => {
                    let mut event = event.clone();
                    if ambiguity != KeyAmbiguity::Whole {
                        event.dedupe_key.clone_from(&row.event.dedupe_key);
                    }
                    self.compare(one, event, row.received_at)?;
                }
                None => one.pending.push(row),
            }
        }
        Ok(())
    }

    /// Compares an event with its stored row.
    fn compare(
        &mut self,
        one: &mut VenueReplay,
        event: Event,
        at: Millis,
    ) -> Result<(), CollectError> {
        let name = one.venue.name();
        let Some(row) = order_row(event, one.venue.completeness(), None, at) else {
            return Ok(());
        };
        let outlier = self.prices.check_row(name, &row, None);
        if !one.is_chosen || !self.is_within(at) {
            return Ok(());
        }
        let day = day_of(row.order.timestamp);
        one.stored.load(self.open.archive(), name, day)?;
        let is_doubtful = matches!(outlier, Some(Outlier::Impossible(..))) || row.fault().is_some();
        let fresh = StoredRow {
            received_at: at,
            day,
            content: content(&row),
        };
        if !one.stored.by_key.contains_key(&row.dedupe_key)
            && one.stored.take_of_another_source(&row)
        {
            self.report.of(name).same += 1;
            one.stored.by_key.insert(row.dedupe_key, fresh);
            return Ok(());
        }
        let known = one.stored.by_key.get(&row.dedupe_key);
        // A row that was quarantined live stays in quarantine. The replay cannot repeat this decision, because not all
        // reference prices of that time are stored.
        let is_doubtful = is_doubtful || {
            let quarantined = &self.quarantined;
            known.is_none() && quarantined.contains(&row.dedupe_key, &Figures::from(&row))
        };
        let compared = self.report.of(name);
        match known {
            // The stored row was decoded from another frame, which was received first.
            Some(known) if known.received_at != at => {}
            Some(known) if known.content == fresh.content => compared.same += 1,
            _ if is_doubtful => compared.doubtful += 1,
            known => {
                let moved = known
                    .filter(|known| known.day != day)
                    .map(|known| known.day);
                if known.is_some() {
                    compared.corrected += 1;
                } else {
                    compared.new += 1;
                }
                if let Some(before) = moved {
                    let key = (name.to_owned(), row.dedupe_key.clone());
                    self.days.entry(before).or_default().removed.push(key);
                }
                let stays = known.is_some() && moved.is_none();
                one.stored.by_key.insert(row.dedupe_key.clone(), fresh);
                let revision = self.days.entry(day).or_default();
                if stays {
                    revision.corrected.push(row);
                } else {
                    revision.new.push(row);
                }
            }
        }
        Ok(())
    }

    /// Writes the corrections of the days before `before`, or of all days for `None`.
    pub(crate) fn write_days(&mut self, before: Option<Millis>) -> Result<(), ArchiveError> {
        if before.is_none() {
            let names: Vec<&'static str> = self.venues.keys().copied().collect();
            for name in names {
                if let Some(mut one) = self.venues.remove(name) {
                    self.settle_missing(&mut one, None);
                    self.venues.insert(name, one);
                }
            }
        }
        if let Some(before) = before {
            for one in self.venues.values_mut() {
                one.stored.forget(before.back(Millis::DAY));
            }
        }
        let Some(writer) = self.open.writer() else {
            return Ok(());
        };
        while let Some(day) = self.days.first_entry() {
            if before.is_some_and(|before| *day.key() >= before) {
                break;
            }
            let (day, revision) = day.remove_entry();
            if !revision.is_empty() {
                writer.supersede(day, &revision)?;
            }
        }
        Ok(())
    }
}

/// Decodes a frame into events with their dedupe keys, and the origin of the events. Returns `None` if the frame cannot
/// be decoded completely.
fn decode(one: &mut VenueReplay, line: &RawLine) -> Option<(Vec<Event>, EventOrigin)> {
    let at = line.received_at;
    let instruments = one.markets.for_body(line.market.as_deref());
    let faults = RefCell::default();
    let frame = one.venue.frame(&line.frame, Some(at), &instruments);
    let frame = frame.keeping(&faults);
    let decoded = one.venue.decode(&frame).ok()?;
    let mut events = decoded.events;
    let origin = match line.kind {
        RawLineKind::Socket if !decoded.is_snapshot => EventOrigin::Live,
        _ => EventOrigin::Past,
    };
    let ambiguity = one.venue.keyed();
    if ambiguity != KeyAmbiguity::Whole {
        one.keys.announce(decoded.announced, at);
        one.keys.assign(ambiguity, &mut events, origin, at);
    }
    events.retain(|event| {
        event.timestamp.is_none_or(|happened| {
            line.from.is_none_or(|from| from <= happened)
                && line.until.is_none_or(|until| happened < until)
        })
    });
    faults.take().is_empty().then_some((events, origin))
}
