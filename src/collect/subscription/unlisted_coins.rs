//! Coins that were named and that no venue lists: of these nothing will ever be collected, and somebody should say so.

use std::sync::Arc;

use tokio::time::sleep;

use crate::collect::settings::span;
use crate::collect::venue_tasks::VenueTasks;

/// Says of which of `coins` no venue has a market, once the markets of all that list any are known, and as often as they are read.
pub(crate) async fn look(venues: Vec<Arc<VenueTasks>>, coins: Vec<String>) {
    let lists = |one: &&Arc<VenueTasks>| !one.context.venue.listing_requests().is_empty();
    let listing: Vec<&Arc<VenueTasks>> = venues.iter().filter(lists).collect();
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
    // What is said while a socket is opened is over once it listens.
    sleep(span(pace.acknowledge)).await;
    loop {
        let is_unlisted = |coin: &&String| !listing.iter().any(|one| has(one, coin));
        for coin in coins.iter().filter(is_unlisted) {
            let message = format!("coins: {coin:?} is listed by none of {}", names.join(", "));
            for venue in &listing {
                venue.context.trouble(message.clone());
            }
        }
        sleep(span(pace.instruments)).await;
    }
}
