//! Reads the cascades of an archive, a few days at a time.
//!
//! Recent cascades are cached and extended by new orders, so that repeated queries need not read eight days each time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::archive::{Archive, Filter, OrderFold};
use crate::engine::{CascadeClusters, CascadeQuestion};
use crate::market::refusal::Refusal;
use crate::model::{CascadeRow, Millis, OrderBrief};

/// Number of days per read, which limits the memory in use.
const DAYS: usize = 4;
/// A query is about recent cascades if its start is at most this old, in milliseconds.
const LATE: i64 = 2 * Millis::DAY;
/// How much earlier than the start of a query the cache starts, in milliseconds. It then serves similar queries too.
const SLACK: i64 = Millis::HOUR;
/// Cascades below the minimum USD are dropped this many milliseconds after their end. Older orders force a full read.
const SETTLED: i64 = 2 * Millis::HOUR;
/// Maximum number of queries with cached cascades.
const CACHED_QUESTIONS: usize = 4;
/// Maximum number of cached cascades per query.
const MOST_CASCADES: usize = 1_000_000;
/// Maximum number of new orders per read.
const PAGE: usize = 16_384;

/// The cascades in one share of the orders. The archive reads several shares in parallel; they are joined afterwards.
struct ClusterShare(CascadeClusters);

impl OrderFold for ClusterShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.take(&order);
    }
}

/// One finished read: it covers the orders before `end` and after the previous step, up to the order `number`.
#[derive(Clone, Copy, Debug)]
struct ReadStep {
    end: Millis,
    number: i64,
}

/// Cascades, with the reads that found them.
struct ReadClusters {
    clusters: CascadeClusters,
    /// Reads in time order, without gaps. The last one has no end, unless later orders do not matter.
    steps: Vec<ReadStep>,
}

/// Reads the cascades of `asked`. Drops cascades below the minimum USD that ended before `settled`.
fn read(
    archive: &Archive,
    asked: &Arc<CascadeQuestion>,
    as_of: Option<Millis>,
    settled: Millis,
) -> Result<ReadClusters, Refusal> {
    // An archive stores the coin of each pair, so a filter by coin finds all pairs of the coin.
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
    // New orders may belong to any later day, so the last read has no end.
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
    /// The query, with its start moved to the start of the cached time range.
    asked: Arc<CascadeQuestion>,
    clusters: CascadeClusters,
    /// The reads that filled the cache.
    steps: Vec<ReadStep>,
    /// Identifies the archive's order of arrival. If it changes, the cache is invalid.
    series: u64,
    /// Row id of the last order that may be in a segment. It changes when days are compacted into segments.
    rolled: i64,
    /// An order with an earlier event time forces a full read: its cascade may have been dropped, or the order may
    /// already be in a segment.
    settled: Millis,
}

impl RecentCascades {
    /// Reads the cascades of `asked` into a new cache. Small cascades that ended long before `now` are dropped.
    fn read(archive: &Archive, asked: &CascadeQuestion, now: Millis) -> Result<Self, Refusal> {
        let asked = Arc::new(CascadeQuestion {
            start: asked.start.back(SLACK),
            end: Millis(i64::MAX),
            ..asked.clone()
        });
        let known = archive.catalog().summary()?;
        let filed = archive
            .catalog()
            .compacted_until()?
            .unwrap_or(Millis(i64::MIN));
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

    /// Whether the cache contains all cascades that `asked` needs.
    fn serves(&self, asked: &CascadeQuestion) -> bool {
        self.asked.gap == asked.gap
            && self.asked.least == asked.least
            && self.asked.symbols == asked.symbols
            && self.asked.known_from() <= asked.known_from()
    }

    /// Adds the orders that have arrived since the last read; returns false if a full read is needed instead.
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

    /// Drops cascades that queries at `now` no longer need.
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
    /// Whether a query at `now` is about recent cascades only.
    pub(crate) fn are_asked(asked: &CascadeQuestion, now: Millis) -> bool {
        asked.start >= now.back(LATE)
    }

    /// Drops all cached cascades.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<RecentCascades>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cascades of `asked`, a query about recent cascades at the instant `now`.
    pub(crate) fn rows(
        &self,
        archive: &Archive,
        asked: &CascadeQuestion,
        now: Millis,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        // The entry is removed while in use, so that other queries do not wait for it.
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
