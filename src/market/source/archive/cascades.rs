//! Cascades of an archive, read some days at a time; recent ones are cached and extended.
//!
//! Repeated queries for the newest cascades need not read eight days each time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::archive::{Archive, Filter, OrderFold};
use crate::engine::{CascadeClusters, CascadeQuestion};
use crate::market::refusal::Refusal;
use crate::model::{CascadeRow, Millis, OrderBrief};

/// Days per read, which bounds memory to their cascades.
const DAYS: usize = 4;
/// Cascades that began within this time are recent.
const LATE: i64 = 2 * Millis::DAY;
/// Extra time that is cached, so that the next queries hit the cache.
const SLACK: i64 = Millis::HOUR;
/// Small cascades are dropped this long after their end. An order older than that forces a full read.
const SETTLED: i64 = 2 * Millis::HOUR;
/// Most queries with cached cascades.
const CACHED_QUESTIONS: usize = 4;
/// Bound of the cached cascades of a query.
const MOST_CASCADES: usize = 1_000_000;
/// New orders per read.
const PAGE: usize = 16_384;

/// The cascades in one share of the orders; the archive folds several shares and then joins them.
struct ClusterShare(CascadeClusters);

impl OrderFold for ClusterShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.take(&order);
    }
}

/// Records a read of the orders before `end` that no earlier step covers, up to this order number.
#[derive(Clone, Copy, Debug)]
struct ReadStep {
    end: Millis,
    number: i64,
}

/// Cascades that were read.
struct ReadClusters {
    clusters: CascadeClusters,
    /// Steps in order of time, without gaps. The last step has no end, unless later orders do not matter.
    steps: Vec<ReadStep>,
}

/// Reads the cascades of `asked`; drops small ones that ended before `settled`.
fn read(
    archive: &Archive,
    asked: &Arc<CascadeQuestion>,
    as_of: Option<Millis>,
    settled: Millis,
) -> Result<ReadClusters, Refusal> {
    // An archive stores the coin of each pair, so a filter by coin finds all its pairs.
    let coin = match asked.symbols.as_slice() {
        [one] => Some(one.coin().to_owned()),
        _ => None,
    };
    let mut filter = Filter {
        start: Some(asked.known_from()),
        as_of,
        coin,
        ..Filter::default()
    };
    let days = archive.days_with_orders(&filter)?;
    let mut ends: Vec<Millis> = days
        .chunks(DAYS)
        .filter_map(|some| Some(some.last()?.on(Millis::DAY)))
        .collect();
    // New orders may belong to any later day, so the last step has no end.
    ends.pop();
    ends.push(Millis(i64::MAX));
    let mut clusters = CascadeClusters::new(asked);
    let mut steps = Vec::new();
    for end in ends {
        let from = filter.start.unwrap_or_default();
        if from >= asked.end && !clusters.is_open(from) {
            break;
        }
        filter.end = Some(end);
        let (shares, known) =
            archive.fold_orders(&filter, || ClusterShare(CascadeClusters::new(asked)))?;
        steps.push(ReadStep {
            end,
            number: known.end.orders,
        });
        for share in shares {
            clusters.join(share.0);
        }
        clusters.settle(end.min(settled));
        filter.start = Some(end);
    }
    Ok(ReadClusters { clusters, steps })
}

/// The cascades of a time range, without the cache.
pub(crate) fn of_range(
    archive: &Archive,
    asked: &Arc<CascadeQuestion>,
    as_of: Option<Millis>,
) -> Result<Option<Vec<CascadeRow>>, Refusal> {
    let read = read(archive, asked, as_of, Millis(i64::MAX))?;
    Ok(read.clusters.rows(asked))
}

/// Cached recent cascades of one query.
#[derive(Debug)]
struct RecentCascades {
    /// The query, with the start of the cached time.
    asked: Arc<CascadeQuestion>,
    clusters: CascadeClusters,
    /// What was read.
    steps: Vec<ReadStep>,
    /// Identifies the order of arrival that was read; with another one the cache is invalid.
    series: u64,
    /// Changes whenever days are compacted into segments.
    rolled: i64,
    /// An order from before this instant forces a full read: its cascade may be dropped, or it may be in a segment
    /// already.
    settled: Millis,
}

impl RecentCascades {
    /// Reads the cascades of `asked`, at `now`.
    fn read(archive: &Archive, asked: &CascadeQuestion, now: Millis) -> Result<Self, Refusal> {
        let asked = Arc::new(CascadeQuestion {
            start: asked.start.back(SLACK),
            end: Millis(i64::MAX),
            ..asked.clone()
        });
        let known = archive.summary()?;
        let filed = archive.compacted_until()?.unwrap_or(Millis(i64::MIN));
        let settled = filed.max(now.back(SETTLED));
        let ReadClusters { clusters, steps } = read(archive, &asked, None, settled)?;
        Ok(Self {
            asked,
            clusters,
            steps,
            series: known.series,
            rolled: known.rolled.orders,
            settled,
        })
    }

    /// Whether the cache covers `asked`.
    fn serves(&self, asked: &CascadeQuestion) -> bool {
        self.asked.gap == asked.gap
            && self.asked.least == asked.least
            && self.asked.symbols == asked.symbols
            && self.asked.known_from() <= asked.known_from()
    }

    /// Adds orders that have arrived since; returns false if a full read is needed.
    fn go_on(&mut self, archive: &Archive) -> Result<bool, Refusal> {
        let Some(mut number) = self.steps.iter().map(|step| step.number).min() else {
            return Ok(false);
        };
        loop {
            let (mut shown, mut last, mut late) = (0, number, false);
            let (clusters, steps) = (&mut self.clusters, &self.steps);
            let (from, settled) = (self.asked.known_from(), self.settled);
            let known = archive.arrivals(number, PAGE, &mut |brief| {
                (shown, last) = (shown + 1, brief.number);
                let step = steps.iter().find(|step| brief.timestamp < step.end);
                if brief.timestamp < from || step.is_some_and(|step| brief.number <= step.number) {
                    return;
                }
                late |= brief.timestamp < settled;
                clusters.take(&brief);
            })?;
            if late || known.series != self.series || known.rolled.orders != self.rolled {
                return Ok(false);
            }
            number = last;
            if shown < PAGE {
                break;
            }
        }
        let end = Millis(i64::MAX);
        self.steps = vec![ReadStep { end, number }];
        Ok(true)
    }

    /// Drops cascades that queries at `now` do not need.
    fn tidy(&mut self, asked: &CascadeQuestion, now: Millis) {
        if now.back(2 * SETTLED) < self.settled {
            return;
        }
        self.settled = now.back(SETTLED);
        self.asked = Arc::new(CascadeQuestion {
            start: asked.start.back(SLACK),
            ..(*self.asked).clone()
        });
        self.clusters.ask(&self.asked);
        self.clusters.forget(self.asked.known_from());
        self.clusters.settle(self.settled);
    }
}

/// Cached recent cascades, the most recently used last.
#[derive(Debug, Default)]
pub(crate) struct RecentCascadeCache(Mutex<VecDeque<RecentCascades>>);

impl RecentCascadeCache {
    /// Whether a query at `now` is about recent cascades.
    pub(crate) fn are_asked(asked: &CascadeQuestion, now: Millis) -> bool {
        asked.start >= now.back(LATE)
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<RecentCascades>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The recent cascades of `asked`, at `now`.
    pub(crate) fn rows(
        &self,
        archive: &Archive,
        asked: &CascadeQuestion,
        now: Millis,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        // The entry is removed while it is used, so that other queries do not wait.
        let found = {
            let mut tails = self.lock();
            let place = tails.iter().position(|tail| tail.serves(asked));
            place.and_then(|place| tails.remove(place))
        };
        let going_on = match found {
            Some(mut tail) => tail.go_on(archive)?.then_some(tail),
            None => None,
        };
        let mut tail = match going_on {
            Some(tail) => tail,
            None => RecentCascades::read(archive, asked, now)?,
        };
        let rows = tail.clusters.rows(asked);
        tail.tidy(asked, now);
        if tail.clusters.len() <= MOST_CASCADES {
            let mut tails = self.lock();
            tails.push_back(tail);
            while tails.len() > CACHED_QUESTIONS {
                tails.pop_front();
            }
        }
        Ok(rows)
    }
}
