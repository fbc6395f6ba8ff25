//! Live rows that are not in the archive yet, and rows that the archive did not accept in time.

use std::sync::{Arc, Mutex};

use crate::archive::OrderRow;
use crate::collect::intake::coverage_log::CoverageLog;
use crate::collect::lock::locked;
use crate::collect::venue_context::VenueContext;
use crate::model::Millis;

/// Tracks live rows that are in flight or lost, so that their time does not count as covered.
pub(crate) struct InFlight {
    context: Arc<VenueContext>,
    coverage: Arc<CoverageLog>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The earliest event time of each batch in flight.
    starts: Vec<Millis>,
    lost: Option<LostRows>,
}

/// Rows that were lost since the archive last accepted rows.
#[derive(Debug)]
struct LostRows {
    since: Millis,
    rows: u64,
    reason: String,
}

/// A batch in flight. Dropping this value ends the flight.
pub(crate) struct BatchInFlight<'a> {
    all: &'a InFlight,
    /// Earliest event time of the batch.
    pub(crate) start: Millis,
}

impl Drop for BatchInFlight<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.all.state);
        if let Some(index) = state.starts.iter().position(|start| *start == self.start) {
            state.starts.swap_remove(index);
        }
    }
}

impl InFlight {
    pub(crate) fn new(context: Arc<VenueContext>, coverage: Arc<CoverageLog>) -> Self {
        Self {
            context,
            coverage,
            state: Mutex::default(),
        }
    }

    /// Records a batch as in flight.
    pub(crate) fn begin(&self, rows: &[OrderRow]) -> BatchInFlight<'_> {
        let start = self.start_of(rows);
        locked(&self.state).starts.push(start);
        BatchInFlight { all: self, start }
    }

    /// The earliest event time of `rows`.
    fn start_of(&self, rows: &[OrderRow]) -> Millis {
        let times = rows.iter().map(|row| {
            let at = row.order.timestamp;
            // A row without an event time has its time of receipt instead. Its frame may have waited before it was
            // read, so the event may have happened at any time after the covered time.
            let seen = (at == row.received_at)
                .then(|| self.context.board.covered_until())
                .flatten();
            seen.map_or(at, |seen| seen.min(at)).min(row.received_at)
        });
        times.min().unwrap_or_else(|| self.context.clock.now())
    }

    /// Records rows as lost because the archive did not accept them in time.
    pub(crate) fn lose(&self, rows: u64, since: Millis, reason: String) {
        self.context.board.notes().status.lost += rows;
        self.context.trouble(format!("orders are lost: {reason}"));
        let mut state = locked(&self.state);
        let lost = state.lost.get_or_insert(LostRows {
            since,
            rows: 0,
            reason,
        });
        lost.since = lost.since.min(since);
        lost.rows += rows;
    }

    /// Records the gap of lost rows. Called once the archive accepts rows again.
    pub(crate) fn end_loss(&self) {
        let Some(lost) = locked(&self.state).lost.take() else {
            return;
        };
        let reason = format!("{} orders lost: {}", lost.rows, lost.reason);
        self.coverage
            .gap(lost.since, self.context.clock.now(), &reason);
    }

    /// The latest instant, at most `at`, up to which all rows are in the archive or their gap is recorded.
    pub(crate) fn delivered_until(&self, at: Millis) -> Millis {
        if self.context.delivery.trouble().is_none() {
            self.end_loss();
        }
        let state = locked(&self.state);
        let lost = state.lost.as_ref().map(|lost| lost.since);
        let starts = state.starts.iter().copied();
        lost.into_iter().chain(starts).fold(at, Millis::min)
    }
}
