//! Cascades of an archive: some days at a time, and of late from what has been read before.
//!
//! Who asks again and again for the newest events is not read eight days each time: the events of late are kept as they
//! were gathered, and go on with what has arrived since.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::archive::{Archive, Filter, OrderFold};
use crate::engine::{CascadeClusters, CascadeQuestion};
use crate::market::refusal::Refusal;
use crate::model::{CascadeRow, Millis, OrderBrief};

/// Days that are read at a time: no more is held of them than their events.
const DAYS: usize = 4;
/// Events of late are those that began in this time.
const LATE: i64 = 2 * Millis::DAY;
/// How much further back than asked for they are kept, so that the next questions find them too.
const SLACK: i64 = Millis::HOUR;
/// How long ago an event was over that is let go if it had not gathered enough; an older order has all read again.
const SETTLED: i64 = 2 * Millis::HOUR;
/// Questions whose events of late are kept.
const CACHED_QUESTIONS: usize = 4;
/// Events that are kept of one question at most.
const MOST_CASCADES: usize = 1_000_000;
/// Orders that have arrived are taken in so many at a time.
const PAGE: usize = 16_384;

/// The events of a share of the orders.
struct ClusterShare(CascadeClusters);

impl OrderFold for ClusterShare {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.take(&order);
    }
}

/// The orders of before an instant, behind those of earlier steps, were read as they were up to an order of this number.
#[derive(Clone, Copy, Debug)]
struct ReadStep {
    end: Millis,
    number: i64,
}

/// What was read.
struct ReadClusters {
    clusters: CascadeClusters,
    /// In order of time, without holes; the last has no end, unless what follows is of events that are not asked for.
    steps: Vec<ReadStep>,
}

/// The events that `asked` is about. Those that were over before `settled` and had not gathered enough are left out.
fn read(
    archive: &Archive,
    asked: &Arc<CascadeQuestion>,
    as_of: Option<Millis>,
    settled: Millis,
) -> Result<ReadClusters, Refusal> {
    // What an archive keeps has the coin of its pair.
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
    // What arrives meanwhile may be of any day behind.
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

/// The events of a stretch, read as they lie.
pub(crate) fn of_range(
    archive: &Archive,
    asked: &Arc<CascadeQuestion>,
    as_of: Option<Millis>,
) -> Result<Option<Vec<CascadeRow>>, Refusal> {
    let read = read(archive, asked, as_of, Millis(i64::MAX))?;
    Ok(read.clusters.rows(asked))
}

/// Events of late, of one question.
#[derive(Debug)]
struct RecentCascades {
    /// The question, from when on they are kept.
    asked: Arc<CascadeQuestion>,
    clusters: CascadeClusters,
    /// What has been taken in.
    steps: Vec<ReadStep>,
    /// Tells the order of arrival from any other.
    series: u64,
    /// Another number whenever days have become files.
    rolled: i64,
    /// Orders of before then would join what was let go, or may lie in a file as well.
    settled: Millis,
}

impl RecentCascades {
    /// Reads what `asked` asks for, at `now`.
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

    /// Whether it holds what `asked` asks for.
    fn serves(&self, asked: &CascadeQuestion) -> bool {
        self.asked.gap == asked.gap
            && self.asked.least == asked.least
            && self.asked.symbols == asked.symbols
            && self.asked.known_from() <= asked.known_from()
    }

    /// Takes in what has arrived since; whether that could be done.
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

    /// Lets go of what questions asked at `now` do not need.
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

/// The events of late that are kept, those asked for last behind.
#[derive(Debug, Default)]
pub(crate) struct RecentCascadeCache(Mutex<VecDeque<RecentCascades>>);

impl RecentCascadeCache {
    /// Whether a question asked at `now` is about events of late.
    pub(crate) fn are_asked(asked: &CascadeQuestion, now: Millis) -> bool {
        asked.start >= now.back(LATE)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<RecentCascades>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events of late that `asked` asks for, at `now`.
    pub(crate) fn rows(
        &self,
        archive: &Archive,
        asked: &CascadeQuestion,
        now: Millis,
    ) -> Result<Option<Vec<CascadeRow>>, Refusal> {
        // Taken out meanwhile, so that nobody waits who asks something else.
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
