//! The orders of an archive's last day, in memory and extended by new rows.
//!
//! The ring is the structure that contains these orders with their running sums. It drops orders older than a day.

use std::collections::{HashMap, VecDeque};

use crate::archive::{Archive, ArchiveSummary, Filter, OrderFold};
use crate::engine::{Ring, RingFault, RingPart};
use crate::market::arrivals::ArrivalId;
use crate::market::refusal::Refusal;
use crate::market::revision::{Revision, last_close, wall_clock};
use crate::market::source::archive::day_cache::DayCache;
use crate::model::{Millis, Order, OrderBrief};

/// Number of recent orders that are stored in order of arrival, for followers.
const ARRIVED: usize = 16_384;
/// If more new orders than this arrive together, they are read in parallel, as when the archive is opened.
const FAR: i64 = 100_000;

/// The orders of the last day, and the state up to which the archive was read.
#[derive(Debug)]
pub(crate) struct LiveDay {
    pub(crate) version: i64,
    pub(crate) known: ArchiveSummary,
    pub(crate) ring: Ring,
    pub(crate) revision: Revision,
    /// Changes with each commit, because sessions and gaps may change too.
    pub(crate) recorded: Revision,
    /// The revisions of coins that have changed since the last full read.
    coins: HashMap<String, Revision>,
    /// The revision of all coins that have not changed since the last full read.
    others: Revision,
    /// The orders with numbers above [`LiveDay::from`], in order of arrival.
    arrived: VecDeque<(i64, Order)>,
    from: i64,
    /// Whether the ring is incomplete and must be read again.
    broken: bool,
}

/// One share of the orders of the last day. Shares are read in parallel and joined to the ring afterwards.
struct RingShare(Result<RingPart, RingFault>);

impl OrderFold for RingShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        if let Ok(part) = &mut self.0
            && let Err(fault) = part.push(&order)
        {
            self.0 = Err(fault);
        }
    }

    fn end(&mut self) {
        if let Ok(part) = &mut self.0 {
            part.settle();
        }
    }
}

/// Reads the orders of the day before `now`, as known at `as_of`.
fn filled(
    archive: &Archive,
    now: Millis,
    as_of: Option<Millis>,
) -> Result<(Ring, ArchiveSummary), Refusal> {
    let filter = Filter {
        start: Some(now.back(Millis::DAY).on(1)),
        as_of,
        ..Filter::default()
    };
    let (shares, known) = archive.fold_orders(&filter, || RingShare(Ok(RingPart::new(now))))?;
    let parts: Result<Vec<RingPart>, RingFault> = shares.into_iter().map(|share| share.0).collect();
    Ok((Ring::of_parts(now, parts?)?, known))
}

/// Reads the orders of the day before `at`, as they were known at `at`.
pub(crate) fn past(archive: &Archive, at: Millis) -> Result<Ring, Refusal> {
    Ok(filled(archive, at, Some(at))?.0)
}

impl LiveDay {
    fn of(version: i64, known: ArchiveSummary, ring: Ring) -> Self {
        let revision = Revision::first();
        Self {
            version,
            known,
            ring,
            revision,
            recorded: revision,
            coins: HashMap::new(),
            others: Revision {
                number: 0,
                ..revision
            },
            arrived: VecDeque::new(),
            from: known.end.orders,
            broken: false,
        }
    }

    /// Reads the last day of the archive as of now.
    pub(crate) fn load(archive: &Archive) -> Result<Self, Refusal> {
        // Read the version first. A commit during the read then has a newer version and is read later.
        let version = archive.version()?;
        let newest = archive.catalog().summary()?.newest.unwrap_or_default();
        let (mut ring, known) = filled(archive, newest, None)?;
        ring.advance(known.newest.unwrap_or_default());
        Ok(Self::of(version, known, ring))
    }

    /// The state of an archive opened as of `at`: it never changes, and its ring is empty.
    pub(crate) fn still(archive: &Archive, at: Millis) -> Result<Self, Refusal> {
        let version = archive.version()?;
        Ok(Self::of(
            version,
            archive.catalog().summary()?,
            Ring::new(at),
        ))
    }

    /// Reads the rows that were committed up to `version` and are not in memory yet.
    pub(crate) fn absorb(
        &mut self,
        archive: &Archive,
        version: i64,
        days: &[&DayCache],
    ) -> Result<(), Refusal> {
        if self.broken {
            return self.reload(archive, days);
        }
        let before = self.ring.now();
        let mut fault: Option<RingFault> = None;
        let mut late: HashMap<String, Millis> = HashMap::new();
        let ring = &mut self.ring;
        let arrived = &mut self.arrived;
        let news = archive.tail(self.known.end, FAR, &mut |brief| {
            if fault.is_some() {
                return;
            }
            fault = ring.arrive(&brief).err();
            arrived.push_back((brief.number, brief.order()));
            if brief.timestamp < last_close(before) {
                late.entry(brief.coin.to_owned())
                    .and_modify(|first| *first = brief.timestamp.min(*first))
                    .or_insert(brief.timestamp);
            }
        });
        let news = match (news, fault) {
            (Ok(news), None) => news,
            // The ring is now incomplete, so the next query reads everything again.
            (Err(error), _) => {
                self.broken = true;
                return Err(error.into());
            }
            (Ok(_), Some(fault)) => {
                self.broken = true;
                return Err(fault.into());
            }
        };
        if news.incomplete {
            return self.reload(archive, days);
        }
        let changed_at = wall_clock();
        let next = |revision: Revision| revision.next(changed_at);
        self.ring.advance(news.known.newest.unwrap_or_default());
        self.ring.settle();
        while self.arrived.len() > ARRIVED {
            if let Some((number, _)) = self.arrived.pop_front() {
                self.from = number;
            }
        }
        let closed = last_close(self.ring.now());
        for (coin, first) in news.coins.iter().chain(&late) {
            for days in days {
                days.forget(coin, *first);
            }
            if *first < closed {
                let revision = self.coins.entry(coin.clone()).or_insert(self.others);
                *revision = next(*revision);
            }
        }
        if news.known.end != self.known.end {
            self.revision = next(self.revision);
        }
        self.recorded = next(self.recorded);
        self.known = news.known;
        self.version = version;
        Ok(())
    }

    /// Reads the whole last day again and drops the cached days.
    fn reload(&mut self, archive: &Archive, days: &[&DayCache]) -> Result<(), Refusal> {
        let fresh = Self::load(archive)?;
        for days in days {
            days.clear();
        }
        self.replace(fresh);
        Ok(())
    }

    /// Replaces the content by that of `fresh` and advances all revisions.
    pub(crate) fn replace(&mut self, fresh: Self) {
        let changed_at = wall_clock();
        *self = Self {
            revision: self.revision.next(changed_at),
            recorded: self.recorded.next(changed_at),
            coins: HashMap::new(),
            others: self.after_all_coins(changed_at),
            ..fresh
        };
    }

    /// The revision that estimates of a coin depend on.
    pub(crate) fn of_coin(&self, coin: &str) -> Revision {
        self.coins.get(coin).copied().unwrap_or(self.others)
    }

    /// A revision with a higher number than the revision of any coin.
    fn after_all_coins(&self, changed_at: Millis) -> Revision {
        let known = self.coins.values().map(|revision| revision.number);
        let number = known.max().unwrap_or(0).max(self.others.number);
        Revision {
            number,
            ..self.others
        }
        .next(changed_at)
    }

    /// Changes the revision of every coin, because all estimates are out of date.
    pub(crate) fn estimates_changed(&mut self) {
        self.others = self.after_all_coins(wall_clock());
        self.coins.clear();
    }

    /// Marks all content as out of date; the next query reads it again.
    pub(crate) fn forget(&mut self) {
        self.version = i64::MIN;
        self.broken = true;
    }

    /// Up to `limit` orders with numbers above `number`; `None` if some of them are no longer stored.
    pub(crate) fn arrived_behind(
        &self,
        number: i64,
        limit: usize,
    ) -> Option<Vec<(ArrivalId, Order)>> {
        if number < self.from {
            return None;
        }
        let first = self.arrived.partition_point(|(known, _)| *known <= number);
        let behind = self.arrived.range(first..).take(limit);
        let place = |number: i64| ArrivalId {
            series: self.known.series,
            number: u64::try_from(number).unwrap_or_default(),
        };
        Some(
            behind
                .map(|(number, order)| (place(*number), order.clone()))
                .collect(),
        )
    }
}
