//! Markets by REST.

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, says, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame, Instrument};

/// Sixty are allowed in a minute.
const REQUESTS: Limit = Limit::of("requests", 54, 60);

members!(Market<'a> {
    id = "market_id",
    symbol = "symbol",
    kind = "market_type",
    status = "status",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow, rename = "message")]
    said: Cell<'a>,
    #[serde(borrow)]
    order_books: Part<Market<'a>>,
}

pub(super) fn requests() -> Vec<Ask> {
    vec![Ask::new("/api/v1/orderBooks", REQUESTS)]
}

pub(super) fn read(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let body: Body<'_> = frame.read()?;
    let root = Place::ROOT;
    if !says(body.code, "200") {
        let words: Vec<_> = [body.code, body.said]
            .into_iter()
            .filter_map(text_of)
            .collect();
        return Err(frame.refused(root.member("code"), &words.join(" ")));
    }
    let rows = frame.each(
        &root.member("order_books"),
        &body.order_books,
        |place, item| {
            let market = place.object(item)?;
            // Older replies list perpetuals only and do not say so.
            if market.kind.is_some() && !says(market.kind, "perp") {
                return Ok(None);
            }
            // Every perpetual is settled in dollars, and sizes are units of the base.
            let instrument =
                Instrument::read(&place.text("symbol", market.symbol)?, "USD", "linear", "1");
            Ok(Some(Listing {
                native_id: place.name("market_id", market.id)?.into_owned(),
                instrument: instrument.map_err(|message| place.fault(message))?,
                perpetual: true,
                trading: says(market.status, "active"),
            }))
        },
    )?;
    Ok(Page::last(rows))
}

#[cfg(test)]
mod tests {
    use crate::feeds::bodies::listed;

    #[test]
    fn perpetuals_are_listed_under_their_numbers() {
        let body = r#"{"code":200,"order_books":[
            {"symbol":"ETH","market_id":0,"market_type":"perp","status":"active"},
            {"symbol":"1000PEPE","market_id":4,"status":"inactive"},
            {"symbol":"ETH/USDC","market_id":2048,"market_type":"spot","status":"active"}]}"#;
        let (listed, faults) = listed("lighter", body);
        assert_eq!(
            listed,
            ["0 ETH/USD Linear 1", "4 1000PEPE/USD Linear 1 closed"]
        );
        assert!(faults.is_empty(), "{faults:?}");
    }
}
