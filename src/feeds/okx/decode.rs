//! Frames of `liquidation-orders`, and the REST body of the same name.

use crate::feeds::frame::{Place, Sighting, Size, says, shown, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};
use crate::model::Side;

members!(Argument<'a> {
    channel = "channel",
});

members!(Detail<'a> {
    side = "side",
    position = "posSide",
    price = "bkPx",
    size = "sz",
    ts = "ts",
    time = "time",
});

members!(Contract<'a> {
    inst_type = "instType",
    inst_id = "instId",
    details: Part<Detail<'a>> = "details",
});

members!(Message<'a> {
    arg: Part<Argument<'a>> = "arg",
    event = "event",
    op = "op",
    table = "table",
    code = "code",
    msg = "msg",
    data: Part<Contract<'a>> = "data",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    // `table` marks the channels of version 3, which are gone.
    if message.event.or(message.op).or(message.table).is_some() {
        return Ok(Vec::new());
    }
    if let Part::Object(arg) = &message.arg {
        if !says(arg.channel, "liquidation-orders") {
            return Ok(Vec::new());
        }
    } else {
        match text_of(message.code).as_deref() {
            Some("0") => {}
            Some(code) => {
                let said = text_of(message.msg).unwrap_or_default();
                let place = Place::ROOT;
                return Err(frame.refused(place.member("code"), &format!("{code} {said}")));
            }
            None => return Err(frame.unknown()),
        }
    }
    let root = Place::ROOT;
    let place = root.member("data");
    let mut events = Vec::new();
    for (index, item) in place.list(&message.data)?.iter().enumerate() {
        let place = place.item(index);
        events.extend(contract(frame, &place, place.object(item)?)?);
    }
    Ok(events)
}
fn contract(
    frame: &Frame<'_>,
    place: &Place<'_>,
    contract: &Contract<'_>,
) -> Result<Vec<Event>, Error> {
    if says(contract.inst_type, "MARGIN") || says(contract.inst_type, "OPTION") {
        return Ok(Vec::new());
    }
    let native_id = place.name("instId", contract.inst_id)?;
    frame.rows(
        &place.member("details"),
        &contract.details,
        |frame, place, row| detail(frame, place, &native_id, row).map(Some),
    )
}

fn detail(
    frame: &Frame<'_>,
    place: &Place<'_>,
    native_id: &str,
    row: &Detail<'_>,
) -> Result<Event, Error> {
    let order = place.side("side", row.side, "sell", "buy")?;
    let position = place.text("posSide", row.position)?;
    let side = match &*position {
        "long" => Side::Long,
        "short" => Side::Short,
        "net" => order.1,
        other => {
            let message = format!(
                "{} is no side; \"long\", \"short\" or \"net\" is allowed",
                shown(other)
            );
            return Err(place.member("posSide").fault(message));
        }
    };
    let contracts = place.positive("sz", row.size)?;
    let price = place.positive("bkPx", row.price)?;
    let timestamp = place.instant("ts", row.ts.or(row.time))?;
    let dedupe_key = format!(
        "okx|{native_id}|{position}|{}|{}|{}|{}",
        order.0, timestamp.0, contracts.text, price.text
    );
    frame.event(
        place,
        Sighting {
            native_id,
            market: frame.market(native_id, naming::dashed),
            side,
            price: price.value,
            price_kind: PriceKind::Bankruptcy,
            size: Size::Contracts(contracts.value),
            timestamp: Some(timestamp),
            dedupe_key,
        },
    )
}
