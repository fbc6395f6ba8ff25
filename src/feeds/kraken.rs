//! Kraken Futures: the feed `trade` with its snapshot, and the REST body of `/derivatives/api/v3/history`.
//!
//! Only trades of type `liquidation` count; `side` is the taker's, who was liquidated: `sell` closed a long. Quantities are
//! USD on `PI_` and `FI_` contracts and base units on `PF_` ones. The REST body does not name its market: the only
//! instrument given does.

mod listen;

use super::frame::{Cell, Part, Place, Sighting, Size, cells, says, text_of};
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, Page, PriceKind, Venue,
    naming,
};
use crate::model::Millis;

/// The venue `kraken`.
#[derive(Debug)]
pub(super) struct Kraken;

cells!(Trade {
    product = "product_id",
    uid = "uid",
    side = "side",
    kind = "type",
    time = "time",
    qty = "qty",
    size = "size",
    price = "price",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    feed: Cell<'a>,
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    trades: Part<Trade<'a>>,
    #[serde(borrow)]
    result: Cell<'a>,
    #[serde(borrow)]
    error: Cell<'a>,
    #[serde(borrow)]
    history: Part<Trade<'a>>,
}

impl Venue for Kraken {
    fn name(&self) -> &'static str {
        "kraken"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Fill]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
            return Err(frame.unknown());
        };
        let root = Place::ROOT;
        if message.event.is_some() {
            return Ok(Vec::new());
        }
        match text_of(message.feed).as_deref() {
            Some("trade") => {
                let trade = frame.read::<Trade<'_>>()?;
                Ok(liquidation(frame, &root, &trade)?.into_iter().collect())
            }
            Some("trade_snapshot") => {
                frame.rows(&root.member("trades"), &message.trades, liquidation)
            }
            Some(_) => Ok(Vec::new()),
            None if says(message.result, "success") => {
                frame.rows(&root.member("history"), &message.history, liquidation)
            }
            None if says(message.result, "error") => {
                let said = text_of(message.error).unwrap_or_default();
                Err(frame.refused(root.member("error"), &said))
            }
            None => Err(frame.unknown()),
        }
    }

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://futures.kraken.com"),
            ("rest", "https://futures.kraken.com"),
        ]
    }

    fn listens_by_market(&self) -> bool {
        true
    }

    fn lines(&self, listings: &[Listing]) -> Vec<Line> {
        listen::lines(listings)
    }

    fn subscription(&self, _number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(topics)
    }

    fn control(&self, frame: &Frame<'_>, _asked: &Asked) -> Result<Heard, Error> {
        listen::control(frame)
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

fn liquidation(
    frame: &Frame<'_>,
    place: &Place<'_>,
    row: &Trade<'_>,
) -> Result<Option<Event>, Error> {
    if place.text("type", row.kind)? != "liquidation" {
        return Ok(None);
    }
    let native_id = match row.product {
        Some(_) => place.name("product_id", row.product)?,
        None => frame.only_market(&place.member("product_id"))?.into(),
    };
    let uid = place.name("uid", row.uid)?;
    let (_, side) = place.side("side", row.side, "sell", "buy")?;
    let traded = match row.qty {
        Some(_) => place.positive("qty", row.qty)?,
        None => place.positive("size", row.size)?,
    };
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id, naming::kraken),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: Size::Contracts(traded.value),
        timestamp: Some(place.instant("time", row.time)?),
        dedupe_key: format!("kraken|{uid}"),
    };
    frame.event(place, seen).map(Some)
}
