//! Markets and missed liquidations by REST.

use super::listen::KINDS;
use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, says, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in a second, by path; some are left to others.
const INSTRUMENTS: Limit = Limit::of("instruments", 15, 1);
const LIQUIDATIONS: Limit = Limit::of("liquidations", 4, 1);

/// Most rows of a reply.
const ROWS: usize = 100;

members!(Market<'a> {
    symbol = "symbol",
    base = "baseCoin",
    quote = "quoteCoin",
    lot = "quantityMultiplier",
    // The name before version 3.
    old_lot = "sizeMultiplier",
    kind = "type",
    status = "status",
});

members!(Row<'a> {
    ts = "ts",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Rows<'a> {
    #[serde(borrow)]
    list: Part<Row<'a>>,
    #[serde(borrow)]
    cursor: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, Data: serde::Deserialize<'de> + Default")
)]
struct Body<'a, Data> {
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
    data: Data,
}

/// What a body holds, unless the venue says that something went wrong.
fn data<'a, Data>(frame: &Frame<'a>) -> Result<Data, Error>
where
    Data: serde::Deserialize<'a> + Default,
{
    let body: Body<'a, Data> = frame.read()?;
    match text_of(body.code).as_deref() {
        Some("00000") => Ok(body.data),
        Some(code) => {
            let said = text_of(body.msg).unwrap_or_default();
            Err(frame.refused(Place::ROOT.member("code"), &format!("{code} {said}")))
        }
        None => Err(frame.unknown()),
    }
}

pub(super) fn listing_requests() -> Vec<Ask> {
    KINDS
        .into_iter()
        .map(|kind| {
            Ask::new("/api/v3/market/instruments", INSTRUMENTS)
                .with("category", kind.to_uppercase())
        })
        .collect()
}

/// The lot stands for the contract's size: sizes are units of the base, whatever a contract is settled in.
pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let markets: Part<Market<'_>> = data(frame)?;
    let root = Place::ROOT;
    let rows = frame.each(&root.member("data"), &markets, |place, item| {
        let market = place.object(item)?;
        let instrument = Instrument::read(
            &place.text("baseCoin", market.base)?,
            &place.text("quoteCoin", market.quote)?,
            "linear",
            &place.text("quantityMultiplier", market.lot.or(market.old_lot))?,
        );
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: says(market.kind, "perpetual"),
            trading: says(market.status, "online"),
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each kind of contract: a reply ends with the cursor of the next, and cannot be asked to begin later.
pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    KINDS
        .into_iter()
        .map(|kind| {
            Ask::new("/api/v3/market/liquidations", LIQUIDATIONS)
                .with("category", kind.to_uppercase())
                .with("limit", ROWS)
                .between(from, until)
        })
        .collect()
}

/// Pages follow until one ends before the time asked about.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let page: Part<Rows<'_>> = data(frame)?;
    let root = Place::ROOT;
    let place = root.member("data");
    let page = place.object(&page)?;
    let place = place.member("list");
    let rows = place.list(&page.list)?;
    let time = |index: usize| {
        let place = place.item(index);
        let row = rows.get(index).map(|row| place.object(row)).transpose()?;
        place.instant("ts", row.and_then(|row| row.ts))
    };
    let Some(last) = rows.len().checked_sub(1) else {
        return Ok(Vec::new());
    };
    let (first, last) = (time(0)?, time(last)?);
    let reaches_back = last < ask.from && last <= first;
    let cursor = text_of(page.cursor)
        .filter(|cursor| !cursor.is_empty() && ask.value("cursor") != Some(cursor));
    Ok(cursor
        .filter(|_| !reaches_back)
        .map(|cursor| ask.again_with("cursor", cursor))
        .into_iter()
        .collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::feeds::{Instruments, venue};

    fn next(ask: &Ask, body: &str) -> Result<Vec<Ask>, Error> {
        let frame = Frame {
            venue: venue("bitget").unwrap(),
            text: body,
            received_at: None,
            instruments: &Instruments::default(),
            faults: None,
        };
        go_on(ask, &frame)
    }

    #[test]
    fn pages_follow_until_one_reaches_back_far_enough() {
        let asks = missed(Millis(1_790_000_000_000), Millis(1_790_000_600_000));
        let ask = asks.first().unwrap();
        let page = |times: [i64; 2], cursor: &str| {
            let [first, last] = times;
            format!(
                r#"{{"code":"00000","data":{{"list":[{{"ts":"{first}"}},{{"ts":"{last}"}}],"cursor":{cursor}}}}}"#
            )
        };
        let (inside, before) = (1_790_000_000_000, 1_789_999_999_999);
        let cursor_of = |times, cursor: &str| {
            let following = next(ask, &page(times, cursor)).unwrap();
            following
                .first()
                .map(|ask| ask.value("cursor").unwrap().to_owned())
        };
        assert_eq!(cursor_of([inside, inside], r#""7""#).as_deref(), Some("7"));
        assert_eq!(cursor_of([inside, before], r#""7""#), None);
        // Where the oldest rows came first there would be more to come.
        assert_eq!(cursor_of([before, inside], r#""7""#).as_deref(), Some("7"));
        assert_eq!(cursor_of([inside, inside], "null"), None);
        assert!(next(ask, r#"{"code":"40017","msg":"Parameter error"}"#).is_err());
    }
}
