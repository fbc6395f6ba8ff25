//! The markets of a venue, as they were last read.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::collect::quality::reference_price::Reading;
use crate::collect::reference_data::instrument_cache::CachedMarkets;
use crate::feeds::Instruments;
use crate::feeds::Listing;
use crate::feeds::Quoted;
use crate::model::Millis;

/// How often a list has to be told as empty, or as not there, until that is believed.
const READS: u32 = 3;

/// A list of markets that is told as empty, or as not there, and had some or is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EmptyListCheck {
    since: Option<Millis>,
    reads: u32,
}

impl EmptyListCheck {
    /// Counts that it was told so once more; since when, once it has been often enough and for so many milliseconds.
    pub(crate) fn is_believed(&mut self, at: Millis, after: i64) -> Option<Millis> {
        let since = *self.since.get_or_insert(at);
        self.reads = self.reads.saturating_add(1);
        (self.reads >= READS && at.0.saturating_sub(since.0) >= after).then_some(since)
    }
}

/// The markets of a venue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markets {
    /// By the requests that list them; absent where that was never answered.
    pub(crate) lists: Vec<Option<Vec<Listing>>>,
    /// When each of them was asked for, the last time it was answered.
    pub(crate) read: Vec<Option<Millis>>,
    /// What stands in the place of those that were asked for and never answered: as a process before had read them.
    recalled: Vec<Option<CachedMarkets>>,
    /// What is not believed of them yet.
    pub(crate) doubts: HashMap<usize, EmptyListCheck>,
    pub(crate) listings: Vec<Listing>,
    pub(crate) instruments: Instruments,
    /// Those that are not traded any more, by name, and when that was read first.
    closed: HashMap<String, (Listing, Millis)>,
    /// The price that the venue told of each market last, and when it was asked.
    prices: HashMap<String, Reading>,
}

impl Markets {
    pub(crate) fn of(lists: Vec<Option<Vec<Listing>>>, read: Vec<Option<Millis>>) -> Self {
        let listings: Vec<Listing> = lists.iter().flatten().flatten().cloned().collect();
        Self {
            instruments: listings.iter().collect(),
            listings,
            lists,
            read,
            recalled: Vec::new(),
            doubts: HashMap::new(),
            closed: HashMap::new(),
            prices: HashMap::new(),
        }
    }

    /// The same with lists of a process before in the place of those that were never answered.
    pub(crate) fn recalling(mut self, recalled: &[Option<CachedMarkets>]) -> Self {
        let unanswered = self.lists.iter().map(Option::is_none);
        let recalled = unanswered.zip(recalled).map(|(is_unanswered, recalled)| {
            let recalled = recalled.as_ref().filter(|_| is_unanswered);
            recalled.cloned()
        });
        self.recalled = recalled.collect();
        for list in self.recalled.iter().flatten() {
            self.listings.extend(list.listings.iter().cloned());
        }
        self.instruments = self.listings.iter().collect();
        self
    }

    /// A list as it is known, and when it was asked for.
    pub(crate) fn list(&self, place: usize) -> Option<(&[Listing], Millis)> {
        let read = || Some((self.lists.get(place)?.as_ref()?, (*self.read.get(place)?)?));
        let recalled = || {
            let list = self.recalled.get(place)?.as_ref()?;
            Some((&list.listings, list.read))
        };
        let (listings, read) = read().or_else(recalled)?;
        Some((listings, read))
    }

    /// As of when the oldest list is known that a process before had read.
    pub(crate) fn recalled_as_of(&self) -> Option<Millis> {
        self.recalled.iter().flatten().map(|list| list.read).min()
    }

    /// The same with those that are not traded any more, as it was read at an instant: they were before, for all that is known.
    pub(crate) fn closing(mut self, known: &Self, at: Millis) -> Self {
        self.closed.clone_from(&known.closed);
        let trading = |all: &[Listing]| -> HashSet<String> {
            let all = all.iter().filter(|listing| listing.trading);
            all.map(|listing| listing.native_id.clone()).collect()
        };
        let now = trading(&self.listings);
        self.closed.retain(|native_id, _| !now.contains(native_id));
        let ended = known.listings.iter().filter(|listing| listing.trading);
        // Of those that are closed when they are read for the first time nobody knows since when.
        let closed = self.listings.iter().filter(|listing| !listing.trading);
        for listing in ended.chain(closed) {
            if !now.contains(&listing.native_id) {
                let closed = || (listing.clone(), at);
                self.closed
                    .entry(listing.native_id.clone())
                    .or_insert_with(closed);
            }
        }
        self
    }

    /// Those that are not traded any more and may have been after `from`.
    pub(crate) fn closed_since(&self, from: Millis) -> impl Iterator<Item = &Listing> {
        let closed = self.closed.values();
        closed.filter_map(move |(listing, at)| (*at > from).then_some(listing))
    }

    /// The same with the prices that were known, and those that were told to what was asked at an instant.
    pub(crate) fn priced(
        mut self,
        known: &Self,
        told: impl IntoIterator<Item = (Millis, Vec<Quoted>)>,
    ) -> Self {
        self.prices.clone_from(&known.prices);
        for (at, told) in told {
            let read = |quoted: Quoted| {
                let value = quoted.price;
                (quoted.native_id, Reading { at, value })
            };
            self.prices.extend(told.into_iter().map(read));
        }
        // Of a market that is listed no more nothing is kept, where any are listed.
        if !self.lists.is_empty() {
            let listed = &self.instruments;
            self.prices
                .retain(|native_id, _| listed.get(native_id).is_some());
        }
        self
    }

    /// The price that the venue told of a market last.
    pub(crate) fn price(&self, native_id: &str) -> Option<Reading> {
        self.prices.get(native_id).copied()
    }

    /// Since when a market that was not listed may have been traded.
    pub(crate) fn known_until(&self) -> Option<Millis> {
        let read = self.read.iter().flatten().min().copied();
        read.into_iter().chain(self.recalled_as_of()).min()
    }

    /// Whether all of the lists were read.
    pub(crate) fn are_all_read(&self) -> bool {
        self.read.iter().all(Option::is_some)
    }

    /// Whether there are markets that `others` are without.
    pub(crate) fn has_more_than(&self, others: &Self) -> bool {
        let mut listings = self.listings.iter();
        listings.any(|listing| others.instruments.get(&listing.native_id).is_none())
    }

    /// What a body is read by: the market alone that was asked for, where it does not name it, or all.
    pub(crate) fn of_body(&self, market: Option<&str>) -> Cow<'_, Instruments> {
        let only = market.and_then(|market| Some((market, self.instruments.get(market)?.clone())));
        match only {
            Some((market, instrument)) => {
                Cow::Owned(Instruments::from_iter([(market.to_owned(), instrument)]))
            }
            None => Cow::Borrowed(&self.instruments),
        }
    }
}
