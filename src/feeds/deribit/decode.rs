//! Trades with a mark of liquidation, of the channel or of a reply.

use crate::feeds::frame::{Place, Sighting, Size, says, shown, text_of};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Event, Frame, Kind, PriceKind, naming};
use crate::model::Side;

members!(Trade<'a> {
    instrument = "instrument_name",
    id = "trade_id",
    timestamp = "timestamp",
    price = "price",
    amount = "amount",
    direction = "direction",
    liquidation = "liquidation",
});

members!(Parameters<'a> {
    channel = "channel",
    data: Part<Trade<'a>> = "data",
});

members!(Tape<'a> {
    trades: Part<Trade<'a>> = "trades",
});

members!(Message<'a> {
    jsonrpc = "jsonrpc",
    method = "method",
    params: Part<Parameters<'a>> = "params",
    result: Part<Tape<'a>> = "result",
});

/// The events of a frame.
pub(super) fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let Part::Object(message) = frame.read_plainly::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if message.jsonrpc.is_none() {
        return Err(frame.unknown());
    }
    let root = Place::ROOT;
    if says(message.method, "subscription") {
        let place = root.member("params");
        let parameters = place.object(&message.params)?;
        let channel = place.text("channel", parameters.channel)?;
        return if channel.starts_with("trades.") {
            trades(frame, &place.member("data"), &parameters.data)
        } else {
            Ok(Vec::new())
        };
    }
    match &message.result {
        Part::Object(Tape {
            trades: Part::Missing,
        }) => Ok(Vec::new()),
        Part::Object(tape) => {
            let place = root.member("result");
            trades(frame, &place.member("trades"), &tape.trades)
        }
        _ => Ok(Vec::new()),
    }
}

fn trades(
    frame: &Frame<'_>,
    place: &Place<'_>,
    rows: &Part<Trade<'_>>,
) -> Result<Vec<Event>, Error> {
    let events = frame.each(place, rows, |place, item| {
        trade(frame, place, place.object(item)?).map(Some)
    })?;
    Ok(events.into_iter().flatten().collect())
}

/// One event for each of the two who was liquidated.
fn trade(frame: &Frame<'_>, place: &Place<'_>, row: &Trade<'_>) -> Result<Vec<Event>, Error> {
    let Some(flag) = text_of(row.liquidation) else {
        return Ok(Vec::new());
    };
    let native_id = place.name("instrument_name", row.instrument)?;
    if !is_future(&native_id) {
        return Ok(Vec::new());
    }
    let (_, taker) = place.side("direction", row.direction, "sell", "buy")?;
    let maker = match taker {
        Side::Long => Side::Short,
        Side::Short => Side::Long,
    };
    let liquidated: &[(&str, Side)] = match &*flag {
        "T" => &[("T", taker)],
        "M" => &[("M", maker)],
        "MT" => &[("T", taker), ("M", maker)],
        other => {
            let message = format!(
                "{} tells nobody; \"T\", \"M\" or \"MT\" is allowed",
                shown(other)
            );
            return Err(place.member("liquidation").fault(message));
        }
    };
    let trade_id = place.name("trade_id", row.id)?;
    let amount = place.positive("amount", row.amount)?;
    let price = place.positive("price", row.price)?;
    let timestamp = place.instant("timestamp", row.timestamp)?;
    // The amount is in USD or in the base already, so the size of a contract does not matter.
    let size = match frame.contract(&native_id) {
        Some((Kind::Inverse, _)) => Size::Usd(amount.value),
        Some((Kind::Linear, _)) => Size::Base(amount.value),
        None => Size::Unknown,
    };
    liquidated
        .iter()
        .map(|(who, side)| {
            let seen = Sighting {
                native_id: &native_id,
                market: frame.market(&native_id, naming::deribit),
                side: *side,
                price: price.value,
                price_kind: PriceKind::Fill,
                size,
                timestamp: Some(timestamp),
                dedupe_key: format!("deribit|{native_id}|{trade_id}|{who}"),
            };
            frame.event(place, seen)
        })
        .collect()
}

/// `BTC-PERPETUAL` or `BTC-26DEC26`; options have a strike behind the date, combinations a word before it.
fn is_future(native_id: &str) -> bool {
    native_id.split('-').count() == 2
}
