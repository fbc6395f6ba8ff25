//! The rows in `liquidation_trades`.

use crate::feeds::frame::{Place, Sighting, Size, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};
use crate::model::Side;

members!(Trade<'a> {
    id = "trade_id",
    kind = "type",
    market_id = "market_id",
    size = "size",
    price = "price",
    usd_amount = "usd_amount",
    is_maker_ask = "is_maker_ask",
    timestamp = "timestamp",
});

members!(Message<'a> {
    kind = "type",
    liquidation_trades: Part<Trade<'a>> = "liquidation_trades",
    error = "error",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    match text_of(message.kind).as_deref() {
        // A market in which nobody was liquidated sends `null`.
        Some("update/trade" | "subscribed/trade") => match &message.liquidation_trades {
            Part::Missing => Ok(Vec::new()),
            rows => frame.rows(&Place::ROOT.member("liquidation_trades"), rows, trade),
        },
        Some(_) => Ok(Vec::new()),
        None if message.error.is_some() => Ok(Vec::new()),
        None => Err(frame.unknown()),
    }
}

fn trade(frame: &Frame<'_>, place: &Place<'_>, row: &Trade<'_>) -> Result<Option<Event>, Error> {
    if place.text("type", row.kind)? != "liquidation" {
        return Ok(None);
    }
    let native_id = place.name("market_id", row.market_id)?;
    let trade_id = place.name("trade_id", row.id)?;
    let qty = place.positive("size", row.size)?.value;
    let value = place.positive("usd_amount", row.usd_amount)?.value;
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id, naming::unnamed),
        side: if place.truth("is_maker_ask", row.is_maker_ask)? {
            Side::Short
        } else {
            Side::Long
        },
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: if frame.knows(&native_id) {
            Size::Turnover(qty, value)
        } else {
            Size::Unknown
        },
        timestamp: Some(place.instant("timestamp", row.timestamp)?),
        dedupe_key: format!("lighter|{trade_id}"),
    };
    frame.event(place, seen).map(Some)
}
