//! Markets, and liquidations market by market: this is the feed itself.

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument};
use crate::model::Millis;

/// Requests in a second; a quarter of what is allowed, for every market has to be asked about.
const REQUESTS: Limit = Limit::of("requests", 100, 1);
/// Most rows of a reply.
const ROWS: usize = 100;

members!(Market<'a> {
    native_id = "market",
    kind = "contract_type",
    base = "base_ccy",
    quote = "quote_ccy",
    available = "is_market_available",
});

members!(Pagination<'a> {
    has_next = "has_next",
});

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

/// A body, unless the venue says that something went wrong.
fn body<'a>(frame: &Frame<'a>) -> Result<Body<'a>, Error> {
    let Part::Object(body) = frame.read::<Part<Body<'_>>>()? else {
        return Err(frame.unknown());
    };
    match text_of(body.code).as_deref() {
        Some("0") => Ok(body),
        Some(code) => {
            let said = text_of(body.message).unwrap_or_default();
            Err(frame.refused(Place::ROOT.member("code"), &format!("{code} {said}")))
        }
        None => Err(frame.unknown()),
    }
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/v2/futures/market", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body = body(frame)?;
    let root = Place::ROOT;
    let rows = frame.each(&root.member("data"), &body.data, |place, item| {
        let market = place.object(item)?;
        // A linear contract is one unit of the base, an inverse one is worth one USD.
        let instrument = Instrument::read(
            &place.text("base_ccy", market.base)?,
            &place.text("quote_ccy", market.quote)?,
            &place.text("contract_type", market.kind)?,
            "1",
        );
        Ok(Some(Listing {
            native_id: place.name("market", market.native_id)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: true,
            trading: market.available.is_none_or(|raw| raw.text() == "true"),
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each market.
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
                .with("limit", ROWS)
                .between(from, until)
        })
        .collect()
}

/// The next page, where the venue says that there is one.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let body = body(frame)?;
    let root = Place::ROOT;
    let place = root.member("pagination");
    let pagination = place.object(&body.pagination)?;
    if !place.truth("has_next", pagination.has_next)? {
        return Ok(Vec::new());
    }
    let page: u64 = ask
        .value("page")
        .and_then(|page| page.parse().ok())
        .unwrap_or(1);
    Ok(vec![ask.again_with("page", page.saturating_add(1))])
}
