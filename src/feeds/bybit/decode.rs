//! Frames of `allLiquidation.<symbol>`.

use crate::feeds::frame::{Place, Sighting, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Row<'a> {
    time = "T",
    symbol = "s",
    side = "S",
    size = "v",
    price = "p",
});

members!(Message<'a> {
    topic = "topic",
    data: Part<Row<'a>> = "data",
    op = "op",
    success = "success",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let Some(topic) = text_of(message.topic) else {
        return match message.op.or(message.success) {
            Some(_) => Ok(Vec::new()),
            None => Err(frame.unknown()),
        };
    };
    if !topic.starts_with("allLiquidation.") {
        return Ok(Vec::new());
    }
    frame.rows(&Place::ROOT.member("data"), &message.data, row)
}
fn row(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("s", row.symbol)?;
    let (word, side) = place.side("S", row.side, "Buy", "Sell")?;
    let traded = place.positive("v", row.size)?;
    let price = place.positive("p", row.price)?;
    let timestamp = place.instant("T", row.time)?;
    let dedupe_key = format!(
        "bybit|{native_id}|{word}|{}|{}|{}",
        timestamp.0, traded.text, price.text
    );
    let market = frame.market(&native_id, naming::bybit);
    let amount = frame.base_unless_inverse(&native_id, &market, traded.value);
    let seen = Sighting {
        native_id: &native_id,
        market,
        side,
        price: price.value,
        price_kind: PriceKind::Bankruptcy,
        size: amount,
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}
