//! Warns about selected coins that no exchange lists.

use std::sync::Arc;

use tokio::time::sleep;

use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::VenueTasks;

/// Warns about those of `coins` without a market: first when all markets are known, then after each refresh.
pub(crate) async fn watch(venues: Vec<Arc<VenueTasks>>, coins: Vec<String>) {
    let has_listings = |one: &&Arc<VenueTasks>| !one.context.venue.listing_requests().is_empty();
    let listing: Vec<&Arc<VenueTasks>> = venues.iter().filter(has_listings).collect();
    for venue in &listing {
        venue.markets_are_known().await;
    }
    let names: Vec<&str> = listing.iter().map(|one| one.context.name()).collect();
    let has = |one: &Arc<VenueTasks>, coin: &str| {
        let markets = one.context.markets.load();
        let mut listings = markets.listings.iter();
        listings.any(|listing| listing.coin().0 == coin)
    };
    let pace = venues.first().map(|one| one.context.settings.pace);
    let pace = pace.unwrap_or_default();
    // Waits first, because a connection that becomes live clears earlier warnings.
    sleep(span(pace.acknowledge)).await;
    loop {
        let is_unlisted = |coin: &&String| !listing.iter().any(|one| has(one, coin));
        for coin in coins.iter().filter(is_unlisted) {
            let message = format!(
                "coins: {coin:?} is not listed by any of {}",
                names.join(", ")
            );
            for venue in &listing {
                venue.context.trouble(message.clone());
            }
        }
        sleep(span(pace.instruments)).await;
    }
}
