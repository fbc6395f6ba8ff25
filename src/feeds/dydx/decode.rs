//! Trades of type `LIQUIDATED`, of the channel or of a reply.

use crate::feeds::frame::{Place, Sighting, Size, says, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Trade<'a> {
    id = "id",
    side = "side",
    size = "size",
    price = "price",
    kind = "type",
    created_at = "createdAt",
});

members!(Tape<'a> {
    trades: Part<Trade<'a>> = "trades",
});

members!(Message<'a> {
    kind = "type",
    channel = "channel",
    id = "id",
    contents: Part<Tape<'a>> = "contents",
    trades: Part<Trade<'a>> = "trades",
    errors = "errors",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let root = Place::ROOT;
    if message.errors.is_some() {
        return Err(frame.refused(root.member("errors"), "with errors"));
    }
    if let Part::List(_) = &message.trades {
        return tape(frame, &root, None, &message.trades);
    }
    let Some(kind) = text_of(message.kind) else {
        return Err(frame.unknown());
    };
    if message.channel.is_none() {
        return match &*kind {
            "connected" | "error" | "pong" | "unsubscribed" => Ok(Vec::new()),
            _ => Err(frame.unknown()),
        };
    }
    let carries = ["subscribed", "channel_data", "channel_batch_data"].contains(&&*kind);
    if !says(message.channel, "v4_trades") || !carries {
        return Ok(Vec::new());
    }
    let market = root.name("id", message.id)?;
    let place = root.member("contents");
    match &message.contents {
        Part::Object(one) => tape(frame, &place, Some(&market), &one.trades),
        several => {
            let mut events = Vec::new();
            for (index, item) in place.list(several)?.iter().enumerate() {
                let place = place.item(index);
                let one = place.object(item)?;
                events.extend(tape(frame, &place, Some(&market), &one.trades)?);
            }
            Ok(events)
        }
    }
}

fn tape(
    frame: &Frame<'_>,
    place: &Place<'_>,
    market: Option<&str>,
    trades: &Part<Trade<'_>>,
) -> Result<Vec<Event>, Error> {
    frame.rows(&place.member("trades"), trades, |frame, place, row| {
        liquidation(frame, place, market, row)
    })
}

fn liquidation(
    frame: &Frame<'_>,
    place: &Place<'_>,
    market: Option<&str>,
    row: &Trade<'_>,
) -> Result<Option<Event>, Error> {
    if place.text("type", row.kind)? != "LIQUIDATED" {
        return Ok(None);
    }
    let native_id = match market {
        Some(market) => market,
        None => frame.only_market(place)?,
    };
    let (_, side) = place.side("side", row.side, "SELL", "BUY")?;
    let id = place.name("id", row.id)?;
    let seen = Sighting {
        native_id,
        market: frame.market(native_id, naming::dashed),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: Size::Base(place.positive("size", row.size)?.value),
        timestamp: Some(place.instant("createdAt", row.created_at)?),
        dedupe_key: format!("dydx|{id}"),
    };
    frame.event(place, seen).map(Some)
}
