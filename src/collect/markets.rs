//! The markets of a venue, as they were last read.

use std::borrow::Cow;
use std::collections::HashMap;

use super::yardstick::Read;
use crate::feeds::Instruments;
use crate::feeds::Listing;
use crate::feeds::Quoted;
use crate::model::Millis;

/// The markets of a venue.
#[derive(Clone, Debug, Default)]
pub(super) struct Markets {
    /// By the requests that list them; absent where that was never answered.
    pub(super) lists: Vec<Option<Vec<Listing>>>,
    /// When each of them was asked for, the last time it was answered.
    pub(super) read: Vec<Option<Millis>>,
    pub(super) listings: Vec<Listing>,
    pub(super) instruments: Instruments,
    /// The price that the venue told of each market last, and when it was asked.
    prices: HashMap<String, Read>,
}

impl Markets {
    pub(super) fn of(lists: Vec<Option<Vec<Listing>>>, read: Vec<Option<Millis>>) -> Self {
        let listings: Vec<Listing> = lists.iter().flatten().flatten().cloned().collect();
        Self {
            instruments: listings.iter().collect(),
            listings,
            lists,
            read,
            prices: HashMap::new(),
        }
    }

    /// The same with the prices that were known, and those that were told to what was asked at an instant.
    pub(super) fn priced(
        mut self,
        known: &Self,
        told: impl IntoIterator<Item = (Millis, Vec<Quoted>)>,
    ) -> Self {
        self.prices.clone_from(&known.prices);
        for (at, told) in told {
            let read = |quoted: Quoted| {
                let value = quoted.price;
                (quoted.native_id, Read { at, value })
            };
            self.prices.extend(told.into_iter().map(read));
        }
        // Of a market that is listed no more nothing is kept.
        let listed = &self.instruments;
        self.prices
            .retain(|native_id, _| listed.get(native_id).is_some());
        self
    }

    /// The price that the venue told of a market last.
    pub(super) fn price(&self, native_id: &str) -> Option<Read> {
        self.prices.get(native_id).copied()
    }

    /// Since when a market that was not listed may have been traded.
    pub(super) fn known_until(&self) -> Option<Millis> {
        self.read.iter().flatten().min().copied()
    }

    /// Whether there are markets that `others` are without.
    pub(super) fn has_more_than(&self, others: &Self) -> bool {
        let mut listings = self.listings.iter();
        listings.any(|listing| others.instruments.get(&listing.native_id).is_none())
    }

    /// What a body is read by: the market alone that was asked for, where it does not name it, or all.
    pub(super) fn of_body(&self, market: Option<&str>) -> Cow<'_, Instruments> {
        let only = market.and_then(|market| Some((market, self.instruments.get(market)?.clone())));
        match only {
            Some((market, instrument)) => {
                Cow::Owned(Instruments::from_iter([(market.to_owned(), instrument)]))
            }
            None => Cow::Borrowed(&self.instruments),
        }
    }
}
