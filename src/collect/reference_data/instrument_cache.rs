//! The lists of markets as a process before had read them last, kept in the archive's folder.
//!
//! While a venue refuses a list from the start of a process, what that list held is listened to and priced by; and a market
//! that is read and was in none of them has been listed since then, whoever listened meanwhile.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::collect::state_file;
use crate::feeds::{Ask, Instrument, Listing, Venue};
use crate::model::{Millis, Vocabulary};

/// Lists that are older say nothing of now.
const OLDEST: i64 = 7 * Millis::DAY;

/// One list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedMarkets {
    pub(crate) listings: Vec<Listing>,
    /// When it was asked for.
    pub(crate) read: Millis,
}

/// One list as it is kept.
#[derive(Debug, Deserialize, Serialize)]
struct StoredList {
    /// The request that lists it.
    asked: String,
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

/// What tells a list from the others of its venue, whatever their order is.
fn name(ask: &Ask) -> String {
    let query = ask
        .query
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    query.fold(ask.path.clone(), |name, part| name + &part)
}

fn file(venue: &Venue) -> String {
    format!("markets-{}.json", venue.name())
}

/// The lists that a process before had read last, by the requests that list them; none that is too old.
pub(crate) fn recall(archive: &Path, venue: &Venue, now: Millis) -> Vec<Option<CachedMarkets>> {
    let kept = state_file::read(archive, &file(venue)).unwrap_or_default();
    let mut recalled = recalled(kept, now);
    let asks = venue.listing_requests();
    asks.iter().map(|ask| recalled.remove(&name(ask))).collect()
}

/// Those that are recent and can be, by what tells them apart.
fn recalled(kept: Vec<StoredList>, now: Millis) -> HashMap<String, CachedMarkets> {
    let recent = kept
        .into_iter()
        .filter(|list| (now.back(OLDEST)..=now).contains(&list.read));
    let read = recent.filter_map(|list| {
        let listings: Option<_> = list
            .markets
            .into_iter()
            .map(StoredMarket::listing)
            .collect();
        let (listings, read) = (listings?, list.read);
        Some((list.asked, CachedMarkets { listings, read }))
    });
    read.collect()
}

/// Keeps the lists of a venue for the next process, each as `list` has it by its place.
///
/// # Errors
///
/// The system's.
pub(crate) fn keep<'l>(
    archive: &Path,
    venue: &Venue,
    list: impl Fn(usize) -> Option<(&'l [Listing], Millis)>,
) -> io::Result<()> {
    let asks = venue.listing_requests();
    if asks.is_empty() {
        return Ok(());
    }
    let lists = asks.iter().enumerate().filter_map(|(place, ask)| {
        let (listings, read) = list(place)?;
        Some(StoredList {
            asked: name(ask),
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
    use crate::collect::reference_data::instrument_cache::*;

    fn kept(read: Millis, contract_size: &str) -> StoredList {
        StoredList {
            asked: "/list kind=SWAP".to_owned(),
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
    fn lists_that_are_too_old_or_of_the_future_are_not_recalled() {
        let now = Millis(100 * Millis::DAY);
        let of = |read, size| recalled(vec![kept(read, size)], now);
        for (read, is_recalled) in [
            (now, true),
            (now.back(OLDEST), true),
            (now.back(OLDEST + 1), false),
            (now.on(1), false),
        ] {
            assert_eq!(!of(read, "0.01").is_empty(), is_recalled, "{read:?}");
        }
        // Nor is one with a market that none can be.
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
