//! Reference prices and open interest of a day in order of receipt, for the outlier check of a replay.

use std::collections::VecDeque;

use rust_decimal::Decimal;

use crate::archive::{Archive, ArchiveError, Filter};
use crate::collect::reference_data::reference_price::ReferencePrices;
use crate::feeds::venue;
use crate::model::{Millis, sort_small};

/// Reference values from this many milliseconds before a day are loaded for its first orders.
const BEFORE: i64 = Millis::HOUR;

/// The closing price of a bar, or open interest of an exchange.
#[derive(Debug)]
struct ReferenceValue {
    received_at: Millis,
    at: Millis,
    coin: String,
    /// The exchange of open interest; `None` for a closing price.
    exchange: Option<&'static str>,
    value: Decimal,
}

/// The reference values of a day that are not applied yet, in order of receipt.
#[derive(Debug, Default)]
pub(crate) struct ReferenceHistory {
    left: VecDeque<ReferenceValue>,
}

impl ReferenceHistory {
    /// Loads the reference values of a day.
    pub(crate) fn of(archive: &Archive, day: Millis) -> Result<Self, ArchiveError> {
        let filter = Filter {
            start: Some(day.back(BEFORE)),
            end: Some(day.on(Millis::DAY)),
            ..Filter::default()
        };
        let mut references = Vec::new();
        for bar in archive.observed_bars(&filter)?.rows {
            references.push(ReferenceValue {
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
            references.push(ReferenceValue {
                received_at: reading.received_at,
                at: reading.timestamp,
                coin: reading.symbol,
                exchange: Some(venue.name()),
                value: reading.open_interest,
            });
        }
        sort_small(&mut references, |one, other| {
            one.received_at.cmp(&other.received_at)
        });
        Ok(Self {
            left: references.into(),
        })
    }

    /// Adds the reference values that were received up to the instant `by` to `prices`.
    pub(crate) fn apply(&mut self, prices: &ReferencePrices, by: Millis) {
        while let Some(one) = self.left.pop_front_if(|one| one.received_at <= by) {
            match one.exchange {
                None => prices.add_close(&one.coin, one.at, one.value),
                Some(exchange) => prices.add_open_interest(&one.coin, exchange, one.at, one.value),
            }
        }
    }
}
