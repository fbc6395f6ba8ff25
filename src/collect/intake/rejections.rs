//! Rejections: counts the events and frames of one exchange that are not stored, and writes them to the dead-letter
//! file.

use std::sync::Arc;

use crate::archive::CounterKind;
use crate::collect::intake::coverage_log::CoverageLog;
use crate::collect::quarantine::dead_letter::{DeadLetter, DeadLetterKind, Written};
use crate::collect::quarantine::quarantined_order::{Figures, QuarantineReason, QuarantinedOrder};
use crate::collect::venue_context::VenueContext;
use crate::feeds::Error;
use crate::model::Millis;

/// Counts the rejected events and frames of one exchange and writes them to the dead-letter file.
pub(crate) struct Rejections {
    context: Arc<VenueContext>,
    coverage: Arc<CoverageLog>,
}

impl Rejections {
    pub(crate) fn new(context: Arc<VenueContext>, coverage: Arc<CoverageLog>) -> Self {
        Self { context, coverage }
    }

    /// Records a frame that could not be decoded, completely or in part.
    pub(crate) fn undecodable(&self, text: &str, faults: &[Error], now: Millis) {
        let reasons: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let reason = reasons.join("; ");
        self.count(faults.len(), &reason);
        self.write(&self.letter(DeadLetterKind::Rejected, text, &reason, now));
    }

    /// Records an event with an impossible value, such as its time.
    pub(crate) fn invalid(&self, text: &str, reason: &str, now: Millis) {
        self.count(1, reason);
        self.write(&self.letter(DeadLetterKind::Rejected, text, reason, now));
    }

    /// Counts rows that the archive can never store; `delivery` has already written them to the file.
    pub(crate) fn unstorable(&self, reasons: &[String]) {
        for reason in reasons {
            self.count(1, reason);
        }
    }

    /// Records an event without a value in USD.
    pub(crate) fn unpriced(&self, text: &str, reason: &str, now: Millis) {
        self.context.board.notes().status.unpriced += 1;
        self.coverage
            .count(CounterKind::Unpriced, 1, self.context.clock.now());
        self.write(&self.letter(DeadLetterKind::Unpriced, text, reason, now));
    }

    /// Puts an order into quarantine.
    pub(crate) fn quarantine(
        &self,
        key: &str,
        figures: Figures,
        (reason, why): (QuarantineReason, &str),
        text: &str,
        now: Millis,
    ) {
        self.context.board.notes().status.quarantined += 1;
        self.coverage.count(CounterKind::Quarantined, 1, now);
        let message = format!("quarantined: {key}: {why}");
        self.context.trouble(message.clone());
        self.write(&DeadLetter {
            quarantined: Some(QuarantinedOrder {
                key: key.to_owned(),
                reason,
                figures,
            }),
            ..self.letter(DeadLetterKind::Quarantined, text, &message, now)
        });
    }

    fn count(&self, count: usize, reason: &str) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.context.board.notes().status.rejected += count;
        self.coverage
            .count(CounterKind::Rejected, count, self.context.clock.now());
        self.context.trouble(format!("rejected: {reason}"));
    }

    fn letter<'t>(
        &self,
        kind: DeadLetterKind,
        text: &'t str,
        reason: &'t str,
        now: Millis,
    ) -> DeadLetter<'t> {
        DeadLetter {
            exchange: Some(self.context.name()),
            received_at: Some(now),
            frame: Some(text),
            ..DeadLetter::new(kind, reason)
        }
    }

    fn write(&self, letter: &DeadLetter<'_>) {
        if let Written::Full(why) = self.context.delivery.quarantine.write(letter) {
            self.context.trouble(format!("dead letters: {why}"));
        }
    }
}
