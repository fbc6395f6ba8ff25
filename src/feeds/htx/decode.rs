use crate::feeds::frame::{Place, Sighting, Size, says, text_of};
use crate::feeds::members::{Part, Raw, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};

members!(Row<'a> {
    contract = "contract_code",
    pair = "pair",
    direction = "direction",
    volume = "volume",
    price = "price",
    created_at = "created_at",
    amount = "amount",
    turnover = "trade_turnover",
});

members!(Message<'a> {
    op = "op",
    topic = "topic",
    ping = "ping",
    pong = "pong",
    ch = "ch",
    subbed = "subbed",
    err_code = "err-code",
    ts = "ts",
    code = "code",
    msg = "msg",
    data: Part<Row<'a>> = "data",
});

/// The events of a frame or a body.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let root = Place::ROOT;
    let place = root.member("data");
    if let Some(op) = text_of(message.op) {
        let topic = text_of(message.topic).unwrap_or_default();
        if op != "notify" || !topic.ends_with(".liquidation_orders") {
            return Ok(Vec::new());
        }
        return frame.rows(&place, &message.data, row);
    }
    let spoken = [
        message.ping,
        message.pong,
        message.ch,
        message.subbed,
        message.err_code,
    ];
    if spoken.iter().any(Option::is_some) {
        return Ok(Vec::new());
    }
    match text_of(message.code).as_deref() {
        Some("200") => frame.rows(&place, &message.data, row),
        Some(code) => {
            let said = text_of(message.msg).unwrap_or_default();
            Err(frame.refused(root.member("code"), &format!("{code} {said}")))
        }
        None => Err(frame.unknown()),
    }
}

/// The pong to a ping, with the very token it carries.
pub(super) fn answer(frame: &Frame<'_>) -> Result<Option<String>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if let Some(token) = message.ping {
        return Ok(Some(format!("{{\"pong\":{}}}", token.text())));
    }
    if !says(message.op, "ping") {
        return Ok(None);
    }
    let token = message.ts.map_or("null", Raw::text);
    Ok(Some(format!("{{\"op\":\"pong\",\"ts\":{token}}}")))
}

fn row(frame: &Frame<'_>, place: &Place<'_>, row: &Row<'_>) -> Result<Option<Event>, Error> {
    let native_id = place.name("contract_code", row.contract)?;
    let (word, side) = place.side("direction", row.direction, "sell", "buy")?;
    let volume = place.positive("volume", row.volume)?;
    let price = place.positive("price", row.price)?;
    let timestamp = place.instant("created_at", row.created_at)?;
    let pair = text_of(row.pair).filter(|pair| pair.contains('-'));
    let market = match (&pair, frame.knows(&native_id)) {
        (Some(pair), false) => naming::dashed(pair),
        _ => frame.market(&native_id, naming::htx),
    };
    let quantity = if market.quote == "USD" || row.amount.is_none() {
        Size::Contracts(volume.value)
    } else {
        let amount = place.positive("amount", row.amount)?.value;
        match row.turnover {
            Some(_) => Size::Turnover(
                amount,
                place.positive("trade_turnover", row.turnover)?.value,
            ),
            None => Size::Base(amount),
        }
    };
    let dedupe_key = format!(
        "htx|{native_id}|{word}|{}|{}|{}",
        timestamp.0,
        volume.plain(),
        price.plain()
    );
    let seen = Sighting {
        native_id: &native_id,
        market,
        side,
        price: price.value,
        price_kind: PriceKind::Bankruptcy,
        size: quantity,
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen).map(Some)
}
