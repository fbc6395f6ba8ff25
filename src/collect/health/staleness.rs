//! Finding out venues that are connected and mute: silent for long while others report.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::collect::clock::AdjustedClock;
use crate::collect::health::status::VenueState;
use crate::collect::positions::polling::PositionPoller;
use crate::collect::settings::{Settings, millis, span};
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// Finds out venues that are connected and mute: silent for long while others report. What of their troubles, and of those
/// of looking at positions, was only counted is said meanwhile.
pub(crate) async fn watch(
    venues: Vec<Arc<VenueTasks>>,
    rounds: Option<Arc<PositionPoller>>,
    settings: Arc<Settings>,
    clock: Arc<AdjustedClock>,
) {
    let mute = millis(settings.pace.mute);
    let mut quiet_from: HashMap<&'static str, Millis> = HashMap::new();
    let tick = span(settings.pace.mute)
        .div_f64(20.0)
        .max(Duration::from_millis(10));
    let last_event = |name: &str| {
        venues
            .iter()
            .find(|one| one.context.name() == name)
            .and_then(|one| one.context.board.notes().last_event_at)
    };
    loop {
        tokio::time::sleep(tick).await;
        let now = clock.now();
        if let Some(rounds) = &rounds {
            rounds.sum_up(now);
        }
        for one in &venues {
            let venue = one.context.venue;
            one.context.board.sum_up(now);
            if venue.witnesses().is_empty() {
                continue;
            }
            let live = one.context.board.notes().state() == VenueState::Live;
            let since = quiet_from.entry(venue.name()).or_insert(now);
            if !live {
                *since = now;
                continue;
            }
            *since = (*since).max(last_event(venue.name()).unwrap_or_default());
            let reporting = venue
                .witnesses()
                .iter()
                .find(|name| last_event(name).is_some_and(|at| at > *since));
            if now.0.saturating_sub(since.0) >= mute
                && let Some(witness) = reporting
            {
                let reason = format!(
                    "no event for {} s while {witness} reports: connected but mute",
                    settings.pace.mute
                );
                *since = now;
                one.renewal.send_replace(Some(reason));
            }
        }
    }
}
