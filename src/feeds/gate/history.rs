//! Markets and missed liquidations by REST.

use super::listen::SETTLES;
use crate::feeds::ask::{Ask, Limit, Page, stretches};
use crate::feeds::frame::{Part, Place, cells, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::{Error, Frame, Instrument, Kind};
use crate::model::Millis;

/// Requests in ten seconds, by path; a tenth of what is allowed is left to others.
const CONTRACTS: Limit = Limit::of("contracts", 180, 10);
const ORDERS: Limit = Limit::of("orders", 180, 10);

/// Longest time one request may ask about.
const WINDOW: i64 = Millis::HOUR;
const SECOND: i64 = 1000;
/// Most rows of a reply.
const ROWS: usize = 1000;

cells!(Contract {
    name = "name",
    kind = "type",
    multiplier = "quanto_multiplier",
    status = "status",
    in_delisting = "in_delisting",
});

cells!(Row {
    time = "time",
});

pub(super) fn listing_requests() -> Vec<Ask> {
    SETTLES
        .into_iter()
        .map(|settle| {
            Ask::new(&format!("/api/v4/futures/{settle}/contracts"), CONTRACTS).about(settle)
        })
        .collect()
}

pub(super) fn read_listings(ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let contracts = frame.read::<Part<Contract<'_>>>()?;
    let settled_in_coin = ask.market.as_deref() == Some("btc");
    let rows = frame.each(&Place::ROOT, &contracts, |place, item| {
        let contract = place.object(item)?;
        let native_id = place.name("name", contract.name)?;
        let (base, quote) = native_id.split_once('_').ok_or_else(|| {
            place
                .member("name")
                .fault("has no underscore between base and quote")
        })?;
        let kind = place.text("type", contract.kind)?;
        let (kind, size) = match (&*kind, settled_in_coin) {
            // One USD; the multiplier of these is 0.
            ("inverse", _) => ("inverse", "1".into()),
            ("direct", false) => (
                "linear",
                place.text("quanto_multiplier", contract.multiplier)?,
            ),
            // Worth in USD, settled in another coin: what a contract holds changes with both prices.
            (other, _) => {
                let message = format!("{other:?} is no contract whose size is fixed");
                return Err(place.member("type").fault(message));
            }
        };
        let instrument =
            Instrument::read(base, quote, kind, &size).map_err(|message| place.fault(message))?;
        let in_delisting = contract.in_delisting.is_some_and(|raw| raw.get() == "true");
        let status = text_of(contract.status);
        Ok(Some(Listing {
            instrument,
            perpetual: true,
            trading: !in_delisting && status.is_none_or(|status| status == "trading"),
            native_id: native_id.into_owned(),
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each settlement currency and hour; the newest come first. Times are whole seconds here.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let from = Millis(from.0.div_euclid(SECOND) * SECOND);
    let until = Millis(until.on(SECOND - 1).0.div_euclid(SECOND) * SECOND);
    let settles: Vec<&str> = SETTLES
        .into_iter()
        .filter(|settle| {
            listings
                .iter()
                .any(|listing| settled_in(listing) == *settle)
        })
        .collect();
    stretches(from, until, WINDOW)
        .into_iter()
        .flat_map(|(start, end)| {
            settles.iter().map(move |settle| {
                Ask::new(&format!("/api/v4/futures/{settle}/liq_orders"), ORDERS)
                    .with("from", start.0 / SECOND)
                    .with("to", end.0 / SECOND - 1)
                    .with("limit", ROWS)
                    .between(start, end)
            })
        })
        .collect()
}

fn settled_in(listing: &Listing) -> String {
    let instrument = &listing.instrument;
    match instrument.kind {
        Kind::Inverse => instrument.base.to_lowercase(),
        Kind::Linear => instrument.quote.to_lowercase(),
    }
}

/// A full page is followed by what it leaves out, on whichever side that is.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let rows = frame.read::<Part<Row<'_>>>()?;
    let root = Place::ROOT;
    let rows = root.list(&rows)?;
    let time = |index: usize, item: &Part<Row<'_>>| {
        let place = root.item(index);
        place.instant("time", place.object(item)?.time)
    };
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Ok(Vec::new());
    };
    if rows.len() < ROWS {
        return Ok(Vec::new());
    }
    let (first, last) = (time(0, first)?, time(rows.len() - 1, last)?);
    // The rows of the second at the edge may be split, so that second is asked for again.
    let edge = (last.0 / SECOND).to_string();
    let name = if first > last { "to" } else { "from" };
    if first == last || ask.value(name) == Some(&edge) {
        return Err(root.fault(format!(
            "{ROWS} rows of one second; what else happened in it cannot be asked for"
        )));
    }
    Ok(vec![ask.again_with(name, edge)])
}
