//! Assembles the histories of coins from cached days.
//!
//! A cached day stores the instant by which all its rows were received. It serves every query as of that instant or
//! later. For a query as of an earlier instant, the day is read again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rust_decimal::Decimal;

use crate::archive::{Archive, Filter};
use crate::engine::{EngineError, FeedCoverage, LedgerCache, Observations};
use crate::market::refusal::Refusal;
use crate::market::source::archive::bar_series;
use crate::market::source::archive::bar_series::DayBars;
use crate::market::source::archive::fit_cache::FitCache;
use crate::market::source::view_source::RequiredHistory;
use crate::model::{Millis, ObservedOpenInterest, ObservedOrder, Order, Side, nearest_f64};

/// Time before the window that is read too, in milliseconds: for the reference volume and an open-interest reading.
const WARM_UP: i64 = 7 * Millis::DAY + Millis::HOUR;
/// Windows up to this many milliseconds share one history, so that replies about a coin agree.
const SHORT: i64 = 7 * Millis::DAY;
/// Longer windows use a history of this many milliseconds. Windows that are longer than this use a history of their
/// own length.
const LONG: i64 = 30 * Millis::DAY;
/// Orders are summed over periods of this many milliseconds; no bar of an estimate is shorter.
const BUCKET: i64 = 5 * Millis::MINUTE;

/// The key of a cached day.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DayKey {
    coin: String,
    day: i64,
    content: DayContent,
}

/// What a cached day contains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum DayContent {
    /// Bars and open interest.
    Series,
    /// Orders, of one exchange if it is named.
    Orders(Option<String>),
}

/// The event time of the earliest row that the estimate for `needed` may depend on.
///
/// `closed` is the close of the last bar. A ledger of all open positions depends on every row. If orders are needed, the estimate also depends on its fit, which uses an
/// earlier history.
pub(crate) fn rests_from(needed: &RequiredHistory, closed: Millis) -> Millis {
    if needed.ledger.is_some() {
        return Millis(i64::MIN);
    }
    let own = closed.back(length(needed.range));
    let from = if needed.orders {
        let day = Millis(day_of(closed).saturating_mul(Millis::DAY));
        own.min(day.back(2 * LONG))
    } else {
        own
    };
    from.back(WARM_UP)
}

/// The length of the history that serves windows of `range` milliseconds.
fn length(range: i64) -> i64 {
    let usual = [SHORT, LONG].into_iter().find(|length| range <= *length);
    usual.unwrap_or(range)
}

/// One day of one coin: bars and open interest, or orders.
#[derive(Debug, Default)]
struct CoinDay {
    bars: DayBars,
    open_interest: Vec<ObservedOpenInterest>,
    orders: Vec<ObservedOrder>,
    /// USD of the orders by exchange.
    usd: BTreeMap<String, f64>,
    /// The instant by which all rows of the day had happened and been received.
    known_by: Millis,
}

impl CoinDay {
    fn rows(&self) -> usize {
        1 + self.bars.len() + self.open_interest.len() + self.orders.len()
    }
}

/// Where a history starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryStart {
    /// So many milliseconds before the last close.
    Before(i64),
    /// At an instant.
    At(Millis),
}

/// The key of a cached history of a coin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HistoryKey {
    coin: String,
    start: HistoryStart,
    /// Which orders the history contains, if any.
    orders: Option<DayContent>,
    as_of: Option<Millis>,
    number: Option<u64>,
}

/// Limits of the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CacheLimits {
    /// Maximum number of rows in cached days.
    pub(crate) rows: usize,
    /// Maximum number of assembled histories.
    pub(crate) histories: usize,
}

#[derive(Debug, Default)]
struct CacheState {
    room: CacheLimits,
    parts: HashMap<DayKey, Arc<CoinDay>>,
    /// Keys in the order of their use; a key may occur several times.
    asked: VecDeque<DayKey>,
    rows: usize,
    histories: VecDeque<(HistoryKey, Arc<Observations>)>,
    /// Changes when rows are dropped. A read that was in progress then is not cached.
    generation: u64,
}

/// Cached days of coins, and the histories assembled from them.
#[derive(Debug, Default)]
pub(crate) struct DayCache {
    cache: Mutex<CacheState>,
    pub(crate) fits: FitCache,
    pub(crate) ledgers: LedgerCache,
}

fn day_of(at: Millis) -> i64 {
    at.0.div_euclid(Millis::DAY)
}

impl DayCache {
    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an empty cache with these limits.
    pub(crate) fn in_room(room: CacheLimits) -> Self {
        let days = Self::default();
        days.lock().room = room;
        days
    }

    /// Sets the maximum number of cached rows.
    pub(crate) fn set_rows(&self, rows: usize) {
        let mut cache = self.lock();
        cache.room.rows = rows;
        cache.evict();
    }

    /// Drops everything in the cache.
    pub(crate) fn clear(&self) {
        self.fits.clear();
        self.ledgers.clear();
        let mut cache = self.lock();
        *cache = CacheState {
            room: cache.room,
            generation: cache.generation + 1,
            ..CacheState::default()
        };
    }

    /// Drops the cached days and histories of a coin from the instant `from` on.
    pub(crate) fn forget(&self, coin: &str, from: Millis) {
        self.fits.forget(coin, from);
        self.ledgers.forget(coin, from);
        let mut cache = self.lock();
        cache.generation += 1;
        let first = day_of(from);
        let mut freed = 0;
        cache.parts.retain(|name, part| {
            let stays = name.coin != coin || name.day < first;
            freed += if stays { 0 } else { part.rows() };
            stays
        });
        cache.rows -= freed;
        cache
            .histories
            .retain(|(made, _)| made.coin != coin || made.as_of.is_none_or(|at| at <= from));
    }

    /// The history of a coin as known at `as_of`, or as of the revision `number`.
    pub(crate) fn observations(
        &self,
        archive: &Archive,
        needed: &RequiredHistory,
        now: Millis,
        as_of: Option<Millis>,
        number: Option<u64>,
    ) -> Result<Arc<Observations>, Refusal> {
        let start = HistoryStart::Before(length(needed.range));
        self.observations_from(archive, (needed, start), now, as_of, number)
    }

    /// The same from `start` on.
    pub(crate) fn observations_since(
        &self,
        archive: &Archive,
        (needed, start): (&RequiredHistory, Millis),
        now: Millis,
        as_of: Option<Millis>,
        number: Option<u64>,
    ) -> Result<Arc<Observations>, Refusal> {
        let start = HistoryStart::At(start);
        self.observations_from(archive, (needed, start), now, as_of, number)
    }

    fn observations_from(
        &self,
        archive: &Archive,
        (needed, start): (&RequiredHistory, HistoryStart),
        now: Millis,
        as_of: Option<Millis>,
        number: Option<u64>,
    ) -> Result<Arc<Observations>, Refusal> {
        let made = HistoryKey {
            coin: needed.coin.clone(),
            start,
            orders: needed
                .orders
                .then(|| DayContent::Orders(needed.exchange.clone())),
            as_of,
            number,
        };
        {
            let mut cache = self.lock();
            if let Some(place) = cache.histories.iter().position(|(known, _)| *known == made)
                && let Some(found) = cache.histories.remove(place)
            {
                let history = Arc::clone(&found.1);
                cache.histories.push_back(found);
                return Ok(history);
            }
        }
        let Some(last) = self.last_close(archive, needed, now, as_of)? else {
            return Err(unanswered(archive, needed, now, as_of)?.into());
        };
        let history = Arc::new(self.history(archive, &made, last, now)?);
        // A history is cached if it cannot change, or if its key contains the revision.
        let settled = as_of.is_none_or(|at| at <= now);
        if settled && (number.is_some() || as_of.is_some()) {
            let mut cache = self.lock();
            cache.histories.push_back((made, Arc::clone(&history)));
            while cache.histories.len() > cache.room.histories {
                cache.histories.pop_front();
            }
        }
        Ok(history)
    }

    /// The close of the coin's last bar in the `range` before `now`.
    pub(crate) fn last_close(
        &self,
        archive: &Archive,
        needed: &RequiredHistory,
        now: Millis,
        as_of: Option<Millis>,
    ) -> Result<Option<Millis>, Refusal> {
        let Some(start) = first_day(archive, &needed.coin, now.back(needed.range), now, as_of)?
        else {
            return Ok(None);
        };
        let first = day_of(start);
        for day in (first..=day_of(now)).rev() {
            let part = self.part(archive, &needed.coin, day, &DayContent::Series, as_of)?;
            if let Some(close) = part.bars.last_close(now)
                && close > now.back(needed.range)
            {
                return Ok(Some(close));
            }
        }
        Ok(None)
    }

    fn history(
        &self,
        archive: &Archive,
        made: &HistoryKey,
        last: Millis,
        now: Millis,
    ) -> Result<Observations, Refusal> {
        let start = match made.start {
            HistoryStart::Before(length) => last.back(length).back(WARM_UP),
            HistoryStart::At(start) => start,
        };
        let start = first_day(archive, &made.coin, start, now, made.as_of)?.unwrap_or(start);
        let mut bars = Vec::new();
        let mut open_interest = Vec::new();
        let mut orders = Vec::new();
        let mut usd: BTreeMap<String, f64> = BTreeMap::new();
        for day in day_of(start)..=day_of(now) {
            let part = self.part(archive, &made.coin, day, &DayContent::Series, made.as_of)?;
            open_interest.extend(
                part.open_interest
                    .iter()
                    .filter(|row| row.timestamp >= start)
                    .cloned(),
            );
            bars.push(part);
            if let Some(content) = &made.orders {
                let part = self.part(archive, &made.coin, day, content, made.as_of)?;
                for (exchange, of_day) in &part.usd {
                    *usd.entry(exchange.clone()).or_default() += of_day;
                }
                orders.extend(
                    part.orders
                        .iter()
                        .filter(|row| row.order.timestamp >= start)
                        .cloned(),
                );
            }
        }
        let days = bars.iter().map(|part| &part.bars);
        let (bars, sources) = bar_series::together(&made.coin, days, start, now);
        let observations = Observations::new(orders, bars, open_interest, Some(now))?;
        let observations = observations.with_sources(&made.coin, sources);
        if made.orders.is_none() || start >= now {
            return Ok(observations);
        }
        let covered = archive.coverage().covered(start, now, made.as_of)?;
        Ok(observations.with_exposure(&made.coin, FeedCoverage::new(covered, &usd)))
    }

    /// Bars and open interest of a coin from `start` on, preceded by those of one more day to check outliers against.
    pub(crate) fn series(
        &self,
        archive: &Archive,
        (coin, start): (&str, Millis),
        now: Millis,
        as_of: Option<Millis>,
    ) -> Result<Observations, Refusal> {
        let days: Result<Vec<Arc<CoinDay>>, Refusal> = (day_of(start) - 1..=day_of(now))
            .map(|day| self.part(archive, coin, day, &DayContent::Series, as_of))
            .collect();
        let days = days?;
        let readings = days.iter().flat_map(|part| &part.open_interest);
        let bars = days.iter().map(|part| &part.bars);
        let (bars, sources) = bar_series::together(coin, bars, Millis(i64::MIN), now);
        let readings = readings.cloned().collect();
        let observations = Observations::new(Vec::new(), bars, readings, Some(now))?;
        Ok(observations.with_sources(coin, sources))
    }

    /// The instant by which all rows of some days of a coin were received, orders included where `needed` has them.
    pub(crate) fn known_by(
        &self,
        archive: &Archive,
        needed: &RequiredHistory,
        (first, last): (Millis, Millis),
    ) -> Result<Millis, Refusal> {
        let orders = || DayContent::Orders(needed.exchange.clone());
        let mut known_by = Millis(i64::MIN);
        for day in day_of(first)..=day_of(last) {
            let part = self.part(archive, &needed.coin, day, &DayContent::Series, None)?;
            known_by = known_by.max(part.known_by);
            if needed.orders {
                let part = self.part(archive, &needed.coin, day, &orders(), None)?;
                known_by = known_by.max(part.known_by);
            }
        }
        Ok(known_by)
    }

    /// One day of a coin as known at `as_of`.
    fn part(
        &self,
        archive: &Archive,
        coin: &str,
        day: i64,
        content: &DayContent,
        as_of: Option<Millis>,
    ) -> Result<Arc<CoinDay>, Refusal> {
        let name = DayKey {
            coin: coin.to_owned(),
            day,
            content: content.clone(),
        };
        let usable = |part: &CoinDay| as_of.is_none_or(|at| part.known_by <= at);
        let generation = {
            let mut cache = self.lock();
            if let Some(part) = cache.parts.get(&name).cloned() {
                if usable(&part) {
                    cache.asked.push_back(name);
                    cache.evict();
                    return Ok(part);
                }
                drop(cache);
                return Ok(Arc::new(read(archive, &name, as_of)?));
            }
            cache.generation
        };
        let part = Arc::new(read(archive, &name, None)?);
        let serves = usable(&part);
        let mut cache = self.lock();
        if cache.generation == generation {
            cache.put(name.clone(), Arc::clone(&part));
        }
        drop(cache);
        if serves {
            return Ok(part);
        }
        Ok(Arc::new(read(archive, &name, as_of)?))
    }
}

impl CacheState {
    fn put(&mut self, name: DayKey, part: Arc<CoinDay>) {
        self.rows += part.rows();
        if let Some(before) = self.parts.insert(name.clone(), part) {
            self.rows -= before.rows();
        }
        self.asked.push_back(name);
        self.evict();
    }

    /// Evicts the least recently used days while the cache has too many rows.
    fn evict(&mut self) {
        while self.rows > self.room.rows {
            let Some(name) = self.asked.pop_front() else {
                return;
            };
            if !self.asked.contains(&name)
                && let Some(part) = self.parts.remove(&name)
            {
                self.rows -= part.rows();
            }
        }
        // A key that was used several times occurs several times; only its last use counts.
        if self.asked.len() > 4 * self.parts.len() + 1024 {
            let mut seen = std::collections::HashSet::new();
            let mut latest: VecDeque<DayKey> = VecDeque::new();
            for name in self.asked.drain(..).rev() {
                if self.parts.contains_key(&name) && seen.insert(name.clone()) {
                    latest.push_front(name);
                }
            }
            self.asked = latest;
        }
    }
}

/// The first instant to read: `start`, or the warm-up time before the coin's first bar if that is later.
///
/// `None` if the coin has no bar by `now`. A `start` that is not long ago is returned without a search for the first
/// bar.
fn first_day(
    archive: &Archive,
    coin: &str,
    start: Millis,
    now: Millis,
    as_of: Option<Millis>,
) -> Result<Option<Millis>, Refusal> {
    if start >= now.back(LONG).back(2 * WARM_UP) {
        return Ok(Some(start));
    }
    let filter = Filter {
        start: Some(start),
        end: Some(now.on(1)),
        as_of,
        coin: Some(coin.to_owned()),
        ..Filter::default()
    };
    let first = archive.first_bar(&filter)?;
    Ok(first.map(|bar| bar.timestamp.back(WARM_UP).max(start)))
}

/// The error for a coin without history: the coin is unknown, or it has no bar in the window.
fn unanswered(
    archive: &Archive,
    needed: &RequiredHistory,
    now: Millis,
    as_of: Option<Millis>,
) -> Result<EngineError, Refusal> {
    let coins = archive.catalog().coins(as_of)?;
    let coin = needed.coin.clone();
    let last_close = if coins.iter().any(|known| known.symbol == coin) {
        let filter = Filter {
            end: Some(now),
            as_of,
            coin: Some(coin.clone()),
            ..Filter::default()
        };
        archive
            .last_bar(&filter)?
            .map(|bar| bar.close_time())
            .filter(|close| *close <= now)
    } else {
        None
    };
    Ok(match last_close {
        Some(last_close) => EngineError::NoBars {
            coin,
            range: needed.range_name,
            now,
            last_close,
        },
        None => EngineError::UnknownCoin {
            now,
            known: coins
                .into_iter()
                .map(|known| known.symbol)
                .filter(|known| *known != coin)
                .collect(),
            coin,
        },
    })
}

fn read(archive: &Archive, name: &DayKey, as_of: Option<Millis>) -> Result<CoinDay, Refusal> {
    let start = Millis(name.day.saturating_mul(Millis::DAY));
    let filter = Filter {
        start: Some(start),
        end: Some(start.on(Millis::DAY)),
        as_of,
        coin: Some(name.coin.clone()),
        ..Filter::default()
    };
    if let DayContent::Orders(exchange) = &name.content {
        let filter = Filter {
            exchange: exchange.clone(),
            ..filter
        };
        return read_orders(archive, &filter);
    }
    let (bars, bars_known_by) = bar_series::of_day(archive, &filter)?;
    let mut part = CoinDay {
        bars,
        known_by: bars_known_by,
        ..CoinDay::default()
    };
    for row in archive.open_interest(&filter)?.rows {
        part.known_by = part.known_by.max(row.received_at).max(row.timestamp);
        part.open_interest.push(row.into());
    }
    Ok(part)
}

/// Quantity and value of orders, by trading pair, side and time.
type OrderSums = HashMap<(String, Side, Millis, Option<Millis>), [Decimal; 2]>;

/// The orders of a coin on one day, summed over [`BUCKET`] by trading pair and side.
fn read_orders(archive: &Archive, filter: &Filter) -> Result<CoinDay, Refusal> {
    let coin = filter.coin.as_deref().unwrap_or_default();
    let exchange = filter.exchange.as_deref().unwrap_or("all");
    let make = |symbol: &str, side, (bucket, late), [qty, value_usd]: [Decimal; 2]| ObservedOrder {
        order: Order {
            exchange: exchange.to_owned(),
            symbol: symbol.to_owned(),
            side,
            price: Decimal::ONE,
            qty,
            value_usd,
            timestamp: bucket,
        },
        coin: Some(coin.to_owned()),
        received_at: late,
        group_id: None,
    };
    let new = || (CoinDay::default(), OrderSums::new());
    let ((mut part, sums), _) = archive.visit_orders(filter, new, |(part, sums), brief| {
        part.known_by = part.known_by.max(brief.received_at).max(brief.timestamp);
        let value = nearest_f64(brief.value_usd);
        match part.usd.get_mut(brief.exchange) {
            Some(usd) => *usd += value,
            None => drop(part.usd.insert(brief.exchange.to_owned(), value)),
        }
        let bucket = Millis(brief.timestamp.0.div_euclid(BUCKET).saturating_mul(BUCKET));
        // An order that was received after the end of its bucket is summed with those received until then.
        let received = brief.received_at.back(1).0.div_euclid(BUCKET);
        let received = Millis(received.saturating_add(1).saturating_mul(BUCKET));
        let late = Some(received).filter(|received| *received > bucket.on(BUCKET));
        let key = (brief.symbol.to_owned(), brief.side, bucket, late);
        let sum = sums.entry(key).or_default();
        let [qty, usd] = *sum;
        match qty
            .checked_add(brief.qty)
            .zip(usd.checked_add(brief.value_usd))
        {
            Some((qty, usd)) => *sum = [qty, usd],
            // If the sum does not fit a `Decimal`, the order becomes a separate row.
            None => part.orders.push(make(
                brief.symbol,
                brief.side,
                (bucket, late),
                [brief.qty, brief.value_usd],
            )),
        }
    })?;
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable();
    for ((symbol, side, bucket, late), amounts) in sums {
        part.orders
            .push(make(&symbol, side, (bucket, late), amounts));
    }
    Ok(part)
}
