//! Frames that are read anew, in the order in which they came, beside the rows that were kept of them.
//!
//! What decides of a row while it comes is done once more: keys are assigned, rows wait for the size of their contract, and what
//! is new or changes is held against the prices of its time. Each row is compared with the one of its key that was received
//! with the same frame; what differs is gathered by days, which are changed one after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::archive::{
    Archive, ArchiveError, DayCorrection, Filter, OrderRow, RawLine, RawLineKind,
};
use crate::collect::intake::dedupe_keys::{DedupeKeys, Origin};
use crate::collect::intake::pending_rows::PendingRow;
use crate::collect::intake::raw_frames::path_and_query;
use crate::collect::plan::CollectError;
use crate::collect::quality::order_check::order_row;
use crate::collect::quality::reference_price::{Outlier, ReferencePrices};
use crate::collect::quarantine::quarantine::QuarantinedOrders;
use crate::collect::quarantine::quarantined_order::Figures;
use crate::collect::quarantine::retract::{DoubtfulTime, day_of, doubtful_times};
use crate::collect::rebuild::reference_history::ReferenceHistory;
use crate::collect::rebuild::report::{ArchiveAccess, RebuildOptions, RebuildReport};
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::{Pace, millis};
use crate::feeds::{Ask, Event, Instruments, Keyed, Listing, Venue, venue};
use crate::model::{Millis, Vocabulary};

/// Days before its receipt of which a body may tell, as far as rows that are told no more are looked for.
const BACK: i64 = 8 * Millis::DAY;
/// How much earlier than the one before it a frame may have come: each socket hands over by itself what it hears.
const AMONG: i64 = 10_000;
/// Most rows of an exchange that wait for the size of their contract.
const MOST_HELD: usize = 100_000;

/// What is known of a row that is kept.
#[derive(Clone, Debug)]
struct StoredRow {
    received_at: Millis,
    day: Millis,
    content: u64,
}

/// A row that was received at an instant.
#[derive(Clone, Debug)]
struct Expected {
    key: String,
    native_id: Option<String>,
    day: Millis,
    /// Whether a frame of that instant names its contract.
    is_of_frame: bool,
}

/// The rows of one exchange that are kept, as far as they have been looked at.
#[derive(Debug, Default)]
struct StoredRows {
    days: HashSet<Millis>,
    by_key: HashMap<String, StoredRow>,
    by_receipt: HashMap<Millis, Vec<Expected>>,
}

/// An exchange whose frames are read anew.
struct VenueReplay {
    venue: &'static Venue,
    is_chosen: bool,
    coins: Option<Vec<String>>,
    lists: Vec<Option<Vec<Listing>>>,
    markets: Markets,
    keys: DedupeKeys,
    held: Vec<PendingRow>,
    marks: StoredRows,
    /// By the instants at which frames came lately: the rows received then that none of them has told so far. Of one that is
    /// not fully known there are none.
    untold: BTreeMap<Millis, Vec<Expected>>,
    /// The last instant of which that is settled.
    settled: Option<Millis>,
    /// When it was in doubt what its rows mean.
    doubtful: Vec<DoubtfulTime>,
}

/// Frames on their way through the current decoders.
pub(crate) struct Replay {
    open: ArchiveAccess,
    start: Option<Millis>,
    end: Option<Millis>,
    venues: HashMap<&'static str, VenueReplay>,
    chosen: Vec<&'static str>,
    prices: ReferencePrices,
    /// What was not kept then, since its unit had to be another.
    quarantined: QuarantinedOrders,
    measures: ReferenceHistory,
    pace: Pace,
    days: BTreeMap<Millis, DayCorrection>,
    pub(crate) done: RebuildReport,
}

/// A number for what a row tells of what happened, the same for the same.
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
    /// Looks at the rows of a day.
    fn look(&mut self, archive: &Archive, exchange: &str, day: Millis) -> Result<(), ArchiveError> {
        if !self.days.insert(day) {
            return Ok(());
        }
        let filter = Filter {
            exchange: Some(exchange.to_owned()),
            start: Some(day),
            end: Some(day.on(Millis::DAY)),
            ..Filter::default()
        };
        for row in archive.orders(&filter)?.rows {
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

    /// Forgets days before another, which are looked at again where that is needed.
    fn forget(&mut self, before: Millis) {
        self.days.retain(|day| *day >= before);
        self.by_key.retain(|_, mark| mark.day >= before);
        self.by_receipt.retain(|_, rows| {
            rows.retain(|row| row.day >= before);
            !rows.is_empty()
        });
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
            held: Vec::new(),
            marks: StoredRows::default(),
            untold: BTreeMap::new(),
            settled: None,
            doubtful: Vec::new(),
        }
    }

    /// Learns a page of a list of markets; one that is not asked for any more, or cannot be read, tells nothing.
    fn learn(&mut self, line: &RawLine) {
        let said = line.request.as_deref().unwrap_or_default();
        let requests = self.venue.listing_requests();
        let path = |text: &str| text.split('?').next().map(str::to_owned);
        let ask: Option<&Ask> = requests
            .iter()
            .find(|ask| path_and_query(ask) == said)
            .or_else(|| {
                let place = usize::try_from(line.list?).ok()?;
                requests
                    .get(place)
                    .filter(|ask| path(&path_and_query(ask)) == path(said))
            });
        let (Some(ask), Some(place)) = (ask, line.list.and_then(|list| usize::try_from(list).ok()))
        else {
            return;
        };
        let faults = RefCell::default();
        let none = Instruments::default();
        let frame = self.venue.frame(&line.frame, None, &none).keeping(&faults);
        let Ok(page) = self.venue.read_listings(ask, &frame) else {
            return;
        };
        if self.lists.len() <= place {
            self.lists.resize(place + 1, None);
        }
        if let Some(list) = self.lists.get_mut(place) {
            let mut known = list
                .take()
                .filter(|_| line.page.unwrap_or(0) > 0)
                .unwrap_or_default();
            known.extend(page.rows);
            *list = Some(known);
        }
        self.markets = Markets::of(self.lists.clone(), vec![None; self.lists.len()]);
    }

    fn is_asked_for(&self, coin: &str) -> bool {
        self.coins
            .as_ref()
            .is_none_or(|coins| coins.iter().any(|asked| asked == coin))
    }
}

impl Replay {
    pub(crate) fn new(
        open: ArchiveAccess,
        quarantined: QuarantinedOrders,
        again: &RebuildOptions,
        chosen: &[&'static Venue],
    ) -> Self {
        Self {
            open,
            start: again.start,
            end: again.end,
            venues: HashMap::new(),
            chosen: chosen.iter().map(|venue| venue.name()).collect(),
            prices: ReferencePrices::default(),
            quarantined,
            measures: ReferenceHistory::default(),
            pace: Pace::default(),
            days: BTreeMap::new(),
            done: RebuildReport::default(),
        }
    }

    pub(crate) fn archive(&self) -> &Archive {
        self.open.archive()
    }

    /// Learns what rows of a day are measured by.
    pub(crate) fn begin_day(&mut self, day: Millis) -> Result<(), ArchiveError> {
        self.measures = ReferenceHistory::of(self.open.archive(), day)?;
        Ok(())
    }

    fn is_within(&self, at: Millis) -> bool {
        self.start.is_none_or(|start| at >= start) && self.end.is_none_or(|end| at < end)
    }

    /// Takes a line.
    pub(crate) fn line(&mut self, line: RawLine) -> Result<(), CollectError> {
        // An exchange that is known no more is read by nobody.
        let Ok(venue) = venue(&line.exchange) else {
            return Ok(());
        };
        let name = venue.name();
        let is_chosen = self.chosen.is_empty() || self.chosen.contains(&name);
        let mut one = match self.venues.remove(name) {
            Some(one) => one,
            None => VenueReplay {
                doubtful: doubtful_times(self.archive(), name)?,
                ..VenueReplay::new(venue, is_chosen)
            },
        };
        let outcome = self.of_venue(&mut one, line);
        self.venues.insert(name, one);
        outcome
    }

    fn of_venue(&mut self, one: &mut VenueReplay, line: RawLine) -> Result<(), CollectError> {
        match line.kind {
            RawLineKind::Start => one.coins = line.coins,
            RawLineKind::Dropped => {
                let within = |at: Millis| {
                    line.from.is_none_or(|from| at >= from)
                        && line.until.is_none_or(|until| at < until)
                };
                let came = one.untold.iter_mut().filter(|(at, _)| within(**at));
                came.for_each(|(_, rows)| rows.clear());
            }
            RawLineKind::Markets => {
                one.learn(&line);
                self.try_held(one)?;
            }
            RawLineKind::Socket | RawLineKind::Request => {
                // What was taken in while it was in doubt what rows mean was withdrawn, and is no news.
                let at = line.received_at;
                if !one.doubtful.iter().any(|time| time.contains(at)) {
                    self.frame(one, &line)?;
                }
            }
        }
        Ok(())
    }

    /// What came before an instant (at all, where there is none) is all known: what was received then and is told by nothing is
    /// told no more.
    fn settle_untold(&mut self, one: &mut VenueReplay, before: Option<Millis>) {
        // What was brought in from files came with no frame.
        let gone = |row: &Expected| row.is_of_frame && !row.key.contains("|file|");
        while let Some(first) = one.untold.first_entry() {
            if before.is_some_and(|before| *first.key() >= before) {
                break;
            }
            let (at, rows) = first.remove_entry();
            one.settled = one.settled.max(Some(at));
            for row in rows.into_iter().filter(gone) {
                let name = one.venue.name();
                self.done.of(name).gone += 1;
                one.marks.by_key.remove(&row.key);
                let revision = self.days.entry(row.day).or_default();
                revision.removed.push((name.to_owned(), row.key));
            }
        }
    }

    /// Leaves open what is told no more of the last instants of an exchange.
    pub(crate) fn forget_last(&mut self, exchange: &str) {
        if let Some(one) = self.venues.get_mut(exchange) {
            one.untold.values_mut().for_each(Vec::clear);
        }
    }

    /// Looks at the rows that a frame may have told.
    fn look(&self, one: &mut VenueReplay, line: &RawLine) -> Result<(), ArchiveError> {
        let at = line.received_at;
        let first = match line.from {
            Some(from) if line.kind == RawLineKind::Request => from.max(at.back(BACK)).min(at),
            _ => at.back(Millis::DAY),
        };
        let mut day = day_of(first);
        while day <= at {
            one.marks.look(self.open.archive(), one.venue.name(), day)?;
            let next = day.on(Millis::DAY);
            if next == day {
                break; // the end of time
            }
            day = next;
        }
        Ok(())
    }

    fn frame(&mut self, one: &mut VenueReplay, line: &RawLine) -> Result<(), CollectError> {
        let (name, at) = (one.venue.name(), line.received_at);
        let counts = one.is_chosen && self.is_within(at);
        self.measures.tell(&self.prices, at);
        if counts && !one.untold.contains_key(&at) {
            self.settle_untold(one, Some(at.back(AMONG)));
            self.look(one, line)?;
            let is_settled = one.settled.is_some_and(|settled| at <= settled);
            let rows = one.marks.by_receipt.get(&at).filter(|_| !is_settled);
            let rows = rows.cloned().unwrap_or_default();
            one.untold.insert(at, rows);
        }
        if counts {
            self.done.of(name).frames += 1;
        }
        let read = read(one, line);
        let Some((events, origin)) = read else {
            if counts {
                self.done.of(name).unread += 1;
                one.untold.entry(at).or_default().clear();
            }
            return Ok(());
        };
        if let Some(untold) = one.untold.get_mut(&at).filter(|_| counts) {
            let told: HashSet<&str> = events
                .iter()
                .map(|event| event.dedupe_key.as_str())
                .collect();
            untold.retain_mut(|row| {
                row.is_of_frame |= row.native_id.as_deref().is_none_or(|native_id| {
                    line.frame.contains(native_id) || line.market.as_deref() == Some(native_id)
                });
                !told.contains(row.key.as_str())
            });
        }
        for event in events {
            if !one.is_asked_for(&event.coin) || self.is_out_of_time(&event, origin, at) {
                continue;
            }
            if one.keys.excess(one.venue.keyed(), &event).is_some() {
                continue;
            }
            if event.is_held() {
                if one.held.len() >= MOST_HELD {
                    continue;
                }
                one.held.push(PendingRow {
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

    fn is_out_of_time(&self, event: &Event, origin: Origin, now: Millis) -> bool {
        event.timestamp.is_some_and(|at| {
            at > now.on(millis(self.pace.ahead))
                || origin == Origin::Live && at < now.back(millis(self.pace.oldest))
        })
    }

    /// Tries the rows that wait for the size of their contract.
    fn try_held(&mut self, one: &mut VenueReplay) -> Result<(), CollectError> {
        for row in std::mem::take(&mut one.held) {
            let faults = RefCell::default();
            let instruments = one.markets.for_body(row.market.as_deref());
            let frame = one
                .venue
                .frame(&row.frame, Some(row.received_at), &instruments);
            let events = one
                .venue
                .decode(&frame.keeping(&faults))
                .unwrap_or_default();
            drop(instruments);
            match row.find_in(&events).filter(|event| !event.is_held()) {
                Some(event) => {
                    let mut event = event.clone();
                    if one.venue.keyed() != Keyed::Whole {
                        event.dedupe_key.clone_from(&row.event.dedupe_key);
                    }
                    self.compare(one, event, row.received_at)?;
                }
                None => one.held.push(row),
            }
        }
        Ok(())
    }

    /// Compares an event that was received at an instant with the row that is kept of it.
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
        one.marks.look(self.open.archive(), name, day)?;
        let is_doubtful = matches!(outlier, Some(Outlier::Impossible(..))) || row.fault().is_some();
        let fresh = StoredRow {
            received_at: at,
            day,
            content: content(&row),
        };
        let known = one.marks.by_key.get(&row.dedupe_key);
        // What it was measured by then is not all known any more, such as the exchange's own price.
        let is_doubtful = is_doubtful || {
            let quarantined = &self.quarantined;
            known.is_none() && quarantined.contains(&row.dedupe_key, &Figures::from(&row))
        };
        let compared = self.done.of(name);
        match known {
            // It came with another frame.
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
                one.marks.by_key.insert(row.dedupe_key.clone(), fresh);
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

    /// Changes the days before another as they are to be told, or all of them.
    pub(crate) fn settle(&mut self, before: Option<Millis>) -> Result<(), ArchiveError> {
        if before.is_none() {
            let names: Vec<&'static str> = self.venues.keys().copied().collect();
            for name in names {
                if let Some(mut one) = self.venues.remove(name) {
                    self.settle_untold(&mut one, None);
                    self.venues.insert(name, one);
                }
            }
        }
        if let Some(before) = before {
            for one in self.venues.values_mut() {
                one.marks.forget(before.back(Millis::DAY));
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

/// The events of a frame with their keys, and how they came; `None` where not all of it can be read.
fn read(one: &mut VenueReplay, line: &RawLine) -> Option<(Vec<Event>, Origin)> {
    let at = line.received_at;
    let instruments = one.markets.for_body(line.market.as_deref());
    let faults = RefCell::default();
    let frame = one.venue.frame(&line.frame, Some(at), &instruments);
    let frame = frame.keeping(&faults);
    let mut events = one.venue.decode(&frame).ok()?;
    let origin = match line.kind {
        RawLineKind::Socket if events.is_empty() || !one.venue.recalls(&frame) => Origin::Live,
        _ => Origin::Past,
    };
    let keyed = one.venue.keyed();
    if keyed != Keyed::Whole {
        one.keys.announce(one.venue.announced(&frame), at);
        one.keys.assign(keyed, &mut events, origin, at);
    }
    events.retain(|event| {
        event.timestamp.is_none_or(|happened| {
            line.from.is_none_or(|from| from <= happened)
                && line.until.is_none_or(|until| happened < until)
        })
    });
    faults.take().is_empty().then_some((events, origin))
}
