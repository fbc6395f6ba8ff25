//! Counts the orders that are stored unchecked because no reference price is known. Each order is counted once.

use std::collections::HashSet;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::collect::settings::settings::millis;
use crate::collect::venue_context::VenueContext;
use crate::model::Millis;

/// How far the clock of an exchange may be ahead of the collector's clock, in milliseconds.
const MARGIN: i64 = 5000;

/// Dedupe key and event time of an order that is stored unchecked.
pub(crate) type UncheckedOrder = (String, Millis);

/// Counts those of `orders` that the archive does not have yet.
///
/// Recent orders were already deduplicated in memory, so only older orders are looked up in the archive.
pub(crate) async fn count_new(context: &VenueContext, orders: &[UncheckedOrder]) -> u64 {
    let remembered = context
        .clock
        .now()
        .back(millis(context.settings.pace.dedupe));
    let since = context.begun.on(MARGIN).max(remembered);
    let old = || orders.iter().filter(|(_, at)| *at < since);
    let all = orders.len();
    let (Some(first), Some(last)) = (
        old().map(|(_, at)| *at).min(),
        old().map(|(_, at)| *at).max(),
    ) else {
        return u64::try_from(all).unwrap_or(u64::MAX);
    };
    let filter = Filter {
        exchange: Some(context.name().to_owned()),
        start: Some(first),
        end: Some(last.on(1)),
        ..Filter::default()
    };
    let path = context.delivery.archive.clone();
    let read = move || -> Result<HashSet<String>, ArchiveError> {
        let rows = Archive::read(&path)?.orders(&filter)?.rows;
        Ok(rows.into_iter().map(|row| row.dedupe_key).collect())
    };
    let stored = match tokio::task::spawn_blocking(read).await {
        Ok(Ok(stored)) => stored,
        Ok(Err(fault)) => {
            context.trouble(format!("the archive cannot be read: {fault}"));
            HashSet::new()
        }
        Err(_) => HashSet::new(),
    };
    let known = old().filter(|(key, _)| stored.contains(key)).count();
    u64::try_from(all - known).unwrap_or(u64::MAX)
}
