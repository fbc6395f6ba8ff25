//! The unit check: requests data that shows whether rows are decoded in the right unit.
//!
//! Only exchanges with documentation that leaves the unit unclear are checked.

use tokio::time::sleep;

use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::{RequestFailure, VenueTasks};
use crate::model::Millis;

/// Result of one unit check.
#[derive(Debug)]
enum Answer {
    /// The replies confirm the unit of rows, or there is nothing to check.
    Confirmed,
    /// The replies contradict the unit of rows, for this reason.
    Disproved(String),
    /// There was no usable reply, for this reason.
    Missing(String),
}

/// The unit check of one exchange.
#[derive(Clone, Copy)]
pub(crate) struct UnitCheck<'a> {
    tasks: &'a VenueTasks,
}

impl<'a> UnitCheck<'a> {
    pub(crate) fn new(tasks: &'a VenueTasks) -> Self {
        Self { tasks }
    }

    /// Whether the exchange has requests for a unit check.
    pub(crate) fn is_needed(self) -> bool {
        let context = &self.tasks.context;
        !context.venue.proofs(context.clock.now()).is_empty()
    }

    /// Whether rows may be stored. If the check gets no reply, rows may be stored.
    pub(crate) async fn passes(self) -> bool {
        let board = &self.tasks.context.board;
        match self.check().await {
            Answer::Confirmed => {}
            Answer::Disproved(why) => {
                board.notes().polled = Some(false);
                board.trouble(format!(
                    "nothing is stored, because the unit check contradicts the unit that the decoder assumes: {why}"
                ));
                return false;
            }
            Answer::Missing(why) => {
                board.trouble(format!("the unit check was not answered: {why}"));
            }
        }
        true
    }

    /// Waits until rows may be stored. The check is repeated at the interval at which the markets are read.
    pub(crate) async fn until_passed(self) {
        let context = &self.tasks.context;
        while !self.passes().await {
            sleep(span(context.settings.pace.instruments)).await;
        }
        context.board.notes().polled = None;
    }

    /// Repeats the check until the replies contradict the unit of rows. Returns the time of that check, and the reason
    /// of the gap.
    ///
    /// Records the time since the last passed check as a gap.
    pub(crate) async fn until_disproved(self) -> (Millis, String) {
        let context = &self.tasks.context;
        let mut confirmed = context.clock.now();
        loop {
            sleep(span(context.settings.pace.instruments)).await;
            let requested_at = context.clock.now();
            match self.check().await {
                Answer::Confirmed => confirmed = requested_at,
                Answer::Disproved(why) => {
                    let reason = format!("the unit of its rows is doubtful: {why}");
                    let coverage = &self.tasks.intake.coverage;
                    coverage.doubtful_gap(confirmed, requested_at, &reason);
                    return (requested_at, reason);
                }
                Answer::Missing(_) => {}
            }
        }
    }

    async fn check(self) -> Answer {
        let context = &self.tasks.context;
        let asking = async {
            for request in context.venue.proofs(context.clock.now()) {
                let body = self.tasks.rest.get(&request).await?;
                let markets = context.markets.load();
                let frame = context.venue.frame(&body, None, &markets.instruments);
                if let Some(why) = context.venue.disproof(&frame)? {
                    return Ok(Answer::Disproved(why));
                }
            }
            Ok::<_, RequestFailure>(Answer::Confirmed)
        };
        let patience = span(context.settings.pace.request);
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(fault)) => Answer::Missing(fault.to_string()),
            Err(_) => Answer::Missing(format!("no reply within {} s", patience.as_secs_f64())),
        }
    }
}
