//! The markets of an exchange, as they were last read.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::collect::reference_data::instrument_cache::CachedMarkets;
use crate::collect::reference_data::reference_price::PricePoint;
use crate::feeds::Instruments;
use crate::feeds::LastPrice;
use crate::feeds::Listing;
use crate::model::Millis;

/// Minimum number of replies that a list is empty or missing before its markets count as delisted.
const READS: u32 = 3;

/// Counts replies that a market list is empty or missing, although the list had markets or was never read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EmptyListCheck {
    since: Option<Millis>,
    reads: u32,
}

impl EmptyListCheck {
    /// Counts one more reply that the list is empty or missing. Returns the time of the first reply once there are
    /// enough replies over at least `after` milliseconds.
    pub(crate) fn confirm(&mut self, at: Millis, after: i64) -> Option<Millis> {
        let since = *self.since.get_or_insert(at);
        self.reads = self.reads.saturating_add(1);
        (self.reads >= READS && at.0.saturating_sub(since.0) >= after).then_some(since)
    }
}

/// The markets of an exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markets {
    /// The market lists, by the index of their request; `None` for a request that was never answered.
    pub(crate) lists: Vec<Option<Vec<Listing>>>,
    /// When the last answered request for each list was sent.
    pub(crate) read: Vec<Option<Millis>>,
    /// Cached lists of an earlier process, for requests that were never answered.
    cached: Vec<Option<CachedMarkets>>,
    /// Lists that were reported as empty or missing, by index.
    pub(crate) empty_lists: HashMap<usize, EmptyListCheck>,
    pub(crate) listings: Vec<Listing>,
    pub(crate) instruments: Instruments,
    /// Markets that no longer trade, each with the time at which this was first read.
    closed: HashMap<String, (Listing, Millis)>,
    /// The last price of each market that the exchange itself publishes, with the time of the request.
    prices: HashMap<String, PricePoint>,
}

impl Markets {
    pub(crate) fn of(lists: Vec<Option<Vec<Listing>>>, read: Vec<Option<Millis>>) -> Self {
        let listings: Vec<Listing> = lists.iter().flatten().flatten().cloned().collect();
        Self {
            instruments: listings.iter().collect(),
            listings,
            lists,
            read,
            cached: Vec::new(),
            empty_lists: HashMap::new(),
            closed: HashMap::new(),
            prices: HashMap::new(),
        }
    }

    /// Adds cached lists of an earlier process for requests that were never answered.
    pub(crate) fn with_cached(mut self, cached: &[Option<CachedMarkets>]) -> Self {
        let unanswered = self.lists.iter().map(Option::is_none);
        let cached = unanswered.zip(cached).map(|(is_unanswered, cached)| {
            let cached = cached.as_ref().filter(|_| is_unanswered);
            cached.cloned()
        });
        self.cached = cached.collect();
        for list in self.cached.iter().flatten() {
            self.listings.extend(list.listings.iter().cloned());
        }
        self.instruments = self.listings.iter().collect();
        self
    }

    /// A market list (from this process or the cache), and when it was requested.
    pub(crate) fn list(&self, index: usize) -> Option<(&[Listing], Millis)> {
        let read = || Some((self.lists.get(index)?.as_ref()?, (*self.read.get(index)?)?));
        let cached = || {
            let list = self.cached.get(index)?.as_ref()?;
            Some((&list.listings, list.read))
        };
        let (listings, read) = read().or_else(cached)?;
        Some((listings, read))
    }

    /// The time of the oldest cached list in use, if any.
    pub(crate) fn cached_as_of(&self) -> Option<Millis> {
        self.cached.iter().flatten().map(|list| list.read).min()
    }

    /// Adds the markets that traded in `known` and, as read at `at`, no longer trade.
    pub(crate) fn with_closed(mut self, known: &Self, at: Millis) -> Self {
        self.closed.clone_from(&known.closed);
        let trading = |all: &[Listing]| -> HashSet<String> {
            let all = all.iter().filter(|listing| listing.trading);
            all.map(|listing| listing.native_id.clone()).collect()
        };
        let now = trading(&self.listings);
        self.closed.retain(|native_id, _| !now.contains(native_id));
        let ended = known.listings.iter().filter(|listing| listing.trading);
        // A market that is closed at the first read may have closed at any time before it.
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

    /// Markets that no longer trade, but may have traded after `from`.
    pub(crate) fn closed_since(&self, from: Millis) -> impl Iterator<Item = &Listing> {
        let closed = self.closed.values();
        closed.filter_map(move |(listing, at)| (*at > from).then_some(listing))
    }

    /// Adds the prices of `known` and the new `prices`. Each list of new prices has the time of its request.
    pub(crate) fn with_prices(
        mut self,
        known: &Self,
        prices: impl IntoIterator<Item = (Millis, Vec<LastPrice>)>,
    ) -> Self {
        self.prices.clone_from(&known.prices);
        for (at, quotes) in prices {
            let read = |quoted: LastPrice| {
                let value = quoted.price;
                (quoted.native_id, PricePoint { at, value })
            };
            self.prices.extend(quotes.into_iter().map(read));
        }
        // Prices of delisted markets are dropped.
        if !self.lists.is_empty() {
            let listed = &self.instruments;
            self.prices
                .retain(|native_id, _| listed.get(native_id).is_some());
        }
        self
    }

    /// The last price of a market that the exchange itself publishes.
    pub(crate) fn price(&self, native_id: &str) -> Option<PricePoint> {
        self.prices.get(native_id).copied()
    }

    /// The instant up to which all traded markets are known.
    pub(crate) fn known_until(&self) -> Option<Millis> {
        let read = self.read.iter().flatten().min().copied();
        read.into_iter().chain(self.cached_as_of()).min()
    }

    /// Whether all lists were read.
    pub(crate) fn are_all_read(&self) -> bool {
        self.read.iter().all(Option::is_some)
    }

    /// Whether some market here is not in `others`.
    pub(crate) fn has_more_than(&self, others: &Self) -> bool {
        let mut listings = self.listings.iter();
        listings.any(|listing| others.instruments.get(&listing.native_id).is_none())
    }

    /// The instruments for decoding a reply body. If only `market` was requested, the result is that market alone,
    /// because the body may not name it; otherwise, all instruments.
    pub(crate) fn for_body(&self, market: Option<&str>) -> Cow<'_, Instruments> {
        let only = market.and_then(|market| Some((market, self.instruments.get(market)?.clone())));
        match only {
            Some((market, instrument)) => {
                Cow::Owned(Instruments::from_iter([(market.to_owned(), instrument)]))
            }
            None => Cow::Borrowed(&self.instruments),
        }
    }
}
