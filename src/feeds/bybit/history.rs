//! Markets, bars and open interest by REST.

use rust_decimal::Decimal;

use crate::feeds::ask::{Ask, Bar, Limit, Page, Reading, stretches};
use crate::feeds::bars::{Columns, Row, bars};
use crate::feeds::event::product;
use crate::feeds::frame::{Number, Place, says, shown, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in five seconds; a tenth of what is allowed is left to others, for the fine is ten minutes of silence.
const REQUESTS: Limit = Limit::of("requests", 500, 5);
/// Most bars of a reply.
const BARS: i64 = 1000;
/// Most readings of open interest of a reply.
const READINGS: i64 = 200;
const FIVE_MINUTES: i64 = 5 * Millis::MINUTE;

members!(Market<'a> {
    symbol = "symbol",
    contract_type = "contractType",
    status = "status",
    base = "baseCoin",
    quote = "quoteCoin",
});

members!(Interest<'a> {
    both = "openInterest",
    single = "singleOpenInterest",
    timestamp = "timestamp",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, List: serde::Deserialize<'de> + Default")
)]
struct Found<'a, List> {
    list: List,
    #[serde(borrow, rename = "nextPageCursor")]
    cursor: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, List: serde::Deserialize<'de> + Default")
)]
struct Body<'a, List> {
    #[serde(borrow, rename = "retCode")]
    code: Cell<'a>,
    #[serde(borrow, rename = "retMsg")]
    said: Cell<'a>,
    result: Option<Found<'a, List>>,
}

/// What a body holds, unless the venue says that something went wrong.
fn found<'a, List>(frame: &Frame<'a>) -> Result<Found<'a, List>, Error>
where
    List: serde::Deserialize<'a> + Default,
{
    let body: Body<'a, List> = frame.read()?;
    let place = Place::ROOT;
    match text_of(body.code).as_deref() {
        Some("0") => body
            .result
            .ok_or_else(|| place.member("result").fault("is missing")),
        Some(code) => {
            let said = text_of(body.said).unwrap_or_default();
            Err(frame.refused(place.member("retCode"), &format!("{code} {said}")))
        }
        None => Err(frame.unknown()),
    }
}

pub(super) fn listing_requests() -> Vec<Ask> {
    ["linear", "inverse"]
        .into_iter()
        .map(|category| {
            Ask::new("/v5/market/instruments-info", REQUESTS)
                .with("category", category)
                .with("limit", 1000)
        })
        .collect()
}

pub(super) fn read_listings(ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let found = found::<Part<Market<'_>>>(frame)?;
    let kind = ask.value("category").unwrap_or("linear");
    let root = Place::ROOT;
    let place = root.member("result");
    // A contract is one unit of the base, or one USD.
    let rows = frame.each(&place.member("list"), &found.list, |place, item| {
        let market = place.object(item)?;
        let instrument = Instrument::read(
            &place.text("baseCoin", market.base)?,
            &place.text("quoteCoin", market.quote)?,
            kind,
            "1",
        );
        let contract_type = place.text("contractType", market.contract_type)?;
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: contract_type.ends_with("Perpetual"),
            trading: says(market.status, "Trading"),
        }))
    })?;
    let rest = text_of(found.cursor)
        .filter(|cursor| !cursor.is_empty())
        .map(|cursor| ask.again_with("cursor", cursor));
    Ok(Page {
        rows,
        rest: rest.into_iter().collect(),
    })
}

pub(super) fn bar_requests(listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
    stretches(from, until, BARS * Millis::MINUTE)
        .into_iter()
        .map(|(start, end)| {
            Ask::new("/v5/market/kline", REQUESTS)
                .with("category", "linear")
                .with("symbol", &listing.native_id)
                .with("interval", 1)
                .with("start", start.0)
                .with("end", end.0 - 1)
                .with("limit", BARS)
                .about(&listing.native_id)
                .between(start, end)
        })
        .collect()
}

pub(super) fn read_bars(frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
    let found = found::<Vec<Row<'_>>>(frame)?;
    let root = Place::ROOT;
    let place = root.member("result");
    let columns = Columns {
        volume: 5,
        closed: None,
    };
    bars(frame, &place.member("list"), &found.list, columns)
}

pub(super) fn open_interest_requests(listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
    stretches(from, until, READINGS * FIVE_MINUTES)
        .into_iter()
        .map(|(start, end)| {
            Ask::new("/v5/market/open-interest", REQUESTS)
                .with("category", "linear")
                .with("symbol", &listing.native_id)
                .with("intervalTime", "5min")
                .with("startTime", start.0)
                .with("endTime", end.0 - 1)
                .with("limit", READINGS)
                .about(&listing.native_id)
                .between(start, end)
        })
        .collect()
}

/// One side's open interest. The plain figure is documented as the sum of both, so it counts half, but only where a row
/// of the body that has both figures shows that it is twice the single one.
pub(super) fn read_open_interest(frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
    let found = found::<Part<Interest<'_>>>(frame)?;
    let root = Place::ROOT;
    let place = root.member("result");
    let list = place.member("list");
    let rows = frame.each(&list, &found.list, |place, item| {
        let row = place.object(item)?;
        let read = |name, cell: Cell<'_>| match cell {
            Some(_) => place
                .amount(name, cell)
                .map(|number: Number<'_>| Some(number.value)),
            None => Ok(None),
        };
        Ok(Some((
            place.instant("timestamp", row.timestamp)?,
            read("openInterest", row.both)?,
            read("singleOpenInterest", row.single)?,
        )))
    })?;
    let twice = rows.iter().any(|(_, both, single)| {
        matches!((both, single), (Some(both), Some(single)) if is_twice(*both, *single))
    });
    let mut readings = Vec::with_capacity(rows.len());
    for (timestamp, both, single) in rows {
        let half = both
            .filter(|_| twice)
            .and_then(|both| product(both, Decimal::new(5, 1)));
        if let Some(open_interest) = single.or(half) {
            readings.push(Reading {
                timestamp,
                open_interest: open_interest.normalize(),
            });
            continue;
        }
        // Neither figure is known to be one side's: nothing is guessed.
        let fault = list.fault(format!(
            "the row of {timestamp} has {} and no singleOpenInterest, and no row shows their ratio",
            shown(&both.map(|both| both.to_string()).unwrap_or_default())
        ));
        match frame.faults {
            Some(faults) => faults.borrow_mut().push(fault),
            None => return Err(fault),
        }
    }
    readings.sort_by_key(|reading| reading.timestamp);
    Ok(readings)
}

/// Whether `both` is twice `single`, where either may have been rounded to a whole number.
fn is_twice(both: Decimal, single: Decimal) -> bool {
    product(single, Decimal::TWO)
        .and_then(|twice| both.checked_sub(twice))
        .is_some_and(|apart| !single.is_zero() && apart.abs() <= Decimal::ONE)
}
