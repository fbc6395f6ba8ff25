//! What is known of the completeness of the orders, venue by venue.

use std::collections::BTreeMap;

use serde::Serialize;

use super::View;
use crate::model::{Millis, Window, record};

record! {
    /// How well one venue is covered.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct VenueCoverage {
        /// Exchange, lower case.
        pub exchange: String,
        /// Share of the window the venue was listened to; absent where nobody kept a record.
        pub connected_share: Option<f64>,
        /// `sampled`, `complete` or `unknown`.
        pub completeness: &'static str,
        /// Event time of the venue's last order.
        pub last_event: Option<Millis>,
        /// Known interruptions in the window.
        pub gaps: u64,
        /// Orders in the window.
        pub cnt: u64,
    }
}

/// The coverage of every venue that has an order by now, by name.
///
/// Tables do not say how they were gathered, so completeness is unknown and the connected share absent.
#[must_use]
pub fn coverage(view: &View, window: Window) -> Vec<VenueCoverage> {
    if let Some(ring) = view.ring() {
        let mut venues: Vec<VenueCoverage> = ring
            .venues(window)
            .filter(|(.., last)| last.is_some())
            .map(|(exchange, cnt, last_event)| VenueCoverage {
                exchange: exchange.to_owned(),
                connected_share: None,
                completeness: "unknown",
                last_event,
                gaps: 0,
                cnt,
            })
            .collect();
        venues.sort_unstable_by(|a, b| a.exchange.cmp(&b.exchange));
        return venues;
    }
    let start = view.now().back(window.millis());
    let mut venues: BTreeMap<&str, VenueCoverage> = BTreeMap::new();
    for recorded in view.known() {
        let order = &recorded.order;
        let venue = venues
            .entry(&order.exchange)
            .or_insert_with(|| VenueCoverage {
                exchange: order.exchange.clone(),
                connected_share: None,
                completeness: "unknown",
                last_event: Some(order.timestamp),
                gaps: 0,
                cnt: 0,
            });
        venue.cnt += u64::from(order.timestamp > start);
    }
    venues.into_values().collect()
}
