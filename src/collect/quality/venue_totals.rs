//! Compares the totals that an exchange publishes with the stored orders each hour, and records both sums.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use tokio::time::sleep;

use crate::archive::{Archive, ArchiveError, Batch, Filter, Measurement, MeasurementKind};
use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::{RequestFailure, VenueTasks};
use crate::feeds::{HourlyTotal, Listing};
use crate::model::Millis;

/// The total of an hour is requested this many milliseconds after its end, so that late events are already stored.
const LATE: i64 = 5 * Millis::MINUTE;

/// Compares the totals of each hour after its end. Returns only if the exchange publishes no totals or no coin is
/// selected.
pub(crate) async fn compare_totals(tasks: &VenueTasks) {
    let context = &tasks.context;
    if !context.venue.has_totals() || tasks.history_coins.is_empty() {
        return;
    }
    tasks.markets_are_known().await;
    let mut compared = None;
    loop {
        sleep(span(context.settings.pace.poll)).await;
        let settled = context.clock.now().back(LATE);
        let end = Millis(
            settled
                .0
                .div_euclid(Millis::HOUR)
                .saturating_mul(Millis::HOUR),
        );
        if compared == Some(end) {
            continue;
        }
        match compare_hour(tasks, end).await {
            Ok(()) => compared = Some(end),
            Err(fault) => {
                context.trouble(format!("the exchange's own totals cannot be read: {fault}"));
            }
        }
    }
}

/// Compares the totals of the hour before `end`.
async fn compare_hour(tasks: &VenueTasks, end: Millis) -> Result<(), RequestFailure> {
    let context = &tasks.context;
    let start = end.back(Millis::HOUR);
    let (mut reported, mut contracts) = (Decimal::ZERO, BTreeSet::new());
    for listing in compared_markets(tasks) {
        for request in context.venue.total_requests(&listing, start, end) {
            let body = tasks.rest.get(&request).await?;
            let totals = read_totals(tasks, &body)?;
            // A contract without a published total is left out of both sums.
            if let Some(total) = totals.iter().find(|total| total.timestamp == start) {
                reported += total.usd;
                contracts.insert(listing.native_id.clone());
            }
        }
    }
    if contracts.is_empty() {
        return Ok(());
    }
    let stored = match stored_usd(tasks, contracts, start, end).await {
        Ok(stored) => stored,
        Err(fault) => {
            context.trouble(format!("the archive cannot be read: {fault}"));
            return Err(RequestFailure::NotTaken);
        }
    };
    let now = context.clock.now();
    let mark = |kind, usd| Measurement {
        exchange: context.name().to_owned(),
        kind,
        at: now,
        value: cents(usd),
    };
    context.delivery.note(Batch {
        measurements: vec![
            mark(MeasurementKind::ComparedCents, stored),
            mark(MeasurementKind::VenueCents, reported),
        ],
        ..Batch::default()
    });
    Ok(())
}

/// The perpetual contracts of the coins of which bars are collected.
fn compared_markets(tasks: &VenueTasks) -> Vec<Listing> {
    let markets = tasks.context.markets.load();
    let wanted = |listing: &&Listing| {
        listing.perpetual && listing.trading && tasks.history_coins.contains(&listing.coin().0)
    };
    markets.listings.iter().filter(wanted).cloned().collect()
}

fn read_totals(tasks: &VenueTasks, body: &str) -> Result<Vec<HourlyTotal>, RequestFailure> {
    let context = &tasks.context;
    let markets = context.markets.load();
    let frame = context.venue.frame(body, None, &markets.instruments);
    Ok(context.venue.read_totals(&frame)?)
}

/// The total value of the stored orders of `contracts`, in USD.
async fn stored_usd(
    tasks: &VenueTasks,
    contracts: BTreeSet<String>,
    start: Millis,
    end: Millis,
) -> Result<Decimal, ArchiveError> {
    let path = tasks.context.delivery.archive.clone();
    let filter = Filter {
        exchange: Some(tasks.context.name().to_owned()),
        start: Some(start),
        end: Some(end),
        ..Filter::default()
    };
    let read = move || -> Result<Decimal, ArchiveError> {
        let rows = Archive::read(path)?.orders(&filter)?.rows;
        let compared = rows.iter().filter(|row| {
            row.native_id
                .as_ref()
                .is_some_and(|id| contracts.contains(id))
        });
        Ok(compared.map(|row| row.order.value_usd).sum())
    };
    // The task is cancelled only when the runtime ends.
    tokio::task::spawn_blocking(read)
        .await
        .unwrap_or(Ok(Decimal::ZERO))
}

/// Converts USD to cents.
fn cents(usd: Decimal) -> i64 {
    (usd * Decimal::ONE_HUNDRED)
        .round()
        .to_i64()
        .unwrap_or(i64::MAX)
}
