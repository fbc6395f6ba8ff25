//! Insertions into the table `liquidation`.

use crate::feeds::frame::{Place, Sighting, Size, says};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Row<'a> {
    order_id = "orderID",
    symbol = "symbol",
    side = "side",
    price = "price",
    leaves = "leavesQty",
});

members!(Message<'a> {
    table = "table",
    action = "action",
    data: Part<Row<'a>> = "data",
    info = "info",
    op = "op",
    subscribe = "subscribe",
    success = "success",
    error = "error",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let spoken = [
        message.info,
        message.op,
        message.subscribe,
        message.success,
        message.error,
    ];
    if message.table.is_none() {
        return if spoken.iter().any(Option::is_some) {
            Ok(Vec::new())
        } else {
            Err(frame.unknown())
        };
    }
    if !says(message.table, "liquidation") || !says(message.action, "insert") {
        return Ok(Vec::new());
    }
    frame.rows(&Place::ROOT.member("data"), &message.data, row)
}

fn row(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("symbol", row.symbol)?;
    let order_id = place.name("orderID", row.order_id)?;
    let (_, side) = place.side("side", row.side, "Sell", "Buy")?;
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id, naming::bitmex),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Order,
        size: Size::Contracts(place.positive("leavesQty", row.leaves)?.value),
        timestamp: None,
        dedupe_key: format!("bitmex|{order_id}"),
    };
    frame.event(place, seen).map(Some)
}
