//! Markets, missed liquidations, bars and open interest by REST.

use crate::feeds::ask::{Ask, Bar, Limit, Page, Reading, stretches};
use crate::feeds::bars::{Columns, Row, bars};
use crate::feeds::event::product;
use crate::feeds::frame::{Place, says, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in two seconds, by kind.
const PUBLIC: Limit = Limit::of("public", 18, 2);
const MISSED: Limit = Limit::of("liquidation orders", 18, 2);
const HISTORY: Limit = Limit::of("history candles", 18, 2);
const STATISTICS: Limit = Limit::of("statistics", 9, 2);

/// Most bars of a reply, liquidations of a reply, readings of a reply.
const BARS: i64 = 300;
const ORDERS: usize = 100;
const READINGS: i64 = 100;
const FIVE_MINUTES: i64 = 5 * Millis::MINUTE;

members!(Market<'a> {
    id = "instId",
    family = "instFamily",
    kind = "instType",
    contract = "ctType",
    value = "ctVal",
    multiplier = "ctMult",
    state = "state",
});

members!(Detail<'a> {
    ts = "ts",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Contract<'a> {
    #[serde(borrow)]
    details: Part<Detail<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, List: serde::Deserialize<'de> + Default")
)]
struct Body<'a, List> {
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
    data: List,
}

/// What a body holds, unless the venue says that something went wrong.
fn data<'a, List>(frame: &Frame<'a>) -> Result<List, Error>
where
    List: serde::Deserialize<'a> + Default,
{
    let body: Body<'a, List> = frame.read()?;
    match text_of(body.code).as_deref() {
        Some("0") => Ok(body.data),
        Some(code) => {
            let said = text_of(body.msg).unwrap_or_default();
            Err(frame.refused(Place::ROOT.member("code"), &format!("{code} {said}")))
        }
        None => Err(frame.unknown()),
    }
}

pub(super) fn listing_requests() -> Vec<Ask> {
    ["SWAP", "FUTURES"]
        .into_iter()
        .map(|kind| Ask::new("/api/v5/public/instruments", PUBLIC).with("instType", kind))
        .collect()
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let markets: Part<Market<'_>> = data(frame)?;
    let root = Place::ROOT;
    let rows = frame.each(&root.member("data"), &markets, |place, item| {
        let market = place.object(item)?;
        let family = place.name("instFamily", market.family)?;
        let (base, quote) = family.split_once('-').ok_or_else(|| {
            place
                .member("instFamily")
                .fault("has no dash between base and quote")
        })?;
        // `BTC-USD_UM` is a family of `BTC-USD`.
        let quote = quote.split_once('_').map_or(quote, |(quote, _)| quote);
        let value = place.positive("ctVal", market.value)?.value;
        let multiplier = place.positive("ctMult", market.multiplier)?.value;
        let size = product(value, multiplier).ok_or_else(|| {
            place
                .member("ctMult")
                .fault("does not fit a decimal exactly")
        })?;
        let kind = place.text("ctType", market.contract)?;
        let instrument = Instrument::read(base, quote, &kind, &size.to_string());
        Ok(Some(Listing {
            native_id: place.name("instId", market.id)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: says(market.kind, "SWAP"),
            trading: says(market.state, "live"),
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each underlying and kind of contract; the newest come first.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let mut families: Vec<(String, &'static str)> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| {
            let instrument = &listing.instrument;
            let family = format!("{}-{}", instrument.base, instrument.quote);
            (family, if listing.perpetual { "SWAP" } else { "FUTURES" })
        })
        .collect();
    families.sort_unstable();
    families.dedup();
    families
        .into_iter()
        .map(|(family, kind)| {
            Ask::new("/api/v5/public/liquidation-orders", MISSED)
                .with("instType", kind)
                .with("state", "filled")
                .with("uly", family)
                .with("limit", ORDERS)
                .with("after", until.0)
                .between(from, until)
        })
        .collect()
}

/// A full page that does not reach back far enough is followed by the one before it.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let contracts: Part<Contract<'_>> = data(frame)?;
    let root = Place::ROOT;
    let place = root.member("data");
    let (mut rows, mut oldest) = (0, ask.until);
    for (index, item) in place.list(&contracts)?.iter().enumerate() {
        let place = place.item(index);
        let details = &place.object(item)?.details;
        let place = place.member("details");
        for (index, item) in place.list(details)?.iter().enumerate() {
            let place = place.item(index);
            oldest = oldest.min(place.instant("ts", place.object(item)?.ts)?);
            rows += 1;
        }
    }
    // Rows of the oldest instant may be split between two pages, so that instant is asked for again.
    let after = oldest.on(1);
    let moved = ask.value("after") != Some(&after.0.to_string());
    Ok(if rows >= ORDERS && oldest >= ask.from && moved {
        vec![ask.again_with("after", after.0)]
    } else {
        Vec::new()
    })
}

pub(super) fn bar_requests(listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
    stretches(from, until, BARS * Millis::MINUTE)
        .into_iter()
        .map(|(start, end)| {
            Ask::new("/api/v5/market/history-candles", HISTORY)
                .with("instId", &listing.native_id)
                .with("bar", "1m")
                // Both ends are left out of the reply.
                .with("before", start.0 - 1)
                .with("after", end.0)
                .with("limit", BARS)
                .about(&listing.native_id)
                .between(start, end)
        })
        .collect()
}

pub(super) fn read_bars(frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
    let columns = Columns {
        volume: 6,
        closed: Some(8),
    };
    let rows: Vec<Row<'_>> = data(frame)?;
    bars(frame, &Place::ROOT.member("data"), &rows, columns)
}

pub(super) fn open_interest_requests(listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
    stretches(from, until, READINGS * FIVE_MINUTES)
        .into_iter()
        .map(|(start, end)| {
            Ask::new(
                "/api/v5/rubik/stat/contracts/open-interest-history",
                STATISTICS,
            )
            .with("instId", &listing.native_id)
            .with("period", "5m")
            .with("begin", start.0)
            .with("end", end.0 - 1)
            .with("limit", READINGS)
            .about(&listing.native_id)
            .between(start, end)
        })
        .collect()
}

/// Rows of time, contracts, units of the base and USD.
pub(super) fn read_open_interest(frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
    const BASE: usize = 2;
    let rows: Vec<Row<'_>> = data(frame)?;
    let root = Place::ROOT;
    let place = root.member("data");
    let mut readings = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let place = place.item(index);
        let reading = || -> Result<Reading, Error> {
            let number = place.item(BASE).amount("", row.get(BASE).copied())?;
            Ok(Reading {
                timestamp: place.item(0).instant("", row.first().copied())?,
                open_interest: number.value.normalize(),
            })
        };
        match (reading(), frame.faults) {
            (Ok(reading), _) => readings.push(reading),
            (Err(fault), Some(faults)) => faults.borrow_mut().push(fault),
            (Err(fault), None) => return Err(fault),
        }
    }
    readings.sort_by_key(|reading| reading.timestamp);
    Ok(readings)
}
