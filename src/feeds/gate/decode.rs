use rust_decimal::Decimal;

use crate::feeds::frame::{Place, Sighting, Size, says, shown, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};
use crate::model::Side;

members!(Row<'a> {
    contract = "contract",
    time = "time",
    time_ms = "time_ms",
    price = "price",
    size = "size",
    order_size = "order_size",
    order_price = "order_price",
    fill_price = "fill_price",
    left = "left",
});

members!(Message<'a> {
    channel = "channel",
    event = "event",
    result: Part<Row<'a>> = "result",
    label = "label",
    said = "message",
});

/// The events of a frame or a body.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let root = Place::ROOT;
    let message = match frame.read_plainly::<Part<Message<'_>>>()? {
        Part::Object(message) => message,
        Part::List(_) => {
            let rows = frame.read::<Part<Row<'_>>>()?;
            return frame.rows(&root, &rows, liquidated_order);
        }
        Part::Missing | Part::Other => return Err(frame.unknown()),
    };
    if let Some(label) = text_of(message.label) {
        let said = text_of(message.said).unwrap_or_default();
        return Err(frame.refused(root.member("label"), &format!("{label} {said}")));
    }
    if message.channel.is_none() {
        return Err(frame.unknown());
    }
    if !says(message.channel, "futures.public_liquidates") || !says(message.event, "update") {
        return Ok(Vec::new());
    }
    let place = root.member("result");
    match &message.result {
        Part::Object(row) => {
            let order = frame.alone(order(frame, &place, row))?;
            Ok(order.into_iter().collect())
        }
        rows => frame.rows(&place, rows, |frame, place, row| {
            order(frame, place, row).map(Some)
        }),
    }
}

/// A row of the socket.
fn order(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Event, Error> {
    let native_id = place.name("contract", row.contract)?;
    let ordered = place.number("size", row.size)?;
    let price = place.positive("price", row.price)?;
    let timestamp = match row.time_ms {
        Some(_) => place.instant("time_ms", row.time_ms)?,
        None => place.instant("time", row.time)?,
    };
    let side = position_side(place, "size", ordered.value, Side::Short)?;
    let dedupe_key = key(&native_id, timestamp.0, ordered.plain(), price.plain());
    frame.event(
        place,
        Sighting {
            native_id: &native_id,
            market: frame.market(&native_id, naming::gate),
            side,
            price: price.value,
            price_kind: PriceKind::Order,
            size: Size::Contracts(ordered.value.abs()),
            timestamp: Some(timestamp),
            dedupe_key,
        },
    )
}

/// A row of the REST body; an order of which nothing was filled is no event.
fn liquidated_order(
    frame: &Frame<'_>,
    place: &Place<'_>,
    row: &Row<'_>,
) -> Result<Option<Event>, Error> {
    let native_id = place.name("contract", row.contract)?;
    let position = place.number("size", row.size)?;
    let ordered = place.number("order_size", row.order_size)?;
    let order_price = place.number("order_price", row.order_price)?;
    let left = place.number("left", row.left)?;
    let timestamp = place.instant("time", row.time)?;
    // The position may be empty by the time of the report; the order's sign stays.
    let side = if position.value.is_zero() {
        position_side(place, "order_size", ordered.value, Side::Short)?
    } else {
        position_side(place, "size", position.value, Side::Long)?
    };
    let Some(executed) = ordered.value.abs().checked_sub(left.value.abs()) else {
        return Err(place.member("left").fault("does not fit a decimal exactly"));
    };
    if executed.is_zero() {
        return Ok(None);
    }
    if executed < Decimal::ZERO {
        let message = format!(
            "{} is more than was ordered ({})",
            shown(&left.text),
            shown(&ordered.text)
        );
        return Err(place.member("left").fault(message));
    }
    let price = place.positive("fill_price", row.fill_price)?;
    let dedupe_key = key(
        &native_id,
        timestamp.0,
        ordered.plain(),
        order_price.plain(),
    );
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id, naming::gate),
        side,
        price: price.value,
        price_kind: PriceKind::Fill,
        size: Size::Contracts(executed),
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}

/// The side of the position, where a size above zero means `above`.
fn position_side(
    place: &Place<'_>,
    name: &str,
    count: Decimal,
    above: Side,
) -> Result<Side, Error> {
    if count.is_zero() {
        return Err(place.member(name).fault("is zero, so it tells no side"));
    }
    Ok(match (count.is_sign_positive(), above) {
        (true, side) => side,
        (false, Side::Long) => Side::Short,
        (false, Side::Short) => Side::Long,
    })
}

/// The key that the socket's row and the REST body's share: the same second, order size and order price.
fn key(native_id: &str, millis: i64, size: Decimal, price: Decimal) -> String {
    format!("gate|{native_id}|{}|{size}|{price}", millis / 1000)
}
