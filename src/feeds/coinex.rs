//! `CoinEx`: the REST body of `/v2/futures/liquidation-history`; there is no channel.
//!
//! `side` is the side of the position. The price is the liquidation price (the bankruptcy price stands beside it), amounts
//! are base units on linear markets; the unit on inverse ones, quoted in USD, has to be told by an instrument.

mod listen;

use super::frame::{Cell, Part, Place, Sighting, cells, text_of};
use super::{Ask, Completeness, Error, Event, Frame, Listing, Page, PriceKind, Venue, naming};
use crate::model::Millis;

/// The venue `coinex`.
#[derive(Debug)]
pub(super) struct Coinex;

cells!(Row {
    market = "market",
    side = "side",
    price = "liq_price",
    amount = "liq_amount",
    created_at = "created_at",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    data: Part<Row<'a>>,
    #[serde(borrow)]
    message: Cell<'a>,
    #[serde(borrow)]
    method: Cell<'a>,
    #[serde(borrow)]
    id: Cell<'a>,
}

impl Venue for Coinex {
    fn name(&self) -> &'static str {
        "coinex"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Unknown
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Liquidation]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        let Part::Object(message) = frame.read::<Part<Body<'_>>>()? else {
            return Err(frame.unknown());
        };
        if message.method.or(message.id).is_some() {
            return Ok(Vec::new());
        }
        let root = Place::ROOT;
        match text_of(message.code).as_deref() {
            Some("0") => frame.rows(&root.member("data"), &message.data, row),
            Some(code) => {
                let said = text_of(message.message).unwrap_or_default();
                Err(frame.refused(root.member("code"), &format!("{code} {said}")))
            }
            None => Err(frame.unknown()),
        }
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[("rest", "https://api.coinex.com")]
    }

    fn listing_requests(&self) -> Vec<Ask> {
        listen::listing_requests()
    }

    fn read_listings(&self, _ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        listen::read_listings(frame)
    }

    fn look_back(&self) -> i64 {
        7 * Millis::DAY
    }

    fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        listen::missed(listings, from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        listen::go_on(ask, frame)
    }
}

fn row(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("market", row.market)?;
    let (word, side) = place.side("side", row.side, "long", "short")?;
    let amount = place.positive("liq_amount", row.amount)?;
    let price = place.positive("liq_price", row.price)?;
    let timestamp = place.instant("created_at", row.created_at)?;
    let dedupe_key = format!(
        "coinex|{native_id}|{word}|{}|{}|{}",
        timestamp.0, amount.text, price.text
    );
    let market = frame.market(&native_id, naming::coinex);
    let held = frame.base_unless_inverse(&native_id, &market, amount.value);
    let seen = Sighting {
        native_id: &native_id,
        market,
        side,
        price: price.value,
        price_kind: PriceKind::Liquidation,
        size: held,
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}
