//! Revisions and arrivals of an archive that may grow.

use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};
use crate::market::source::archive::archive_source::{ArchiveSource, LOOK};
use crate::market::source::live_source::LiveSource;
use crate::model::Order;
use futures_util::future::BoxFuture;
use std::future::pending;
use std::sync::{Arc, TryLockError};

impl LiveSource for ArchiveSource {
    fn is_growing(&self) -> bool {
        self.as_of.is_none()
    }

    /// An archive opened as of an instant never changes, so it needs no check for new rows.
    fn is_on_disk(&self) -> bool {
        self.is_growing()
    }

    fn last_state(&self, dependency: &Dependency) -> SourceState {
        self.state(dependency).unwrap_or_else(|fault| {
            // This is called repeatedly while readers wait, so damage is not logged again.
            if !fault.is_of_damage() {
                log::warn!("{fault}");
            }
            self.standing_in(&self.peek(), dependency)
        })
    }

    fn state(&self, dependency: &Dependency) -> Result<SourceState, Refusal> {
        Ok(self.standing_in(&*self.live()?, dependency))
    }

    fn cached_state(&self, dependency: &Dependency) -> Option<SourceState> {
        match self.live.try_read() {
            Ok(live) => Some(self.standing_in(&live, dependency)),
            Err(TryLockError::Poisoned(live)) => {
                Some(self.standing_in(&live.into_inner(), dependency))
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn changed(self: Arc<Self>, seen: Revision) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if !self.is_growing() {
                return pending().await;
            }
            // A revision up to `seen` is not new.
            while self.looked().await.number <= seen.number {
                tokio::time::sleep(LOOK).await;
            }
        })
    }

    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal> {
        // In an archive opened as of an instant, only the newest position is valid.
        if self.as_of.is_some() && after != Some(self.newest()?) {
            return Ok(Arrivals::Gone);
        }
        let live = self.live()?;
        let series = live.known.series;
        let number = match after {
            Some(after) if after.series != series => return Ok(Arrivals::Gone),
            Some(after) => match i64::try_from(after.number) {
                Ok(number) if number <= live.known.end.orders => number,
                _ => return Ok(Arrivals::Gone),
            },
            None => live.known.rolled.orders,
        };
        if let Some(orders) = live.arrived_behind(number, limit) {
            return Ok(Arrivals::Known(orders));
        }
        drop(live);
        let mut orders: Vec<(ArrivalId, Order)> = Vec::new();
        let known = self.back.archive.arrivals(number, limit, &mut |brief| {
            let number = u64::try_from(brief.number).unwrap_or_default();
            orders.push((ArrivalId { series, number }, brief.order()));
        })?;
        Ok(if number < known.rolled.orders {
            Arrivals::Gone
        } else {
            Arrivals::Known(orders)
        })
    }

    fn newest(&self) -> Result<ArrivalId, Refusal> {
        let live = self.live()?;
        Ok(ArrivalId {
            series: live.known.series,
            number: u64::try_from(live.known.end.orders).unwrap_or_default(),
        })
    }
}
