//! Markets and the tape by REST.

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, says, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument, naming, paging};
use crate::model::Millis;

/// Five hundred are allowed in ten seconds.
const REQUESTS: Limit = Limit::of("requests", 450, 10);
/// Most trades of a reply.
const TRADES: usize = 100;

members!(Market<'a> {
    symbol = "symbol",
    kind = "type",
    base = "base",
    quote = "quote",
    size = "contractSize",
    tradeable = "tradeable",
});

members!(Trade<'a> { time = "time", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    result: Cell<'a>,
    #[serde(borrow)]
    error: Cell<'a>,
    #[serde(borrow)]
    instruments: Part<Market<'a>>,
    #[serde(borrow)]
    history: Part<Trade<'a>>,
}

/// The body, unless the venue says that something went wrong.
fn body<'a>(frame: &Frame<'a>) -> Result<Body<'a>, Error> {
    let body: Body<'a> = frame.read()?;
    if says(body.result, "success") {
        return Ok(body);
    }
    let said = text_of(body.error).unwrap_or_default();
    Err(frame.refused(Place::ROOT.member("result"), &said))
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/derivatives/api/v3/instruments", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body = body(frame)?;
    let root = Place::ROOT;
    let rows = frame.each(
        &root.member("instruments"),
        &body.instruments,
        |place, item| {
            let market = place.object(item)?;
            let kind = match &*place.text("type", market.kind)? {
                "flexible_futures" => "linear",
                "futures_inverse" => "inverse",
                // Indices and options.
                _ => return Ok(None),
            };
            let native_id = place.name("symbol", market.symbol)?;
            // Older lists name the contract only.
            let (base, quote) = if market.base.is_some() && market.quote.is_some() {
                (
                    place.text("base", market.base)?,
                    place.text("quote", market.quote)?,
                )
            } else {
                let named = naming::kraken(&native_id);
                (named.base, named.quote)
            };
            let size = place.text("contractSize", market.size)?;
            let instrument = Instrument::read(&base, &quote, kind, &size);
            let instrument = instrument.map_err(|message| place.fault(message))?;
            Ok(Some(Listing {
                instrument,
                // A day of delivery stands behind a second underscore.
                perpetual: native_id.split('_').count() == 2,
                trading: place.truth("tradeable", market.tradeable)?,
                native_id: native_id.clone().into_owned(),
            }))
        },
    )?;
    Ok(Page::last(rows))
}

/// One request for each market; the newest come first.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let traded = listings.iter().filter(|listing| listing.trading);
    traded
        .map(|listing| {
            let ask = Ask::new("/derivatives/api/v3/history", REQUESTS)
                .with("symbol", &listing.native_id)
                .about(&listing.native_id);
            page(&ask, from, until)
        })
        .collect()
}

/// The trades before `until`.
fn page(ask: &Ask, from: Millis, until: Millis) -> Ask {
    ask.again_with("lastTime", until).between(from, until)
}

pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let body = body(frame)?;
    let root = Place::ROOT;
    let place = root.member("history");
    let times = frame.each(&place, &body.history, |place, item| {
        place.instant("time", place.object(item)?.time).map(Some)
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
    fn futures_are_listed_with_or_without_their_pair() {
        let body = r#"{"result":"success","instruments":[
            {"symbol":"PF_XBTUSD","type":"flexible_futures","base":"BTC","quote":"USD","contractSize":1,"tradeable":true},
            {"symbol":"PF_XDGUSD","type":"flexible_futures","contractSize":1,"tradeable":false},
            {"symbol":"FI_XBTUSD_270326","type":"futures_inverse","base":"BTC","quote":"USD","contractSize":1,"tradeable":true},
            {"symbol":"in_xbtusd","type":"spot index","tradeable":false},
            {"symbol":"PF_ETHUSD","type":"flexible_futures","contractSize":0,"tradeable":true}]}"#;
        let (listed, faults) = listed("kraken", body);
        assert_eq!(
            listed,
            [
                "PF_XBTUSD BTC/USD Linear 1",
                "PF_XDGUSD DOGE/USD Linear 1 closed",
                "FI_XBTUSD_270326 BTC/USD Inverse 1 dated",
            ]
        );
        let [fault] = faults.as_slice() else {
            unreachable!("{faults:?}");
        };
        assert!(
            fault.starts_with("instruments[4]: contract_size \"0\""),
            "{fault}"
        );
    }
}
