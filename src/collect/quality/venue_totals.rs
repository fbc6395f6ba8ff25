//! Where a venue tells itself how much it liquidated: hour by hour that is held against what is kept, for the coins whose
//! history is collected, and both sums are written down.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use tokio::time::sleep;

use crate::archive::{Archive, ArchiveError, Batch, Filter, Measurement, MeasurementKind};
use crate::collect::settings::span;
use crate::collect::venue_tasks::{Failure, VenueTasks};
use crate::feeds::{Listing, Total};
use crate::model::Millis;

/// How long after an hour its total is asked for: what came late is there by then.
const LATE: i64 = 5 * Millis::MINUTE;

/// A sum in cents.
fn cents(usd: Decimal) -> i64 {
    (usd * Decimal::ONE_HUNDRED)
        .round()
        .to_i64()
        .unwrap_or(i64::MAX)
}

impl VenueTasks {
    /// Compares every hour once it is over.
    pub(crate) async fn tend_totals(&self) {
        if !self.intake.venue.tells_totals() || self.history_coins.is_empty() {
            return;
        }
        self.markets_are_known().await;
        let mut compared = None;
        loop {
            sleep(span(self.intake.settings.pace.poll)).await;
            let told = self.intake.clock.now().back(LATE);
            let end = Millis(told.0.div_euclid(Millis::HOUR).saturating_mul(Millis::HOUR));
            if compared == Some(end) {
                continue;
            }
            match self.compare(end).await {
                Ok(()) => compared = Some(end),
                Err(fault) => self.trouble(format!("the exchange's own totals: {fault}")),
            }
        }
    }

    /// Compares the hour before `end`.
    async fn compare(&self, end: Millis) -> Result<(), Failure> {
        let start = end.back(Millis::HOUR);
        let (mut theirs, mut contracts) = (Decimal::ZERO, BTreeSet::new());
        for listing in self.compared() {
            for ask in self.intake.venue.total_requests(&listing, start, end) {
                let body = self.rest.get(&ask).await?;
                let totals = self.read_totals(&body)?;
                let of_hour = totals.iter().find(|total| total.timestamp == start);
                // A contract of which nothing is told is not compared.
                if let Some(total) = of_hour {
                    theirs += total.usd;
                    contracts.insert(listing.native_id.clone());
                }
            }
        }
        if contracts.is_empty() {
            return Ok(());
        }
        let ours = match self.kept(contracts, start, end).await {
            Ok(ours) => ours,
            Err(fault) => {
                self.trouble(format!("the archive cannot be read: {fault}"));
                return Err(Failure::NotTaken);
            }
        };
        let now = self.intake.clock.now();
        let mark = |kind, usd| Measurement {
            exchange: self.intake.name().to_owned(),
            kind,
            at: now,
            value: cents(usd),
        };
        self.intake.delivery.note(Batch {
            measurements: vec![
                mark(MeasurementKind::ComparedCents, ours),
                mark(MeasurementKind::VenueCents, theirs),
            ],
            ..Batch::default()
        });
        Ok(())
    }

    /// The perpetual contracts of the coins whose history is collected.
    fn compared(&self) -> Vec<Listing> {
        let markets = self.intake.markets.load();
        let wanted = |listing: &&Listing| {
            listing.perpetual && listing.trading && self.history_coins.contains(&listing.coin().0)
        };
        markets.listings.iter().filter(wanted).cloned().collect()
    }

    fn read_totals(&self, body: &str) -> Result<Vec<Total>, Failure> {
        let markets = self.intake.markets.load();
        let frame = self.intake.venue.frame(body, None, &markets.instruments);
        Ok(self.intake.venue.read_totals(&frame)?)
    }

    /// What is kept of some contracts, in USD.
    async fn kept(
        &self,
        contracts: BTreeSet<String>,
        start: Millis,
        end: Millis,
    ) -> Result<Decimal, ArchiveError> {
        let (path, filter) = (
            self.archive.clone(),
            Filter {
                exchange: Some(self.intake.name().to_owned()),
                start: Some(start),
                end: Some(end),
                ..Filter::default()
            },
        );
        let read = move || -> Result<Decimal, ArchiveError> {
            let rows = Archive::read(path)?.orders(&filter)?.rows;
            let compared = rows.iter().filter(|row| {
                row.native_id
                    .as_ref()
                    .is_some_and(|id| contracts.contains(id))
            });
            Ok(compared.map(|row| row.order.value_usd).sum())
        };
        // One that was cancelled ends with the runtime.
        tokio::task::spawn_blocking(read)
            .await
            .unwrap_or(Ok(Decimal::ZERO))
    }
}
