use crate::feeds::frame::{Place, Sighting, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Row<'a> {
    market = "market",
    side = "side",
    price = "liq_price",
    amount = "liq_amount",
    created_at = "created_at",
});

members!(Body<'a> {
    code = "code",
    data: Part<Row<'a>> = "data",
    message = "message",
    method = "method",
    id = "id",
});

/// The events of a frame or a body.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Body<'_>>>()? else {
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
