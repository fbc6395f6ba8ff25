//! Rows that cannot be priced yet: tried again once the markets have been read anew, and given up by name after their time.
//!
//! As long as one waits, its market is missing at that instant: that is on record from the beginning, whatever ends this
//! process, and settled once the row is kept or given up.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use crate::collect::intake::dedupe_keys::Way;
use crate::collect::intake::intake::Intake;
use crate::collect::intake::pending_rows::Waiting;
use crate::collect::lock::locked;
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::millis;
use crate::feeds::{Event, Keyed};
use crate::model::{GapState, Millis};

/// When a row that waits happened, as far as that is known.
fn happened(row: &Waiting) -> Millis {
    row.event.timestamp.unwrap_or(row.received_at)
}

impl Intake {
    /// Lets a row wait for its market.
    pub(crate) fn hold(&self, row: Waiting) {
        let at = happened(&row);
        let reason = "its multiplier is not known yet".to_owned();
        let missing = BTreeMap::from([(row.event.native_id.clone(), (at, reason))]);
        self.unheard(&missing, at.on(1));
        let given_up = locked(&self.hold).wait(row, self.settings.held_rows);
        if let Some(row) = given_up {
            self.give_up(&[row], "too many rows wait for their market");
        }
        self.note_held();
        self.unknown.notify_one();
    }

    fn give_up(&self, rows: &[Waiting], reason: &str) {
        let outcomes = rows.iter().map(|row| {
            let at = happened(row);
            self.outcome((at, at.on(1)), GapState::Lost, 0, reason)
        });
        self.settle_all(outcomes.collect());
        for row in rows {
            self.count_unpriced();
            let event = &row.event;
            let reason = format!("{}: {}: {reason}", event.dedupe_key, event.native_id);
            self.set_aside(&row.frame, &reason, row.received_at);
        }
    }

    /// Tries the rows that wait once more; those whose time is over are given up, unless the markets could not be read since.
    pub(crate) async fn try_held(&self) {
        let now = self.clock.now();
        let waiting = locked(&self.hold).take();
        if waiting.is_empty() {
            return;
        }
        let (mut ready, mut outcomes) = (Vec::new(), Vec::new());
        let markets = self.markets.load_full();
        let mut decoded: HashMap<usize, Vec<Event>> = HashMap::new();
        for row in waiting {
            // Rows of one frame share it.
            let events = decoded
                .entry(row.frame.as_ptr().addr())
                .or_insert_with(|| self.decode_again(&row, &markets));
            match row.find_in(events).filter(|event| !event.is_held()) {
                Some(event) => {
                    self.note_event(event, Way::Request, now);
                    let mut event = event.clone();
                    if self.venue.keyed() != Keyed::Whole {
                        event.dedupe_key.clone_from(&row.event.dedupe_key);
                    }
                    let kept = self.row(event, &row.frame, row.received_at);
                    let (at, rows) = (happened(&row), u64::from(kept.is_some()));
                    let (state, how) = match kept {
                        Some(_) => (GapState::Recovered, "its multiplier became known"),
                        None => (GapState::Lost, "it cannot be kept"),
                    };
                    outcomes.push(self.outcome((at, at.on(1)), state, rows, how));
                    ready.extend(kept);
                }
                // It had its place before.
                None => drop(locked(&self.hold).wait(row, usize::MAX)),
            }
        }
        drop(decoded);
        self.settle_all(outcomes);
        let since = now.back(millis(self.settings.pace.hold));
        let read = markets.known_until().unwrap_or(Millis(i64::MIN));
        let expired = locked(&self.hold).expired(since.min(read));
        self.give_up(&expired, "its multiplier is not known");
        self.note_held();
        self.hand_over(ready, None).await;
    }

    fn decode_again(&self, row: &Waiting, markets: &Markets) -> Vec<Event> {
        let faults = RefCell::default();
        let instruments = markets.of_body(row.market.as_deref());
        let received_at = Some(row.received_at);
        let frame = self.venue.frame(&row.frame, received_at, &instruments);
        let decoded = self.venue.decode(&frame.keeping(&faults));
        decoded.unwrap_or_default()
    }

    /// How many rows wait for their market.
    pub(crate) fn held(&self) -> usize {
        locked(&self.hold).len()
    }

    fn note_held(&self) {
        self.board.notes().status.held = u64::try_from(self.held()).unwrap_or(u64::MAX);
    }

    /// Gives everything up that still waits, because the collecting ends.
    pub(crate) fn give_up_held(&self) {
        let waiting = locked(&self.hold).take();
        let reason = "the collecting ended before its multiplier was known";
        self.give_up(&waiting, reason);
        self.note_held();
    }
}
