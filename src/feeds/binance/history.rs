//! Markets, bars and open interest by REST.

use crate::feeds::ask::{Ask, Bar, Limit, Page, Reading, stretches};
use crate::feeds::bars::{Columns, Row, bars};
use crate::feeds::frame::{Place, says};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Weight of both REST hosts together in a minute; some is left to other programs behind the same address.
const WEIGHT: Limit = Limit::of("weight", 2000, 60);
/// Requests for statistics, which weigh nothing, in five minutes.
const STATISTICS: Limit = Limit::of("statistics", 900, 300);

/// Most bars of a reply, and what so many weigh.
const BARS: i64 = 1500;
const BARS_WEIGHT: u32 = 10;
/// Up to so many bars weigh little.
const FEW_BARS: i64 = 99;
/// Most readings of open interest of a reply.
const READINGS: i64 = 500;
const FIVE_MINUTES: i64 = 5 * Millis::MINUTE;

members!(Market<'a> {
    symbol = "symbol",
    contract_type = "contractType",
    status = "status",
    contract_status = "contractStatus",
    base = "baseAsset",
    quote = "quoteAsset",
    contract_size = "contractSize",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct ExchangeInfo<'a> {
    #[serde(borrow)]
    symbols: Part<Market<'a>>,
}

members!(Statistic<'a> {
    open_interest = "sumOpenInterest",
    timestamp = "timestamp",
});

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![
        Ask::new("/fapi/v1/exchangeInfo", WEIGHT),
        Ask::new("/dapi/v1/exchangeInfo", WEIGHT).host("rest_coin"),
    ]
}

pub(super) fn read_listings(ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let root = Place::ROOT;
    let info = frame.read::<Part<ExchangeInfo<'_>>>()?;
    let info = root.object(&info)?;
    let kind = if ask.host == "rest_coin" {
        "inverse"
    } else {
        "linear"
    };
    let rows = frame.each(&root.member("symbols"), &info.symbols, |place, item| {
        let market = place.object(item)?;
        // Only coin-margined contracts hold something else than one unit of the base.
        let size = match (kind, market.contract_size) {
            ("inverse", size) => place.text("contractSize", size)?,
            _ => "1".into(),
        };
        let instrument = Instrument::read(
            &place.text("baseAsset", market.base)?,
            &place.text("quoteAsset", market.quote)?,
            kind,
            &size,
        );
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: says(market.contract_type, "PERPETUAL"),
            trading: says(market.status.or(market.contract_status), "TRADING"),
        }))
    })?;
    Ok(Page::last(rows))
}

pub(super) fn bar_requests(listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
    stretches(from, until, BARS * Millis::MINUTE)
        .into_iter()
        .map(|(start, end)| {
            let bars = ((end.0 - start.0) / Millis::MINUTE).clamp(1, BARS);
            let weight = if bars <= FEW_BARS { 1 } else { BARS_WEIGHT };
            Ask::new("/fapi/v1/klines", WEIGHT)
                .with("symbol", &listing.native_id)
                .with("interval", "1m")
                .with("startTime", start.0)
                .with("endTime", end.0 - 1)
                .with("limit", bars)
                .weighing(weight)
                .about(&listing.native_id)
                .between(start, end)
        })
        .collect()
}

pub(super) fn read_bars(frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
    let columns = Columns {
        volume: 5,
        closed: None,
    };
    bars(frame, &Place::ROOT, &frame.read::<Vec<Row<'_>>>()?, columns)
}

pub(super) fn open_interest_requests(listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
    stretches(from, until, READINGS * FIVE_MINUTES)
        .into_iter()
        .map(|(start, end)| {
            Ask::new("/futures/data/openInterestHist", STATISTICS)
                .with("symbol", &listing.native_id)
                .with("period", "5m")
                .with("startTime", start.0)
                .with("endTime", end.0 - 1)
                .with("limit", READINGS)
                .about(&listing.native_id)
                .between(start, end)
        })
        .collect()
}

pub(super) fn read_open_interest(frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
    let rows = frame.read::<Part<Statistic<'_>>>()?;
    frame.each(&Place::ROOT, &rows, |place, item| {
        let row = place.object(item)?;
        Ok(Some(Reading {
            timestamp: place.instant("timestamp", row.timestamp)?,
            open_interest: place.amount("sumOpenInterest", row.open_interest)?.value,
        }))
    })
}
