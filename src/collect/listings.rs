//! Reading which markets a venue has: at the start, every hour, and soon after an unknown one turned up.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::{Instant, sleep, sleep_until};

use super::markets::Markets;
use super::settings::span;
use super::venue::{Failure, VenueTasks};
use crate::feeds::{Ask, Error, Instruments, Listing, Page};

impl VenueTasks {
    async fn read_markets(&self) -> Result<(), Failure> {
        let venue = self.intake.venue;
        let mut listings: Vec<Listing> = Vec::new();
        let mut asks: VecDeque<Ask> = venue.listing_requests().into();
        let mut failed = None;
        while let Some(ask) = asks.pop_front() {
            let body = match self.rest.get(&ask).await {
                Ok(body) => body,
                // One kind of market that cannot be read does not cost the others.
                Err(fault) => {
                    failed = Some(fault);
                    continue;
                }
            };
            let page = self.read_listings(&ask, &body)?;
            listings.extend(page.rows);
            asks.extend(page.rest);
        }
        match failed {
            Some(fault) if listings.is_empty() => return Err(fault.into()),
            Some(fault) => self.trouble(fault.to_string()),
            None => {}
        }
        self.intake.markets.store(Arc::new(Markets::of(listings)));
        self.known.send_replace(true);
        Ok(())
    }

    fn read_listings(&self, ask: &Ask, body: &str) -> Result<Page<Listing>, Error> {
        let faults = RefCell::new(Vec::new());
        let none = Instruments::default();
        let venue = self.intake.venue;
        let page = venue.read_listings(ask, &venue.frame(body, None, &none).keeping(&faults))?;
        // Options and other kinds of contract stand in these lists as well; what a market lacks shows when a row needs it.
        for fault in faults.take() {
            log::debug!(target: "liqdata::feeds", "{}: a market is passed over: {fault}", self.intake.name());
        }
        Ok(page)
    }

    /// Reads the markets until that succeeds, or three times where only the past is asked for.
    pub(super) async fn read_markets_until_known(&self) {
        if self.intake.venue.listing_requests().is_empty() {
            return;
        }
        let mut backoff = self.intake.settings.pace.backoff();
        let mut attempts = 0;
        while let Err(fault) = self.read_markets().await {
            self.trouble(format!("the markets cannot be read: {fault}"));
            attempts += 1;
            if self.once && attempts >= 3 {
                return;
            }
            sleep(backoff.next()).await;
        }
    }

    /// Reads the markets at the start, every hour, and soon after an unknown one turned up.
    pub(super) async fn tend_markets(&self) {
        if self.intake.venue.listing_requests().is_empty() {
            return;
        }
        self.read_markets_until_known().await;
        let pace = &self.intake.settings.pace;
        loop {
            self.intake.try_held().await;
            let read = Instant::now();
            // A market may be traded before it is listed, so it is looked for as long as rows wait for it.
            let seconds = match self.intake.held() {
                0 => pace.instruments,
                _ => pace.instruments.min(pace.instruments_least),
            };
            tokio::select! {
                () = sleep(span(seconds)) => {}
                () = self.intake.unknown.notified() => {
                    sleep_until(read + span(pace.instruments_least)).await;
                }
            }
            if let Err(fault) = self.read_markets().await {
                self.trouble(format!("the markets cannot be read: {fault}"));
            }
        }
    }
}
