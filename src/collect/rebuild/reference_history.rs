//! What orders of a day were measured by while they came: closes of bars and readings of open interest, as they were received.

use std::collections::VecDeque;

use rust_decimal::Decimal;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::collect::quality::reference_price::ReferencePrices;
use crate::feeds::venue;
use crate::model::{Millis, sort_small};

/// How long before the day begins what measures its first orders may have been received.
const BEFORE: i64 = Millis::HOUR;

/// A close, or open interest on an exchange.
#[derive(Debug)]
struct ReferenceValue {
    received_at: Millis,
    at: Millis,
    coin: String,
    /// Whose open interest it is; nobody's, of a close.
    exchange: Option<&'static str>,
    value: Decimal,
}

/// The measures of a day that have not been told yet, in the order of their receipt.
#[derive(Debug, Default)]
pub(crate) struct ReferenceHistory {
    left: VecDeque<ReferenceValue>,
}

impl ReferenceHistory {
    /// Those of a day.
    pub(crate) fn of(archive: &Archive, day: Millis) -> Result<Self, ArchiveError> {
        let filter = Filter {
            start: Some(day.back(BEFORE)),
            end: Some(day.on(Millis::DAY)),
            ..Filter::default()
        };
        let mut measures = Vec::new();
        for bar in archive.observed_bars(&filter)?.rows {
            measures.push(ReferenceValue {
                received_at: bar.received_at,
                at: bar.close_time(),
                coin: bar.symbol,
                exchange: None,
                value: bar.close,
            });
        }
        for reading in archive.open_interest(&filter)?.rows {
            let Ok(venue) = venue(&reading.exchange) else {
                continue;
            };
            measures.push(ReferenceValue {
                received_at: reading.received_at,
                at: reading.timestamp,
                coin: reading.symbol,
                exchange: Some(venue.name()),
                value: reading.open_interest,
            });
        }
        sort_small(&mut measures, |one, other| {
            one.received_at.cmp(&other.received_at)
        });
        Ok(Self {
            left: measures.into(),
        })
    }

    /// Tells what had been received by an instant.
    pub(crate) fn tell(&mut self, prices: &ReferencePrices, by: Millis) {
        while let Some(one) = self.left.pop_front_if(|one| one.received_at <= by) {
            match one.exchange {
                None => prices.add_close(&one.coin, one.at, one.value),
                Some(exchange) => prices.add_open_interest(&one.coin, exchange, one.at, one.value),
            }
        }
    }
}
