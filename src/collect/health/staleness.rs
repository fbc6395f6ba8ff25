//! Staleness: detects exchanges that are connected but silent while their witnesses report events. Each exchange has a
//! list of other exchanges as witnesses ([`Venue::witnesses`](crate::feeds::Venue::witnesses)).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::collect::clock::AdjustedClock;
use crate::collect::positions::polling::PositionPoller;
use crate::collect::settings::settings::{Settings, millis, span};
use crate::collect::status::status::VenueState;
use crate::collect::tape::tape_feed::TapeFeed;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// Restarts the connections of stale exchanges. Also writes the summaries of repeated warnings to the log.
pub(crate) async fn watch(
    venues: Vec<Arc<VenueTasks>>,
    poller: Option<Arc<PositionPoller>>,
    tape: Option<Arc<TapeFeed>>,
    settings: Arc<Settings>,
    clock: Arc<AdjustedClock>,
) {
    let patience = millis(settings.pace.stale_exchange);
    let mut quiet_from: HashMap<&'static str, Millis> = HashMap::new();
    let tick = span(settings.pace.stale_exchange)
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
        if let Some(poller) = &poller {
            poller.log_summaries(now);
        }
        if let Some(tape) = &tape {
            tape.board.log_summaries(now);
        }
        for one in &venues {
            let venue = one.context.venue;
            one.context.board.log_summaries(now);
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
            if now.0.saturating_sub(since.0) >= patience
                && let Some(witness) = reporting
            {
                let reason = format!(
                    "stale: no event for {} s while {witness} reports",
                    settings.pace.stale_exchange
                );
                *since = now;
                one.restart.send_replace(Some(reason));
            }
        }
    }
}
