//! Markets and missed liquidations by REST, each kind of contract on paths of its own.

use rust_decimal::Decimal;

use crate::feeds::ask::{Ask, Limit, Page, stretches};
use crate::feeds::frame::{Place, says, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument, Kind, naming};
use crate::model::Millis;

/// Requests in three seconds; some are left to others.
const REQUESTS: Limit = Limit::of("requests", 200, 3);
/// Longest time one request may ask about.
const WINDOW: i64 = 2 * Millis::HOUR;

/// How far back the proofs look.
const HALF_DAY: i64 = 12 * Millis::HOUR;
/// The `trade_type` of liquidated longs; 6 is that of shorts, 0 of both.
const LIQUIDATED_LONGS: i64 = 5;

const ORDERS: &str = "/linear-swap-api/v3/swap_liquidation_orders";
const LINEAR: &str = "/linear-swap-api/v1/swap_contract_info";
const SWAPS: &str = "/swap-api/v1/swap_contract_info";
const FUTURES: &str = "/api/v1/contract_contract_info";

members!(Market<'a> {
    contract = "contract_code",
    pair = "pair",
    size = "contract_size",
    status = "contract_status",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Markets<'a> {
    #[serde(borrow)]
    status: Cell<'a>,
    #[serde(borrow, rename = "err_code")]
    code: Cell<'a>,
    #[serde(borrow, rename = "err_msg")]
    said: Cell<'a>,
    #[serde(borrow)]
    data: Part<Market<'a>>,
}

members!(Row<'a> {
    number = "query_id",
    direction = "direction",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Rows<'a> {
    #[serde(borrow)]
    data: Part<Row<'a>>,
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![
        // Without it only swaps are listed.
        Ask::new(LINEAR, REQUESTS).with("business_type", "all"),
        Ask::new(SWAPS, REQUESTS),
        Ask::new(FUTURES, REQUESTS),
    ]
}

pub(super) fn read_listings(ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let root = Place::ROOT;
    let body: Part<Markets<'_>> = frame.read()?;
    let body = root.object(&body)?;
    if !says(body.status, "ok") {
        let said: Vec<_> = [body.code, body.said]
            .into_iter()
            .filter_map(text_of)
            .collect();
        return Err(frame.refused(root.member("status"), &said.join(" ")));
    }
    let rows = frame.each(&root.member("data"), &body.data, |place, item| {
        let market = place.object(item)?;
        let native_id = place.name("contract_code", market.contract)?;
        let pair = text_of(market.pair).filter(|pair| pair.contains('-'));
        let named = match &pair {
            Some(pair) => naming::dashed(pair),
            None => naming::htx(&native_id),
        };
        let kind = if ask.path == LINEAR {
            "linear"
        } else {
            "inverse"
        };
        let size = place.text("contract_size", market.size)?;
        let instrument = Instrument::read(&named.base, &named.quote, kind, &size);
        Ok(Some(Listing {
            instrument: instrument.map_err(|message| place.fault(message))?,
            // A third part, or the end of a name in one part, is the day of delivery.
            perpetual: native_id.split('-').count() == 2,
            trading: says(market.status, "1"),
            native_id: native_id.into_owned(),
        }))
    })?;
    Ok(Page::last(rows))
}

/// Liquidated longs of the busiest contracts, of the last half day.
pub(super) fn proofs(now: Millis) -> Vec<Ask> {
    stretches(now.back(HALF_DAY), now, WINDOW)
        .into_iter()
        .flat_map(|(start, end)| {
            ["BTC-USDT", "ETH-USDT"].map(|contract| {
                Ask::new(ORDERS, REQUESTS)
                    .with("contract", contract)
                    .with("trade_type", LIQUIDATED_LONGS)
                    .with("start_time", start.0)
                    .with("end_time", end.0 - 1)
                    .with("direct", "prev")
                    .between(start, end)
            })
        })
        .collect()
}

/// The first row in which a liquidated long was not closed by a sell.
pub(super) fn disproof(frame: &Frame<'_>) -> Result<Option<String>, Error> {
    let root = Place::ROOT;
    let body: Part<Rows<'_>> = frame.read()?;
    let place = root.member("data");
    for (index, item) in place.list(&root.object(&body)?.data)?.iter().enumerate() {
        let place = place.item(index);
        let direction = place.text("direction", place.object(item)?.direction)?;
        if direction != "sell" {
            let message = format!("is {direction:?} where longs were liquidated, not \"sell\"");
            return Ok(Some(place.member("direction").fault(message).to_string()));
        }
    }
    Ok(None)
}

/// One request for each contract and two hours; the newest come first. Futures settled in coin are asked for by coin.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let mut contracts: Vec<(&str, &str, &str)> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(
            |listing| match (listing.instrument.kind, listing.perpetual) {
                (Kind::Linear, _) => (ORDERS, "contract", listing.native_id.as_str()),
                (Kind::Inverse, true) => (
                    "/swap-api/v3/swap_liquidation_orders",
                    "contract",
                    listing.native_id.as_str(),
                ),
                (Kind::Inverse, false) => (
                    "/api/v3/contract_liquidation_orders",
                    "symbol",
                    listing.instrument.base.as_str(),
                ),
            },
        )
        .collect();
    contracts.sort_unstable();
    contracts.dedup();
    stretches(from, until, WINDOW)
        .into_iter()
        .flat_map(|(start, end)| {
            contracts.iter().map(move |(path, name, contract)| {
                Ask::new(path, REQUESTS)
                    .with(name, contract)
                    .with("trade_type", 0)
                    .with("start_time", start.0)
                    .with("end_time", end.0 - 1)
                    .with("direct", "prev")
                    .between(start, end)
            })
        })
        .collect()
}

/// How long a page may be is not documented, so pages follow until one is empty; rows are numbered for that.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let root = Place::ROOT;
    let body: Part<Rows<'_>> = frame.read()?;
    let place = root.member("data");
    let mut least: Option<Decimal> = None;
    for (index, item) in place.list(&root.object(&body)?.data)?.iter().enumerate() {
        let place = place.item(index);
        let number = place.number("query_id", place.object(item)?.number)?.value;
        least = Some(least.map_or(number, |least| least.min(number)));
    }
    let next = least
        .map(|least| least.normalize().to_string())
        .filter(|least| ask.value("from_id") != Some(least));
    Ok(next
        .map(|least| ask.again_with("from_id", least))
        .into_iter()
        .collect())
}
