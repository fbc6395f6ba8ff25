//! Pending rows: events that wait until the contract size of their market is known.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::collect::intake::coverage_log::CoverageLog;
use crate::collect::intake::rejections::Rejections;
use crate::collect::lock::locked;
use crate::collect::venue_context::VenueContext;
use crate::feeds::{Event, KeyAmbiguity};
use crate::model::{GapState, Millis, TimeRange};

/// A waiting row and its frame, from which the row is decoded again later.
#[derive(Clone, Debug)]
pub(crate) struct PendingRow {
    /// The event as decoded so far, without its contract size.
    pub(crate) event: Event,
    pub(crate) frame: Arc<str>,
    /// The market that was requested, if the reply body does not name it.
    pub(crate) market: Option<String>,
    pub(crate) received_at: Millis,
}

impl PendingRow {
    /// Finds the event of this row among the events of its frame, decoded again.
    ///
    /// The key of a decoded event may have more fields than the key of the row. On some exchanges the unit of the size
    /// depends on the market, and the size is part of the key. Therefore, the event is found by the shared key fields
    /// and its time, or else by side, price and time.
    pub(crate) fn find_in<'e>(
        &self,
        events: &'e [Event],
        ambiguity: KeyAmbiguity,
    ) -> Option<&'e Event> {
        let known = &self.event;
        let by_key = |event: &&Event| {
            ambiguity.shared(&event.dedupe_key) == ambiguity.shared(&known.dedupe_key)
                && event.timestamp == known.timestamp
        };
        events.iter().find(by_key).or_else(|| {
            events.iter().find(|event| {
                event.native_id == known.native_id
                    && event.side == known.side
                    && event.price == known.price
                    && event.timestamp == known.timestamp
            })
        })
    }

    /// The event time, or the time of receipt if the event has no time.
    pub(crate) fn timestamp(&self) -> Millis {
        self.event.timestamp.unwrap_or(self.received_at)
    }
}

/// The pending rows of one exchange.
///
/// As soon as a row is added, a gap of its market is recorded, so that a crash does not hide the row. The gap is
/// settled once the row is stored or given up.
pub(crate) struct PendingRows {
    context: Arc<VenueContext>,
    coverage: Arc<CoverageLog>,
    rejections: Arc<Rejections>,
    rows: Mutex<VecDeque<PendingRow>>,
    added: Notify,
}

impl PendingRows {
    pub(crate) fn new(
        context: Arc<VenueContext>,
        coverage: Arc<CoverageLog>,
        rejections: Arc<Rejections>,
    ) -> Self {
        Self {
            context,
            coverage,
            rejections,
            rows: Mutex::default(),
            added: Notify::new(),
        }
    }

    /// Number of pending rows.
    pub(crate) fn len(&self) -> usize {
        locked(&self.rows).len()
    }

    /// Waits until a row is added.
    pub(crate) async fn added(&self) {
        self.added.notified().await;
    }

    /// Adds a row. If there are too many rows, the oldest is given up.
    pub(crate) fn add(&self, row: PendingRow) {
        let at = row.timestamp();
        let reason = "the contract size of its market is not known yet".to_owned();
        let gap = BTreeMap::from([(row.event.native_id.clone(), (at, reason))]);
        self.coverage.topic_gaps(&gap, at.on(1));
        let evicted = push(
            &mut locked(&self.rows),
            row,
            self.context.settings.pending_rows,
        );
        if let Some(row) = evicted {
            self.give_up(&[row], "too many rows wait for their market");
        }
        self.update_status();
        self.added.notify_one();
    }

    /// Removes and returns all rows, so that the caller can decode them again.
    pub(crate) fn take(&self) -> Vec<PendingRow> {
        std::mem::take(&mut *locked(&self.rows)).into()
    }

    /// Puts back a row with a contract size that is still unknown.
    pub(crate) fn put_back(&self, row: PendingRow) {
        locked(&self.rows).push_back(row);
    }

    /// Stops waiting for the contract size of rows received before `before`, and records them as lost.
    pub(crate) fn expire(&self, before: Millis) {
        let expired = take_expired(&mut locked(&self.rows), before);
        self.give_up(&expired, "the contract size of its market is not known");
        self.update_status();
    }

    /// Gives up all rows because collection ends.
    pub(crate) fn give_up_all(&self) {
        let reason = "collection ended before the contract size of its market was known";
        self.give_up(&self.take(), reason);
        self.update_status();
    }

    fn give_up(&self, rows: &[PendingRow], reason: &str) {
        let outcomes = rows.iter().map(|row| {
            let at = row.timestamp();
            self.coverage
                .outcome(TimeRange::new(at, at.on(1)), GapState::Lost, 0, reason)
        });
        self.coverage.settle_all(outcomes.collect());
        for row in rows {
            let event = &row.event;
            let reason = format!("{}: {}: {reason}", event.dedupe_key, event.native_id);
            self.rejections
                .unpriced(&row.frame, &reason, row.received_at);
        }
    }

    fn update_status(&self) {
        let count = u64::try_from(self.len()).unwrap_or(u64::MAX);
        self.context.board.notes().status.pending = count;
    }
}

/// Appends a row. Removes and returns the oldest row if there are more than `most`.
fn push(rows: &mut VecDeque<PendingRow>, row: PendingRow, most: usize) -> Option<PendingRow> {
    rows.push_back(row);
    if rows.len() > most {
        rows.pop_front()
    } else {
        None
    }
}

/// Removes and returns the rows received before `before`.
fn take_expired(rows: &mut VecDeque<PendingRow>, before: Millis) -> Vec<PendingRow> {
    let (expired, rest): (Vec<PendingRow>, Vec<PendingRow>) = std::mem::take(rows)
        .into_iter()
        .partition(|row| row.received_at < before);
    *rows = rest.into();
    expired
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeds::PriceKind;
    use crate::model::Side;

    fn row(key: &str, received_at: i64) -> PendingRow {
        PendingRow {
            event: Event {
                exchange: "okx",
                native_id: "X".to_owned(),
                symbol: "X".to_owned(),
                coin: "X".to_owned(),
                side: Side::Long,
                price: 1.into(),
                price_kind: PriceKind::Bankruptcy,
                qty: None,
                value_usd: None,
                timestamp: None,
                received_at: None,
                sampled: true,
                dedupe_key: key.to_owned(),
                group_id: None,
            },
            frame: "{}".into(),
            market: None,
            received_at: Millis(received_at),
        }
    }

    #[test]
    fn the_oldest_row_is_evicted_and_expired_rows_are_taken_once() {
        let mut rows = VecDeque::new();
        assert!(push(&mut rows, row("a", 1), 2).is_none());
        assert!(push(&mut rows, row("b", 2), 2).is_none());
        let evicted = push(&mut rows, row("c", 3), 2);
        assert_eq!(
            evicted.map(|row| row.event.dedupe_key).as_deref(),
            Some("a")
        );
        let expired = take_expired(&mut rows, Millis(3));
        assert_eq!(expired.len(), 1);
        assert_eq!(rows.len(), 1);
        assert!(take_expired(&mut rows, Millis(3)).is_empty());
    }
}
