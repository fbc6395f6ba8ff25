//! Trades of type `liquidation`, of the feed, its snapshot or the history.

use crate::feeds::frame::{Place, Sighting, Size, says, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Trade<'a> {
    product = "product_id",
    uid = "uid",
    side = "side",
    kind = "type",
    time = "time",
    qty = "qty",
    size = "size",
    price = "price",
});

members!(Message<'a> {
    feed = "feed",
    event = "event",
    trades: Part<Trade<'a>> = "trades",
    result = "result",
    error = "error",
    history: Part<Trade<'a>> = "history",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
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
        Some("trade_snapshot") => frame.rows(&root.member("trades"), &message.trades, liquidation),
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
