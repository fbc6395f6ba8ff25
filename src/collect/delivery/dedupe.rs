//! Deduplication: decides whether an event of one exchange is a duplicate.

use std::sync::Mutex;

use crate::archive::OrderRow;
use crate::collect::delivery::dedupe_keys::{DedupeKeys, EventOrigin};
use crate::collect::delivery::recent_keys::RecentKeys;
use crate::collect::lock::locked;
use crate::collect::settings::settings::{Settings, millis};
use crate::feeds::{Event, KeyAmbiguity, PositionAnnouncement};
use crate::model::Millis;

/// Whether an event is a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    New,
    Duplicate,
    /// The event has a new key, but exceeds the amount announced for its position, so it repeats an amount that was
    /// counted before. The text is the reason.
    Excess(String),
}

/// Assigns dedupe keys to events and finds duplicates among them, over all connections and requests of one exchange.
pub(crate) struct Deduplicator {
    ambiguity: KeyAmbiguity,
    state: Mutex<State>,
}

struct State {
    keys: DedupeKeys,
    recent: RecentKeys,
}

impl Deduplicator {
    pub(crate) fn new(ambiguity: KeyAmbiguity, settings: &Settings) -> Self {
        let memory = millis(settings.pace.dedupe);
        Self {
            ambiguity,
            state: Mutex::new(State {
                keys: DedupeKeys::default(),
                recent: RecentKeys::new(memory, settings.dedupe_keys),
            }),
        }
    }

    /// Assigns the events of one frame their final dedupe keys.
    pub(crate) fn assign(
        &self,
        events: &mut [Event],
        announced: Vec<PositionAnnouncement>,
        origin: EventOrigin,
        now: Millis,
    ) {
        if self.ambiguity == KeyAmbiguity::Whole {
            return;
        }
        let mut state = locked(&self.state);
        state.keys.announce(announced, now);
        state.keys.assign(self.ambiguity, events, origin, now);
    }

    /// Decides whether an event with its final key is a duplicate, and remembers the key.
    pub(crate) fn check(&self, event: &Event, now: Millis) -> Novelty {
        let mut state = locked(&self.state);
        let excess = state.keys.excess(self.ambiguity, event);
        if !state.recent.insert(&event.dedupe_key, now) {
            return Novelty::Duplicate;
        }
        excess.map_or(Novelty::New, Novelty::Excess)
    }

    /// Whether a problem with a frame is reported for the first time. Two redundant connections receive the same frame.
    pub(crate) fn is_first_report(&self, message: &str, now: Millis) -> bool {
        let key = format!("not taken|{message}");
        locked(&self.state).recent.insert(&key, now)
    }

    /// Removes the keys of orders that were not stored, so that a repeat of such an order counts as new.
    pub(crate) fn forget(&self, orders: &[OrderRow]) {
        let mut state = locked(&self.state);
        for row in orders {
            state.recent.remove(&row.dedupe_key);
        }
    }
}
