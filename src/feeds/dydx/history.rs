//! Markets and the tape by REST.

use std::collections::BTreeMap;

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, says};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame, Instrument, paging};
use crate::model::Millis;

/// A hundred are allowed in ten seconds.
const REQUESTS: Limit = Limit::of("requests", 90, 10);
/// Most trades of a reply.
const TRADES: usize = 1000;

members!(Market<'a> {
    ticker = "ticker",
    status = "status",
});

members!(Trade<'a> {
    created_at = "createdAt",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Markets<'a> {
    #[serde(borrow)]
    markets: Option<BTreeMap<String, Part<Market<'a>>>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Tape<'a> {
    #[serde(borrow)]
    trades: Part<Trade<'a>>,
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/v4/perpetualMarkets", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body: Markets<'_> = frame.read()?;
    let markets = body.markets.ok_or_else(|| frame.unknown())?;
    let list = Part::List(markets.into_values().collect());
    let root = Place::ROOT;
    let rows = frame.each(&root.member("markets"), &list, |place, item| {
        let market = place.object(item)?;
        let ticker = place.name("ticker", market.ticker)?;
        let (name, quote) = ticker.rsplit_once('-').ok_or_else(|| {
            place
                .member("ticker")
                .fault("has no dash between base and quote")
        })?;
        // Behind the base of some markets stand the exchange and the address of its price, with commas between.
        let base = name.split_once(',').map_or(name, |(base, _)| base);
        let instrument = Instrument::read(base, quote, "linear", "1");
        Ok(Some(Listing {
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: true,
            trading: says(market.status, "ACTIVE"),
            native_id: ticker.clone().into_owned(),
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each market; the newest come first.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let traded = listings.iter().filter(|listing| listing.trading);
    traded
        .map(|listing| {
            let path = format!("/v4/trades/perpetualMarket/{}", listing.native_id);
            let ask = Ask::new(&path, REQUESTS)
                .with("limit", TRADES)
                .about(&listing.native_id);
            page(&ask, from, until)
        })
        .collect()
}

/// The trades before `until`.
fn page(ask: &Ask, from: Millis, until: Millis) -> Ask {
    ask.again_with("createdBeforeOrAt", until.back(1))
        .between(from, until)
}

pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let body: Tape<'_> = frame.read()?;
    let root = Place::ROOT;
    let place = root.member("trades");
    let times = frame.each(&place, &body.trades, |place, item| {
        place
            .instant("createdAt", place.object(item)?.created_at)
            .map(Some)
    })?;
    let Some(oldest) = times.iter().min() else {
        return Ok(Vec::new());
    };
    let next = paging::earlier(ask, frame, &place, (times.len(), TRADES), *oldest)?;
    Ok(next
        .map(|until| page(ask, ask.from, until))
        .into_iter()
        .collect())
}

#[cfg(test)]
mod tests {
    use crate::feeds::bodies::listed;

    #[test]
    fn markets_are_listed_by_ticker_even_where_it_carries_an_address() {
        let body = r#"{"markets":{
            "BTC-USD":{"ticker":"BTC-USD","status":"ACTIVE"},
            "OLD-USD":{"ticker":"OLD-USD","status":"FINAL_SETTLEMENT"},
            "PUP,RAYDIUM,9B5X-USD":{"ticker":"PUP,RAYDIUM,9B5X-USD","status":"ACTIVE"},
            "X":{"ticker":"X","status":"ACTIVE"}}}"#;
        let (listed, faults) = listed("dydx", body);
        assert_eq!(
            listed,
            [
                "BTC-USD BTC/USD Linear 1",
                "OLD-USD OLD/USD Linear 1 closed",
                "PUP,RAYDIUM,9B5X-USD PUP/USD Linear 1",
            ]
        );
        assert_eq!(
            faults,
            ["markets[3].ticker: has no dash between base and quote"]
        );
    }
}
