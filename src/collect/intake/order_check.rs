//! The outlier check of one exchange: turns events into rows, and quarantines events with impossible values.

use std::sync::Arc;

use crate::archive::{CounterKind, OrderRow};
use crate::collect::intake::coverage_log::CoverageLog;
use crate::collect::intake::rejections::Rejections;
use crate::collect::quarantine::quarantined_order::{Figures, QuarantineReason};
use crate::collect::reference_data::reference_price::{Outlier, ReferencePrices};
use crate::collect::venue_context::VenueContext;
use crate::feeds::{Completeness, Event};
use crate::model::{Millis, Order, Vocabulary};

/// A row that passed the check.
#[derive(Debug)]
pub(crate) struct CheckedRow {
    pub(crate) row: OrderRow,
    /// Whether there was no reference price to check the row against.
    pub(crate) is_unchecked: bool,
}

/// The outlier check of one exchange.
pub(crate) struct OrderCheck {
    context: Arc<VenueContext>,
    coverage: Arc<CoverageLog>,
    rejections: Arc<Rejections>,
    prices: Arc<ReferencePrices>,
}

impl OrderCheck {
    pub(crate) fn new(
        context: Arc<VenueContext>,
        coverage: Arc<CoverageLog>,
        rejections: Arc<Rejections>,
        prices: Arc<ReferencePrices>,
    ) -> Self {
        Self {
            context,
            coverage,
            rejections,
            prices,
        }
    }

    /// Whether an event is in quarantine and has arrived again in the same unit.
    pub(crate) fn is_quarantined(&self, event: &Event) -> bool {
        let quarantine = &self.context.delivery.quarantine;
        quarantine.contains(&event.dedupe_key, &Figures::from(event))
    }

    /// Quarantines an event that exceeds the amount announced for its position.
    pub(crate) fn quarantine_excess(&self, event: &Event, why: &str, text: &str, now: Millis) {
        let reason = (QuarantineReason::Excess, why);
        self.rejections
            .quarantine(&event.dedupe_key, Figures::from(event), reason, text, now);
    }

    /// Checks an event and returns its row, unless it is rejected or quarantined.
    pub(crate) fn check(&self, event: Event, text: &str, now: Millis) -> Option<CheckedRow> {
        let (key, native_id) = (event.dedupe_key.clone(), event.native_id.clone());
        let completeness = self.context.venue.completeness();
        let Some(mut row) = order_row(event, completeness, None, now) else {
            let reason = format!("{key}: {native_id} has no value in USD");
            self.rejections.unpriced(text, &reason, now);
            return None;
        };
        let own = self.context.markets.load().price(&native_id);
        let outlier = self.prices.check_row(self.context.name(), &row, own);
        match &outlier {
            Some(Outlier::Impossible(reason, why)) => {
                let figures = Figures::from(&row);
                self.rejections
                    .quarantine(&key, figures, (*reason, why), text, now);
                return None;
            }
            Some(Outlier::Suspect(why)) => {
                self.context.board.notes().status.suspect += 1;
                self.context.trouble(format!("looks wrong: {key}: {why}"));
            }
            // An unchecked order is counted later, when the archive shows whether the row is new.
            Some(Outlier::Unchecked) | None => {}
        }
        let keeps_raw = self.context.settings.raw || matches!(outlier, Some(Outlier::Suspect(_)));
        row.raw = keeps_raw.then(|| text.to_owned());
        Some(CheckedRow {
            row,
            is_unchecked: outlier == Some(Outlier::Unchecked),
        })
    }

    /// Counts stored rows that were not checked, because there was no reference price.
    pub(crate) fn count_unchecked(&self, count: u64) {
        if count > 0 {
            self.context.board.notes().status.unchecked += count;
            let now = self.context.clock.now();
            self.coverage.count(CounterKind::Unjudged, count, now);
        }
    }
}

/// The row of an event; `None` if it has no value in USD.
pub(crate) fn order_row(
    event: Event,
    completeness: Completeness,
    raw: Option<String>,
    received_at: Millis,
) -> Option<OrderRow> {
    // A sampled event comes from a retired channel, which may omit liquidations, although the current channel is
    // complete.
    let completeness = match completeness {
        Completeness::Complete if event.sampled => Completeness::Sampled,
        of_exchange => of_exchange,
    };
    Some(OrderRow {
        order: Order {
            exchange: event.exchange.to_owned(),
            symbol: event.symbol,
            side: event.side,
            price: event.price,
            qty: event.qty?,
            value_usd: event.value_usd?,
            timestamp: event.timestamp?,
        },
        coin: event.coin,
        price_kind: event.price_kind.name().to_owned(),
        completeness,
        native_id: Some(event.native_id),
        dedupe_key: event.dedupe_key,
        received_at,
        raw,
        group_id: event.group_id,
    })
}
