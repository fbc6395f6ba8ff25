//! Where an archive is read: a reader, and what is kept of what it has read.
//!
//! Questions about now and questions about the past have one each. So neither waits for the other's reader, and nothing
//! that is asked about the past lets go of what the next answer about now needs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::archive::Archive;
use crate::engine::{self, Fit, FitSource, Ring};
use crate::market::refusal::{Refusal, RefusalCode};
use crate::market::source::archive::day_cache::{CacheLimits, DayCache};
use crate::market::source::archive::live_day;
use crate::market::source::view_source::RequiredHistory;
use crate::model::{Millis, Model, Specification};

/// What a fit rests on.
const FITTED_TO: i64 = 30 * Millis::DAY;
/// Rings that are kept.
const RINGS: usize = 4;
/// About what an order takes in a ring, in bytes.
const ORDER: usize = 100;
/// About what a row of a day takes, in bytes.
const ROW: usize = 60;

/// A reader of an archive with what it has read.
#[derive(Debug)]
pub(crate) struct ArchiveReader {
    pub(crate) archive: Archive,
    pub(crate) days: DayCache,
    rings: Mutex<Vec<PastRing>>,
    /// Orders in them together, at most; a single one may be larger.
    ring_orders: AtomicUsize,
    /// Held while a ring is made: who asks for the same instant meanwhile waits for that one.
    making: Mutex<()>,
}

/// The last day as it was known at an instant.
#[derive(Debug)]
struct PastRing {
    at: Millis,
    /// The revision it was read at, where it may have grown since.
    number: u64,
    ring: Arc<Ring>,
}

impl ArchiveReader {
    /// A reader that keeps up to `bytes`, about, and as many ready histories as `histories`.
    pub(crate) fn new(archive: Archive, bytes: usize, histories: usize) -> Self {
        let desk = Self {
            archive,
            days: DayCache::in_room(CacheLimits { rows: 0, histories }),
            rings: Mutex::default(),
            ring_orders: AtomicUsize::new(0),
            making: Mutex::default(),
        };
        desk.resize_cache(bytes);
        desk
    }

    /// Keeps up to `bytes` from now on, about: half of it rings, half of it days.
    pub(crate) fn resize_cache(&self, bytes: usize) {
        self.days.set_rows(bytes / 2 / ROW);
        self.ring_orders.store(bytes / 2 / ORDER, Ordering::Relaxed);
        self.evict(&mut self.rings());
    }

    /// Forgets all that was read.
    pub(crate) fn clear(&self) {
        self.days.clear();
        self.rings().clear();
    }

    fn rings(&self) -> MutexGuard<'_, Vec<PastRing>> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the rings that were asked for longest ago, as far as there are too many.
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

    /// The last day as it was known at `at`, read at the revision `number` or later.
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
                        .fit(coin),
                )),
                // No bars by then.
                Err(refusal)
                    if matches!(refusal.code, RefusalCode::UnknownCoin | RefusalCode::NoBars) =>
                {
                    Ok(None)
                }
                Err(refusal) => Err(refusal),
            }
        });
        fit.unwrap_or_else(|refusal| {
            log::warn!("{coin} is not fitted: {refusal}");
            None
        })
    }
}
