//! Deribit: the trade tape `trades.*`, and the reply of `get_last_trades_by_*`.
//!
//! A trade's `liquidation` says who was liquidated: `T` the taker, `M` the maker, `MT` both, which makes two events of
//! opposite sides. `direction` is the taker's. Amounts are USD on contracts settled in the coin and base units on those
//! settled in a stablecoin. Options and combinations are other markets.

mod listen;

use super::frame::{Cell, Part, Place, Sighting, Size, cells, says, shown, text_of};
use super::instruments::Kind;
use super::{
    Ask, Asked, Completeness, Error, Event, Frame, Heard, Line, Listing, PriceKind, Venue, naming,
};
use crate::model::{Millis, Side};

/// The venue `deribit`.
#[derive(Debug)]
pub(super) struct Deribit;

cells!(Trade {
    instrument = "instrument_name",
    id = "trade_id",
    timestamp = "timestamp",
    price = "price",
    amount = "amount",
    direction = "direction",
    liquidation = "liquidation",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Parameters<'a> {
    #[serde(borrow)]
    channel: Cell<'a>,
    #[serde(borrow)]
    data: Part<Trade<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Tape<'a> {
    #[serde(borrow)]
    trades: Part<Trade<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cell<'a>,
    #[serde(borrow)]
    method: Cell<'a>,
    #[serde(borrow)]
    params: Part<Parameters<'a>>,
    #[serde(borrow)]
    result: Part<Tape<'a>>,
}

impl Venue for Deribit {
    fn name(&self) -> &'static str {
        "deribit"
    }

    fn completeness(&self) -> Completeness {
        Completeness::Complete
    }

    fn price_kinds(&self) -> &'static [PriceKind] {
        &[PriceKind::Fill]
    }

    fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
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

    fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("socket", "wss://www.deribit.com"),
            ("rest", "https://www.deribit.com"),
        ]
    }

    fn lines(&self, _listings: &[Listing]) -> Vec<Line> {
        listen::lines()
    }

    fn greeting(&self) -> &'static [&'static str] {
        listen::GREETING
    }

    fn subscription(&self, number: usize, topics: &[String], _now: Millis) -> String {
        listen::subscription(number, topics)
    }

    fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        listen::control(frame, asked)
    }

    fn look_back(&self) -> i64 {
        7 * Millis::DAY
    }

    fn missed(&self, _listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        listen::missed(from, until)
    }

    fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        listen::go_on(ask, frame)
    }
}

fn trades(
    frame: &Frame<'_>,
    place: &Place<'_>,
    rows: &Part<Trade<'_>>,
) -> Result<Vec<Event>, Error> {
    let found = frame.each(place, rows, |place, item| {
        let mut events = Vec::new();
        trade(frame, place, place.object(item)?, &mut events)?;
        Ok(Some(events))
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn trade(
    frame: &Frame<'_>,
    place: &Place<'_>,
    row: &Trade<'_>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    let Some(flag) = text_of(row.liquidation) else {
        return Ok(());
    };
    let native_id = place.name("instrument_name", row.instrument)?;
    if !is_future(&native_id) {
        return Ok(());
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
    for (who, side) in liquidated {
        events.push(frame.event(
            place,
            Sighting {
                native_id: &native_id,
                market: frame.market(&native_id, naming::deribit),
                side: *side,
                price: price.value,
                price_kind: PriceKind::Fill,
                size,
                timestamp: Some(timestamp),
                dedupe_key: format!("deribit|{native_id}|{trade_id}|{who}"),
            },
        )?);
    }
    Ok(())
}

/// `BTC-PERPETUAL` or `BTC-26DEC26`; options have a strike behind the date, combinations a word before it.
fn is_future(native_id: &str) -> bool {
    native_id.split('-').count() == 2
}
