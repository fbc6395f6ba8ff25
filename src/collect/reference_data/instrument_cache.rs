//! A cache of market lists in the folder of the archive, for the next process.
//!
//! While an exchange refuses to send a list after the start, the cached list is used instead. A market that is missing
//! from the cached lists was listed after they were stored, so its feed has a gap.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::collect::state_file;
use crate::feeds::{Instrument, Listing, RestRequest, Venue};
use crate::model::{Millis, Vocabulary};

/// Maximum age of a cached list that is used, in milliseconds.
const OLDEST: i64 = 7 * Millis::DAY;

/// A market list from an earlier process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedMarkets {
    pub(crate) listings: Vec<Listing>,
    /// When the list was requested.
    pub(crate) read: Millis,
}

/// A market list in its stored form.
#[derive(Debug, Deserialize, Serialize)]
struct StoredList {
    /// The path and query of the request for this list.
    #[serde(rename = "asked")]
    request: String,
    read: Millis,
    markets: Vec<StoredMarket>,
}

#[derive(Debug, Deserialize, Serialize)]
struct StoredMarket {
    native_id: String,
    base: String,
    quote: String,
    kind: String,
    contract_size: String,
    perpetual: bool,
    trading: bool,
}

impl StoredMarket {
    fn of(listing: &Listing) -> Self {
        let instrument = &listing.instrument;
        Self {
            native_id: listing.native_id.clone(),
            base: instrument.base.clone(),
            quote: instrument.quote.clone(),
            kind: instrument.kind.name().to_owned(),
            contract_size: instrument.contract_size.to_string(),
            perpetual: listing.perpetual,
            trading: listing.trading,
        }
    }

    fn listing(self) -> Option<Listing> {
        let Self {
            base,
            quote,
            kind,
            contract_size,
            ..
        } = &self;
        Some(Listing {
            instrument: Instrument::read(base, quote, kind, contract_size).ok()?,
            native_id: self.native_id,
            perpetual: self.perpetual,
            trading: self.trading,
        })
    }
}

/// Name of a market list in the cache: its path and query.
fn name(request: &RestRequest) -> String {
    let query = request
        .query
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    query.fold(request.path.clone(), |name, part| name + &part)
}

fn file(venue: &Venue) -> String {
    format!("markets-{}.json", venue.name())
}

/// Loads the lists of an earlier process, in order of their requests. `None` for a list that is missing or too old.
pub(crate) fn load(archive: &Path, venue: &Venue, now: Millis) -> Vec<Option<CachedMarkets>> {
    let stored = state_file::read(archive, &file(venue)).unwrap_or_default();
    let mut recent = recent(stored, now);
    let requests = venue.listing_requests();
    requests
        .iter()
        .map(|request| recent.remove(&name(request)))
        .collect()
}

/// The recent and valid lists, by name.
fn recent(stored: Vec<StoredList>, now: Millis) -> HashMap<String, CachedMarkets> {
    let recent = stored
        .into_iter()
        .filter(|list| (now.back(OLDEST)..=now).contains(&list.read));
    let read = recent.filter_map(|list| {
        let listings: Option<_> = list
            .markets
            .into_iter()
            .map(StoredMarket::listing)
            .collect();
        let (listings, read) = (listings?, list.read);
        Some((list.request, CachedMarkets { listings, read }))
    });
    read.collect()
}

/// Stores the lists of an exchange for the next process; `list` returns them by their index.
///
/// # Errors
///
/// An error of the file system.
pub(crate) fn store<'l>(
    archive: &Path,
    venue: &Venue,
    list: impl Fn(usize) -> Option<(&'l [Listing], Millis)>,
) -> io::Result<()> {
    let requests = venue.listing_requests();
    if requests.is_empty() {
        return Ok(());
    }
    let lists = requests.iter().enumerate().filter_map(|(index, request)| {
        let (listings, read) = list(index)?;
        Some(StoredList {
            request: name(request),
            read,
            markets: listings.iter().map(StoredMarket::of).collect(),
        })
    });
    let lists: Vec<StoredList> = lists.collect();
    state_file::write(archive, &file(venue), &lists)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn stored(read: Millis, contract_size: &str) -> StoredList {
        StoredList {
            request: "/list kind=SWAP".to_owned(),
            read,
            markets: vec![StoredMarket {
                native_id: "BTC-USDT-SWAP".to_owned(),
                base: "BTC".to_owned(),
                quote: "USDT".to_owned(),
                kind: "linear".to_owned(),
                contract_size: contract_size.to_owned(),
                perpetual: true,
                trading: true,
            }],
        }
    }

    #[test]
    fn lists_that_are_too_old_or_of_the_future_are_not_used() {
        let now = Millis(100 * Millis::DAY);
        let of = |read, size| recent(vec![stored(read, size)], now);
        for (read, is_used) in [
            (now, true),
            (now.back(OLDEST), true),
            (now.back(OLDEST + 1), false),
            (now.on(1), false),
        ] {
            assert_eq!(!of(read, "0.01").is_empty(), is_used, "{read:?}");
        }
        // A list with an invalid market is not used.
        assert!(of(now, "0").is_empty());
        let list = of(now, "0.01").remove("/list kind=SWAP").unwrap();
        let again: Vec<Option<Listing>> = list
            .listings
            .iter()
            .map(|listing| StoredMarket::of(listing).listing())
            .collect();
        assert_eq!(again, [list.listings.first().cloned()]);
    }
}
