//! An archive reader with its caches.
//!
//! An archive has one such reader for queries about now and one for queries about the past. So the two kinds of
//! queries do not block each other, and queries about the past do not evict what queries about now need.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::archive::Archive;
use crate::engine::{self, Fit, FitSource, Ring};
use crate::market::refusal::{Refusal, RefusalCode};
use crate::market::source::archive::day_cache::{CacheLimits, DayCache};
use crate::market::source::archive::live_day;
use crate::market::source::archive::position_days::PositionDays;
use crate::market::source::view_source::RequiredHistory;
use crate::model::{Millis, Model, Specification};

/// Length of the history that a fit uses, in milliseconds.
const FITTED_TO: i64 = 30 * Millis::DAY;
/// Maximum number of cached rings. A ring contains the orders of one day up to an instant.
const RINGS: usize = 4;
/// Approximate memory of an order in a ring, in bytes.
const ORDER: usize = 100;
/// Approximate memory of a row of a cached day, in bytes.
const ROW: usize = 60;

/// An archive reader and its caches.
#[derive(Debug)]
pub(crate) struct ArchiveReader {
    pub(crate) archive: Archive,
    pub(crate) days: DayCache,
    pub(crate) positions: PositionDays,
    /// Coins with a ledger that warms up.
    pub(crate) warming_up: Mutex<BTreeSet<String>>,
    rings: Mutex<Vec<PastRing>>,
    /// Maximum number of orders in all cached rings together; a single ring may be larger.
    ring_orders: AtomicUsize,
    /// Locked while a ring is computed, so that concurrent callers wait and share it.
    making: Mutex<()>,
}

/// The orders of the day before an instant, as they were known at that instant.
#[derive(Debug)]
struct PastRing {
    at: Millis,
    /// The revision at which the ring was read; 0 if later commits cannot change the ring.
    number: u64,
    ring: Arc<Ring>,
}

impl ArchiveReader {
    /// Creates a reader with a cache of about `bytes` bytes and at most `histories` assembled histories.
    pub(crate) fn new(archive: Archive, bytes: usize, histories: usize) -> Self {
        let desk = Self {
            archive,
            days: DayCache::in_room(CacheLimits { rows: 0, histories }),
            positions: PositionDays::default(),
            warming_up: Mutex::default(),
            rings: Mutex::default(),
            ring_orders: AtomicUsize::new(0),
            making: Mutex::default(),
        };
        desk.resize_cache(bytes);
        desk
    }

    /// Limits the cache to about `bytes` bytes: half for rings and half for days.
    pub(crate) fn resize_cache(&self, bytes: usize) {
        self.days.set_rows(bytes / 2 / ROW);
        self.ring_orders.store(bytes / 2 / ORDER, Ordering::Relaxed);
        self.evict(&mut self.rings());
    }

    /// Drops all cached rows.
    pub(crate) fn clear(&self) {
        self.days.clear();
        self.positions.clear();
        self.rings().clear();
    }

    fn rings(&self) -> MutexGuard<'_, Vec<PastRing>> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evicts the least recently used rings while the cache of rings is too large.
    fn evict(&self, rings: &mut Vec<PastRing>) {
        let most = self.ring_orders.load(Ordering::Relaxed);
        let orders = |rings: &[PastRing]| rings.iter().map(|past| past.ring.len()).sum::<usize>();
        while rings.len() > RINGS || rings.len() > 1 && orders(rings) > most {
            rings.remove(0);
        }
    }

    fn cached(&self, at: Millis, number: u64) -> Option<Arc<Ring>> {
        let mut rings = self.rings();
        let of = |past: &PastRing| past.at == at && past.number == number;
        let place = rings.iter().position(of)?;
        let past = rings.remove(place);
        let ring = Arc::clone(&past.ring);
        rings.push(past);
        Some(ring)
    }

    /// The orders of the day before `at`, as known at `at`. A cached ring is used only if it was read at the revision
    /// `number`.
    pub(crate) fn ring(&self, at: Millis, number: u64) -> Result<Arc<Ring>, Refusal> {
        if let Some(ring) = self.cached(at, number) {
            return Ok(ring);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ring) = self.cached(at, number) {
            return Ok(ring);
        }
        let ring = Arc::new(live_day::past(&self.archive, at)?);
        let mut rings = self.rings();
        rings.retain(|past| past.at != at);
        rings.push(PastRing {
            at,
            number,
            ring: Arc::clone(&ring),
        });
        self.evict(&mut rings);
        Ok(ring)
    }
}

impl FitSource for ArchiveReader {
    fn fit(
        &self,
        own: Option<&Specification>,
        coin: &str,
        venue: Option<&str>,
        day: Millis,
    ) -> Option<Arc<Fit>> {
        let version = engine::version(own, Model::Expected);
        let exchange = venue.map(str::to_owned);
        let name = (day, coin.to_owned(), version, exchange.clone());
        let needed = RequiredHistory {
            coin: coin.to_owned(),
            range: FITTED_TO,
            range_name: "1M",
            orders: true,
            exchange,
            lasts: FITTED_TO,
            ledger: None,
            positions: false,
        };
        let fit = self.days.fits.of(name, || {
            match self
                .days
                .observations(&self.archive, &needed, day, Some(day), None)
            {
                Ok(known) => Ok(Some(
                    known
                        .at(Some(day))
                        .with_model(own)
                        .of_venue(venue)
                        .fit_at(coin, day),
                )),
                // The coin has no bar that closed by then.
                Err(refusal)
                    if matches!(refusal.code, RefusalCode::UnknownCoin | RefusalCode::NoBars) =>
                {
                    Ok(None)
                }
                Err(refusal) => Err(refusal),
            }
        });
        fit.unwrap_or_else(|refusal| {
            log::warn!("the model cannot be fitted to {coin}: {refusal}");
            None
        })
    }
}
