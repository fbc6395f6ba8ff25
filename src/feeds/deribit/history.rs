//! Markets and the tape by REST.

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, says, shown};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument, Kind, paging};
use crate::model::Millis;

/// Twenty are allowed in a second without a login.
const REQUESTS: Limit = Limit::of("requests", 18, 1);
/// Most trades of a reply.
const TRADES: usize = 1000;

members!(Market<'a> {
    name = "instrument_name",
    base = "base_currency",
    quote = "quote_currency",
    kind = "instrument_type",
    size = "contract_size",
    period = "settlement_period",
    active = "is_active",
});

members!(Trade<'a> {
    timestamp = "timestamp",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Tape<'a> {
    #[serde(borrow)]
    trades: Part<Trade<'a>>,
    #[serde(borrow)]
    has_more: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(
    default,
    bound(deserialize = "'de: 'a, Item: serde::Deserialize<'de> + Default")
)]
struct Body<'a, Item> {
    #[serde(borrow)]
    error: Cell<'a>,
    result: Part<Item>,
}

/// What a body holds, unless the venue says that something went wrong.
fn result<'a, Item>(frame: &Frame<'a>) -> Result<Part<Item>, Error>
where
    Item: serde::Deserialize<'a> + Default,
{
    let body: Body<'a, Item> = frame.read()?;
    match body.error {
        Some(error) => Err(frame.refused(Place::ROOT.member("error"), error.text())),
        None => Ok(body.result),
    }
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![
        Ask::new("/api/v2/public/get_instruments", REQUESTS)
            .with("currency", "any")
            .with("kind", "future"),
    ]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let markets: Part<Market<'_>> = result(frame)?;
    let root = Place::ROOT;
    let rows = frame.each(&root.member("result"), &markets, |place, item| {
        let market = place.object(item)?;
        let kind = match &*place.text("instrument_type", market.kind)? {
            "linear" => "linear",
            "reversed" => "inverse",
            other => {
                let message = format!("{} is neither \"linear\" nor \"reversed\"", shown(other));
                return Err(place.member("instrument_type").fault(message));
            }
        };
        let instrument = Instrument::read(
            &place.text("base_currency", market.base)?,
            &place.text("quote_currency", market.quote)?,
            kind,
            &place.text("contract_size", market.size)?,
        );
        Ok(Some(Listing {
            native_id: place.name("instrument_name", market.name)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: says(market.period, "perpetual"),
            trading: place.truth("is_active", market.active)?,
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each currency of settlement, so that contracts that have expired meanwhile are among them.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let mut currencies: Vec<&str> = listings
        .iter()
        .map(|listing| match listing.instrument.kind {
            Kind::Inverse => listing.instrument.base.as_str(),
            Kind::Linear => listing.instrument.quote.as_str(),
        })
        .collect();
    currencies.sort_unstable();
    currencies.dedup();
    currencies
        .into_iter()
        .map(|currency| {
            let ask = Ask::new(
                "/api/v2/public/get_last_trades_by_currency_and_time",
                REQUESTS,
            );
            let ask = ask
                .with("currency", currency)
                .with("kind", "future")
                .with("sorting", "asc")
                .with("count", TRADES);
            page(&ask, from, until)
        })
        .collect()
}

fn page(ask: &Ask, from: Millis, until: Millis) -> Ask {
    ask.again_with("start_timestamp", from.0)
        .again_with("end_timestamp", until.back(1).0)
        .between(from, until)
}

pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let root = Place::ROOT;
    let place = root.member("result");
    let found: Part<Tape<'_>> = result(frame)?;
    let tape = place.object(&found)?;
    let list = place.member("trades");
    let times = frame.each(&list, &tape.trades, |place, item| {
        place
            .instant("timestamp", place.object(item)?.timestamp)
            .map(Some)
    })?;
    let newest = times.iter().max();
    let (Some(newest), true) = (newest, place.truth("has_more", tape.has_more)?) else {
        return Ok(Vec::new());
    };
    let next = paging::later(ask, frame, &list, times.len(), *newest)?;
    Ok(next
        .map(|from| page(ask, from, ask.until))
        .into_iter()
        .collect())
}

#[cfg(test)]
mod tests {
    use crate::feeds::bodies::listed;

    #[test]
    fn futures_are_listed_with_what_they_are_counted_in() {
        let row = |name: &str, quote: &str, kind: &str, size: &str, period: &str, active: bool| {
            format!(
                r#"{{"instrument_name":"{name}","kind":"future","base_currency":"ETH","quote_currency":"{quote}",
                "instrument_type":"{kind}","contract_size":{size},"settlement_period":"{period}","is_active":{active}}}"#
            )
        };
        let rows = [
            row("ETH-PERPETUAL", "USD", "reversed", "1", "perpetual", true),
            row("ETH-26MAR27", "USD", "reversed", "1", "month", true),
            row(
                "ETH_USDC-PERPETUAL",
                "USDC",
                "linear",
                "0.001",
                "perpetual",
                false,
            ),
            row("ETH-X", "USD", "spot", "1", "perpetual", true),
        ];
        let body = format!(r#"{{"jsonrpc":"2.0","result":[{}]}}"#, rows.join(","));
        let (listed, faults) = listed("deribit", &body);
        assert_eq!(
            listed,
            [
                "ETH-PERPETUAL ETH/USD Inverse 1",
                "ETH-26MAR27 ETH/USD Inverse 1 dated",
                "ETH_USDC-PERPETUAL ETH/USDC Linear 0.001 closed",
            ]
        );
        assert_eq!(
            faults,
            ["result[3].instrument_type: \"spot\" is neither \"linear\" nor \"reversed\""]
        );
    }
}
