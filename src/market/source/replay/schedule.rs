//! The schedule of a replay: when each row arrives. It is split by day, so that an archive need not fit in memory.
//!
//! A row arrives at its due time: once it has been received and its event is over. Queries as of an instant use the
//! same rule. The order of arrival is the same for rows in the journal and for rows in segments.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::{Archive, BarRow, Filter, OpenInterestRow};
use crate::contract::BadQuery;
use crate::engine::Observations;
use crate::market::refusal::Refusal;
use crate::market::revision::last_close;
use crate::model::{Millis, Order};

/// Maximum number of days in memory.
const CACHED_DAYS: usize = 3;

/// The arrivals of a UTC day.
#[derive(Debug, Default)]
pub(crate) struct ReplayDay {
    /// Distinct due times, each with whether an estimate may change at that time.
    dues: Vec<(Millis, bool)>,
    /// Orders with their due times, in order of arrival.
    orders: Vec<(Millis, Order)>,
}

impl ReplayDay {
    /// The number of orders due by `at`.
    fn arrived(&self, at: Millis) -> usize {
        self.orders.partition_point(|(due, _)| *due <= at)
    }
}

/// A day of the schedule under construction.
#[derive(Debug, Default)]
struct DayDraft {
    dues: BTreeMap<Millis, bool>,
    /// The number of orders, including orders that are only counted and not stored.
    count: u64,
    orders: Vec<(Millis, Order)>,
    /// The first and the last event time of the rows.
    events: Option<(Millis, Millis)>,
}

impl DayDraft {
    fn note(&mut self, due: Millis, event: Millis, settles: bool) {
        *self.dues.entry(due).or_default() |= settles;
        let (first, last) = self.events.unwrap_or((event, event));
        self.events = Some((first.min(event), last.max(event)));
    }

    /// Counts an order. The caller may store the order in addition.
    fn count(&mut self, due: Millis, order: &Order, late: bool) {
        self.count += 1;
        self.note(due, order.timestamp, late);
    }

    fn page(mut self) -> ReplayDay {
        // The sort is stable: orders that are due at the same time stay in their order.
        self.orders.sort_by_key(|(due, _)| *due);
        ReplayDay {
            dues: self.dues.into_iter().collect(),
            orders: self.orders,
        }
    }
}

/// The due time of an order, and whether a bar boundary lies between its event and this time.
fn due_of(order: &Order, received_at: Millis) -> (Millis, bool) {
    let due = received_at.max(order.timestamp);
    (due, order.timestamp < last_close(due))
}

/// The summary of a day, which stays in memory when the day itself does not.
#[derive(Clone, Copy, Debug)]
struct DayOutline {
    first: Millis,
    last: Millis,
    /// The last instant at which an estimate may change.
    settled: Option<Millis>,
    /// Number of orders that arrive before this day.
    before: u64,
    orders: u64,
    events: (Millis, Millis),
}

/// Where the days of the schedule are stored.
#[derive(Debug)]
enum DayStore {
    InMemory(Vec<Arc<ReplayDay>>),
    OnDisk {
        archive: Box<Archive>,
        recent: Mutex<VecDeque<(usize, Arc<ReplayDay>)>>,
    },
}

/// All arrivals after `start` and up to `end`.
#[derive(Debug)]
pub(crate) struct ReplaySchedule {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    outlines: Vec<DayOutline>,
    pages: DayStore,
}

/// The state of a replay at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayPosition {
    /// The time of the last arrival.
    pub(crate) now: Millis,
    /// The last instant at which an estimate may have changed.
    pub(crate) settled: Millis,
    /// The time of the next arrival.
    pub(crate) next: Option<Millis>,
}

/// Days under construction, by their start.
#[derive(Default)]
struct DayDrafts(BTreeMap<Millis, DayDraft>);

impl DayDrafts {
    fn of(&mut self, due: Millis) -> &mut DayDraft {
        let day = Millis(due.0.div_euclid(Millis::DAY).saturating_mul(Millis::DAY));
        self.0.entry(day).or_default()
    }

    fn outlines(&self) -> Vec<DayOutline> {
        let mut before = 0;
        let made = self.0.values().filter_map(|draft| {
            let (first, _) = draft.dues.first_key_value()?;
            let (last, _) = draft.dues.last_key_value()?;
            let settling = draft.dues.iter().rev().find(|(_, settles)| **settles);
            let outline = DayOutline {
                first: *first,
                last: *last,
                settled: settling.map(|(due, _)| *due),
                before,
                orders: draft.count,
                events: draft.events?,
            };
            before += outline.orders;
            Some(outline)
        });
        made.collect()
    }
}

impl ReplaySchedule {
    /// The schedule of all rows of `observations` that arrive after `start`, in memory.
    pub(crate) fn of_observations(observations: &Observations, start: Millis) -> Self {
        let mut drafts = DayDrafts::default();
        let (orders, bars, readings) = observations.rows();
        for place in observations.in_order_of_arrival() {
            let Some(row) = orders.get(place) else {
                continue;
            };
            let (due, late) = due_of(&row.order, row.received_at.unwrap_or(row.order.timestamp));
            if due > start {
                let draft = drafts.of(due);
                draft.count(due, &row.order, late);
                draft.orders.push((due, row.order.clone()));
            }
        }
        let closes = bars
            .iter()
            .map(|bar| bar.timestamp.on(bar.interval.unwrap_or_default()));
        let readings = readings.iter().map(|reading| reading.timestamp);
        for due in closes.chain(readings).filter(|due| *due > start) {
            drafts.of(due).note(due, due, true);
        }
        let outlines = drafts.outlines();
        let pages = drafts.0.into_values().map(|draft| Arc::new(draft.page()));
        Self {
            start,
            end: outlines.last().map_or(start, |outline| outline.last),
            outlines,
            pages: DayStore::InMemory(pages.collect()),
        }
    }

    /// The schedule of the rows of an archive that arrive after `start` and up to `end`; each bound may be absent.
    ///
    /// `read` is called with the number of days read so far and in total.
    pub(crate) fn of_archive(
        archive: Archive,
        start: Option<Millis>,
        end: Option<Millis>,
        read: &dyn Fn(usize, usize),
    ) -> Result<Self, Refusal> {
        let all = Filter {
            end: end.map(|end| end.on(1)),
            as_of: end,
            ..Filter::default()
        };
        let after = start.unwrap_or(Millis(i64::MIN));
        let mut drafts = DayDrafts::default();
        let days = archive.days_of_rows(&all)?;
        let of = days.len();
        for (done, day) in days.into_iter().enumerate() {
            read(done, of);
            let filter = Filter {
                start: Some(day),
                end: Some(day.on(Millis::DAY)),
                ..all.clone()
            };
            for row in archive.orders(&filter)?.rows {
                let (due, late) = due_of(&row.order, row.received_at);
                if due > after {
                    drafts.of(due).count(due, &row.order, late);
                }
            }
            settling(&archive, &filter, |due, event| {
                if due > after {
                    drafts.of(due).note(due, event, true);
                }
            })?;
        }
        read(of, of);
        let outlines = drafts.outlines();
        let (Some(first), Some(last)) = (outlines.first(), outlines.last()) else {
            return Err(nothing(&archive, start));
        };
        Ok(Self {
            start: start.unwrap_or(first.first.back(1)),
            end: end.unwrap_or(last.last),
            outlines,
            pages: DayStore::OnDisk {
                archive: Box::new(archive),
                recent: Mutex::default(),
            },
        })
    }

    /// Whether a day may have to be read from disk.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self.pages, DayStore::OnDisk { .. })
    }

    /// The day with the index `number`.
    fn page(&self, number: usize) -> Result<Arc<ReplayDay>, Refusal> {
        let (archive, recent) = match &self.pages {
            DayStore::InMemory(pages) => return Ok(pages.get(number).cloned().unwrap_or_default()),
            DayStore::OnDisk { archive, recent } => (archive, recent),
        };
        let mut recent = recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, page)) = recent.iter().find(|(of, _)| *of == number) {
            return Ok(Arc::clone(page));
        }
        let Some(outline) = self.outlines.get(number) else {
            return Ok(Arc::default());
        };
        let page = Arc::new(Self::read(archive, outline)?);
        recent.push_back((number, Arc::clone(&page)));
        if recent.len() > CACHED_DAYS {
            recent.pop_front();
        }
        Ok(page)
    }

    fn read(archive: &Archive, outline: &DayOutline) -> Result<ReplayDay, Refusal> {
        let filter = Filter {
            start: Some(outline.events.0),
            end: Some(outline.events.1.on(1)),
            as_of: Some(outline.last),
            ..Filter::default()
        };
        let mut draft = DayDraft::default();
        for row in archive.orders(&filter)?.rows {
            let (due, late) = due_of(&row.order, row.received_at);
            if due >= outline.first {
                draft.count(due, &row.order, late);
                draft.orders.push((due, row.order));
            }
        }
        settling(archive, &filter, |due, event| {
            if due >= outline.first {
                draft.note(due, event, true);
            }
        })?;
        Ok(draft.page())
    }

    /// The state of the replay at the instant `at`.
    pub(crate) fn stand(&self, at: Millis) -> Result<ReplayPosition, Refusal> {
        let begun = self.outlines.partition_point(|outline| outline.first <= at);
        let mut stand = ReplayPosition {
            now: self.start,
            settled: self.start,
            next: self.outlines.get(begun).map(|outline| outline.first),
        };
        let Some((number, outlines)) = begun
            .checked_sub(1)
            .and_then(|number| Some((number, self.outlines.get(..=number)?)))
        else {
            return Ok(stand);
        };
        let page = self.page(number)?;
        let arrived = page.dues.partition_point(|(due, _)| *due <= at);
        let (past, future) = page.dues.split_at(arrived);
        if let Some((due, _)) = past.last() {
            stand.now = *due;
        }
        if let Some((due, _)) = future.first() {
            stand.next = Some(*due);
        }
        let settled = past.iter().rev().find(|(_, settles)| *settles);
        let mut earlier = outlines.iter().rev().skip(1);
        let earlier = earlier.find_map(|outline| outline.settled);
        if let Some(settled) = settled.map(|(due, _)| *due).or(earlier) {
            stand.settled = settled;
        }
        Ok(stand)
    }

    /// The number of orders that have arrived by `at`.
    pub(crate) fn arrived(&self, at: Millis) -> Result<u64, Refusal> {
        let begun = self.outlines.partition_point(|outline| outline.first <= at);
        let Some(number) = begun.checked_sub(1) else {
            return Ok(0);
        };
        let before = self
            .outlines
            .get(number)
            .map_or(0, |outline| outline.before);
        Ok(before + self.page(number)?.arrived(at) as u64)
    }

    /// Up to `limit` orders that arrived by `at`, without the first `known` orders.
    pub(crate) fn orders_behind(
        &self,
        known: u64,
        limit: usize,
        at: Millis,
    ) -> Result<Vec<Order>, Refusal> {
        let of = |outline: &DayOutline| outline.before + outline.orders <= known;
        let mut found = Vec::new();
        for number in self.outlines.partition_point(of)..self.outlines.len() {
            let Some(outline) = self.outlines.get(number) else {
                break;
            };
            if outline.first > at || found.len() >= limit {
                break;
            }
            let page = self.page(number)?;
            let skipped = usize::try_from(known.saturating_sub(outline.before));
            let some = page.orders.iter().take(page.arrived(at));
            let some = some.skip(skipped.unwrap_or(usize::MAX));
            found.extend(
                some.take(limit - found.len())
                    .map(|(_, order)| order.clone()),
            );
        }
        Ok(found)
    }
}

/// Calls `take` with the due time and the event time of each bar and each open-interest reading.
fn settling(
    archive: &Archive,
    filter: &Filter,
    mut take: impl FnMut(Millis, Millis),
) -> Result<(), Refusal> {
    let bars: Vec<BarRow> = archive.observed_bars(filter)?.rows;
    for row in bars {
        take(row.received_at.max(row.close_time()), row.timestamp);
    }
    let readings: Vec<OpenInterestRow> = archive.open_interest(filter)?.rows;
    for row in readings {
        take(row.received_at.max(row.timestamp), row.timestamp);
    }
    Ok(())
}

/// The refusal of a replay in which nothing arrives.
fn nothing(archive: &Archive, start: Option<Millis>) -> Refusal {
    let newest = archive
        .catalog()
        .summary()
        .ok()
        .and_then(|known| known.newest);
    match (start, newest) {
        (Some(start), Some(newest)) => BadQuery::new(
            "start",
            format!("no row arrives after {start}; the newest row of the archive is from {newest}"),
            "an earlier start, and a later end",
        ),
        _ => BadQuery::new(
            "path",
            format!(
                "{} has no rows that arrive in the replayed range",
                archive.path().display()
            ),
            "an archive with orders, bars or open interest, and an end after the first of them",
        ),
    }
    .into()
}
