//! Nothing to listen to: markets and their liquidations by REST, asked again and again.

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in a second; much is left to others.
const REQUESTS: Limit = Limit::of("requests", 100, 1);
/// Most rows of a reply.
const PAGE: usize = 100;

cells!(Market {
    market = "market",
    kind = "contract_type",
    base = "base_ccy",
    quote = "quote_ccy",
    status = "status",
});

cells!(Pagination { has_next = "has_next", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    message: Cell<'a>,
    #[serde(borrow)]
    data: Part<Market<'a>>,
    #[serde(borrow)]
    pagination: Part<Pagination<'a>>,
}

fn body<'a>(frame: &Frame<'a>) -> Result<Body<'a>, Error> {
    let body: Body<'a> = frame.read()?;
    if says(body.code, "0") {
        return Ok(body);
    }
    let said = text_of(body.message).unwrap_or_default();
    Err(frame.refused(Place::ROOT.member("code"), &said))
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/v2/futures/market", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body = body(frame)?;
    let rows = frame.each(&Place::ROOT.member("data"), &body.data, |place, item| {
        let market = place.object(item)?;
        let instrument = Instrument::read(
            &place.text("base_ccy", market.base)?,
            &place.text("quote_ccy", market.quote)?,
            &place.text("contract_type", market.kind)?,
            "1",
        );
        Ok(Some(Listing {
            native_id: place.name("market", market.market)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: true,
            trading: market.status.is_none() || says(market.status, "online"),
        }))
    })?;
    Ok(Page::last(rows))
}

pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| {
            Ask::new("/v2/futures/liquidation-history", REQUESTS)
                .with("market", &listing.native_id)
                .with("start_time", from.0)
                .with("end_time", until.0 - 1)
                .with("page", 1)
                .with("limit", PAGE)
                .between(from, until)
        })
        .collect()
}

pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let body = body(frame)?;
    let has_next = matches!(
        &body.pagination,
        Part::Object(pages)
            if pages.has_next.map(serde_json::value::RawValue::get) == Some("true")
    );
    let page: u32 = ask
        .value("page")
        .and_then(|page| page.parse().ok())
        .unwrap_or(1);
    Ok(if has_next {
        vec![ask.again_with("page", page.saturating_add(1))]
    } else {
        Vec::new()
    })
}
