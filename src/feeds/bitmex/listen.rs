//! One socket, one table; markets by REST. Missed orders cannot be asked for.

use rust_decimal::Decimal;
use serde_json::json;
use serde_json::value::RawValue;

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::event::{product, quotient};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Listing};
use crate::feeds::{Error, Frame, Instrument};

/// Requests in a minute.
const REQUESTS: Limit = Limit::of("requests", 24, 60);

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text("ping"));

cells!(Message {
    success = "success",
    subscribe = "subscribe",
    error = "error",
    table = "table",
});

cells!(Market {
    symbol = "symbol",
    underlying = "underlying",
    quote = "quoteCurrency",
    is_inverse = "isInverse",
    is_quanto = "isQuanto",
    position = "underlyingToPositionMultiplier",
    state = "state",
    kind = "typ",
});

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("liquidations", "/realtime", &["liquidation"])]
}

pub(super) fn subscription(topics: &[String]) -> String {
    json!({"op": "subscribe", "args": topics}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    if frame.text.trim() == "pong" {
        return Ok(Heard::Pong);
    }
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let is_taken = message.success.map(RawValue::get) == Some("true");
    Ok(match (text_of(message.subscribe), text_of(message.error)) {
        (Some(table), None) if is_taken => Heard::Ack {
            topics: vec![table.into_owned()],
        },
        (_, Some(said)) => Heard::Refused {
            topics: asked.all(),
            message: said.into_owned(),
        },
        _ if message.table.is_some() => Heard::Data,
        _ => Heard::Other,
    })
}

pub(super) fn listing_requests() -> Vec<Ask> {
    vec![Ask::new("/api/v1/instrument/active", REQUESTS)]
}

pub(super) fn read_listings(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let markets = frame.read::<Part<Market<'_>>>()?;
    let rows = frame.each(&Place::ROOT, &markets, |place, item| {
        let market = place.object(item)?;
        let truth = |cell: Cell<'_>| cell.map(RawValue::get) == Some("true");
        // A quanto contract is worth neither a fixed quantity nor a fixed number of USD.
        if truth(market.is_quanto) {
            return Ok(None);
        }
        let (kind, size) = if truth(market.is_inverse) {
            ("inverse", Decimal::ONE)
        } else {
            let per_unit = place
                .positive("underlyingToPositionMultiplier", market.position)?
                .value;
            let size = quotient(Decimal::ONE, per_unit)
                .filter(|size| product(*size, per_unit) == Some(Decimal::ONE))
                .ok_or_else(|| {
                    place
                        .member("underlyingToPositionMultiplier")
                        .fault("does not divide one exactly")
                })?;
            ("linear", size)
        };
        let instrument = Instrument::read(
            &place.text("underlying", market.underlying)?,
            &place.text("quoteCurrency", market.quote)?,
            kind,
            &size.to_string(),
        );
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: says(market.kind, "FFWCSX"),
            trading: says(market.state, "Open"),
        }))
    })?;
    Ok(Page::last(rows))
}
