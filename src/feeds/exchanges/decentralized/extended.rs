//! Extended.
//!
//! - Channel: `publicTrades` of all markets; `tT` is the type of a trade. Only `LIQUIDATION` counts, not `DELEVERAGE`.
//!   The path of the socket is the subscription: the first frame acknowledges it and repeats the last fifty trades.
//!   Frames are numbered, so a missing one is noticed.
//! - Side: the taker was liquidated; `SELL` closed a long.
//! - Units: base units.
//! - Backfill: none, because REST only has the last trades of a market. Prices come from its market list.
//! - Source: <https://api.docs.extended.exchange>

use std::time::Duration;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Envelope, Frame, Rules, Sighting, Size};
use crate::feeds::decoding::json_path::{Place, says, shown};
use crate::feeds::decoding::market_name::{Market, before};
use crate::feeds::decoding::raw_json::{Part, members};
use crate::feeds::error::Error;
use crate::feeds::rest::endpoints::Rest;
use crate::feeds::rest::prices::{Prices, Quoted, quoted};
use crate::feeds::rest::request::{Ask, Limit};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{Asked, Beat, Heard, Heartbeat, Numbered, Numbers};
use crate::feeds::websocket::socket_plan::{Lines, Listen};

/// Half of the allowed requests per minute.
const REQUESTS: Limit = Limit::of("requests", 500, 60);

const REPLY: Envelope = Envelope {
    code: "status",
    fine: "OK",
    said: &["error"],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "extended",
        completeness: Completeness::Complete,
        market,
        native: |base, quote| (quote == "USD").then(|| format!("{base}-USD")),
        contract: |_| None,
    },
    price_kinds: &[PriceKind::Fill],
    hosts: &[
        ("socket", "wss://api.starknet.extended.exchange"),
        ("rest", "https://api.starknet.extended.exchange"),
    ],
    decode,
    listen: Listen {
        lines: Lines::Fixed(&[(
            "trades",
            "/stream.extended.exchange/v1/publicTrades",
            &["publicTrades"],
        )]),
        // The exchange rejects clients without a user agent.
        headers: &[("user-agent", concat!("liqdata/", env!("CARGO_PKG_VERSION")))],
        // The path is the subscription.
        subscription: |_, _, _| String::new(),
        control,
        recalls: |frame| {
            let message = frame.object::<Message<'_>>();
            message.is_ok_and(|message| says(message.seq, "1"))
        },
        heartbeat: Heartbeat::each_20_seconds(Beat::Protocol),
        ears: 2,
        numbers: Some(Numbers {
            read: numbers,
            late: Duration::ZERO,
        }),
        ..Listen::NONE
    },
    rest: Rest {
        prices: Some(Prices {
            asks: || vec![Ask::new("/api/v1/info/markets", REQUESTS)],
            read: read_prices,
        }),
        ..Rest::NONE
    },
};

/// Names: `BTC-USD`, and `NVDA_24_5-USD` for markets traded five days a week.
fn market(native_id: &str) -> Market<'_> {
    match native_id.rsplit_once('-') {
        Some((base, quote)) => Market::new(before(base, b'_'), quote),
        None => Market::unnamed(native_id),
    }
}

members!(Trade<'a> {
    id = "i",
    market = "m",
    side = "S",
    kind = "tT",
    time = "T",
    price = "p",
    qty = "q",
});

members!(Refusal<'a> {
    code = "code",
    words = "message",
});

members!(Message<'a> {
    kind = "type",
    status = "status",
    data: Part<Trade<'a>> = "data",
    error: Part<Refusal<'a>> = "error",
    seq = "seq",
});

/// The events of a frame or a body.
fn decode(frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
    let message: Message<'_> = frame.object()?;
    // Other channels have a type.
    if message.kind.is_some() {
        return Ok(Vec::new());
    }
    if message.status.is_some() {
        let words = match &message.error {
            Part::Object(refusal) => [refusal.code, refusal.words],
            _ => [None, None],
        };
        REPLY.judge(frame, message.status, &words)?;
    } else if matches!(message.data, Part::Missing) {
        return Err(frame.unknown());
    }
    frame.rows(&Place::ROOT.member("data"), &message.data, liquidation)
}

fn liquidation(
    frame: &Frame<'_>,
    place: &Place<'_>,
    row: &Trade<'_>,
) -> Result<Option<Event>, Error> {
    let kind = place.text("tT", row.kind)?;
    match &*kind {
        "TRADE" | "DELEVERAGE" => return Ok(None),
        "LIQUIDATION" => {}
        _ => {
            let message = format!("{} is not a known type of trade", shown(&kind));
            return Err(place.member("tT").fault(message));
        }
    }
    let native_id = place.name("m", row.market)?;
    let id = place.name("i", row.id)?;
    let (_, side) = place.side("S", row.side, "SELL", "BUY")?;
    let seen = Sighting {
        native_id: &native_id,
        market: frame.market(&native_id),
        side,
        price: place.positive("p", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: Size::Base(place.positive("q", row.qty)?.value),
        timestamp: Some(place.instant("T", row.time)?),
        dedupe_key: format!("extended|{id}"),
    };
    frame.event(place, seen).map(Some)
}

/// The sequence numbers of a connection's frames; other channels have their own.
fn numbers(frame: &Frame<'_>) -> Vec<Numbered> {
    let message = frame.object::<Message<'_>>().ok();
    let message = message.filter(|message| message.kind.is_none());
    let number = message.and_then(|message| {
        let number = Numbered::read("", message.seq)?;
        let Part::List(rows) = &message.data else {
            return Some(number);
        };
        let last = rows.iter().rev().find_map(|row| match row {
            Part::Object(trade) => trade.time,
            _ => None,
        });
        Some(number.told_at(last))
    });
    number.into_iter().collect()
}

fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let message: Message<'_> = frame.object()?;
    Ok(match message.data {
        Part::List(_) => Heard::Ack {
            topics: asked.all(),
        },
        _ => Heard::Other,
    })
}

members!(Figures<'a> {
    mark = "markPrice",
});

members!(Told<'a> {
    name = "name",
    figures: Part<Figures<'a>> = "marketStats",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<Quoted>, Error> {
    let markets: Part<Told<'_>> = REPLY.open(frame)?.read("data")?;
    quoted(
        &Place::ROOT.member("data"),
        &markets,
        |market| match &market.figures {
            Part::Object(figures) => Quoted::read(market.name, figures.mark),
            _ => None,
        },
    )
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::decentralized::extended::VENUE;
    use crate::feeds::testing::come_down;

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["BTC-USD", "BTCUSD", "BTC"],
                ["1000PEPE-USD", "1000PEPEUSD", "PEPE"],
                ["NVDA_24_5-USD", "NVDAUSD", "NVDA"],
            ],
        );
    }
}
