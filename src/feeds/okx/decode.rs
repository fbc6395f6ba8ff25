//! Frames of `liquidation-orders`, and the REST body of the same name.

use crate::feeds::frame::{Cell, Part, Place, Sighting, Size, cells, says, shown, text_of};
use crate::feeds::{Error, Event, Frame, PriceKind, naming};
use crate::model::Side;

cells!(Argument {
    channel = "channel",
});

cells!(Detail {
    side = "side",
    position = "posSide",
    price = "bkPx",
    size = "sz",
    ts = "ts",
    time = "time",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Contract<'a> {
    #[serde(borrow)]
    inst_type: Cell<'a>,
    #[serde(borrow)]
    inst_id: Cell<'a>,
    #[serde(borrow)]
    details: Part<Detail<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    arg: Part<Argument<'a>>,
    #[serde(borrow)]
    event: Cell<'a>,
    #[serde(borrow)]
    op: Cell<'a>,
    #[serde(borrow)]
    table: Cell<'a>,
    #[serde(borrow)]
    code: Cell<'a>,
    #[serde(borrow)]
    msg: Cell<'a>,
    #[serde(borrow)]
    data: Part<Contract<'a>>,
}

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
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
