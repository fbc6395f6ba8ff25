//! Extended.
//!
//! - Channel: `publicTrades` of all markets; `tT` is the type of a trade. Only trades of type `LIQUIDATION` count, not
//!   those of type `DELEVERAGE`. The path of the socket is the subscription: the first frame acknowledges it and
//!   repeats the last 50 trades. Frames have sequence numbers, so a missing frame is noticed.
//! - Side: the side of the taker, who is the liquidated account; `SELL` closed a long.
//! - Units: base units.
//! - Backfill: none, because REST only returns the last trades of a market. Last prices come from the market list.
//! - Source: <https://api.docs.extended.exchange>

use std::time::Duration;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name::{MarketName, before};
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    FrameKind, Heartbeat, PingMessage, SentSubscriptions, SequenceNumber,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};

/// Half of the requests that the exchange allows per minute.
const REQUESTS: RateLimit = RateLimit::of("requests", 500, 60);

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
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
        channels: Channels {
            // Message types of channels that are not decoded.
            other: &[
                "BALANCE", "DELTA", "IP", "MP", "ORDER", "POSITION", "SNAPSHOT", "TRADE",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://api.starknet.extended.exchange"),
        ("rest", "https://api.starknet.extended.exchange"),
    ],
    messages: Messages::of::<Extended>(),
    listen: SocketPlan {
        lines: ConnectionPlans::Fixed(&[(
            "trades",
            "/stream.extended.exchange/v1/publicTrades",
            &["publicTrades"],
        )]),
        // The exchange rejects clients without a user agent.
        headers: &[("user-agent", concat!("liqdata/", env!("CARGO_PKG_VERSION")))],
        // The path of the socket is the subscription, so there is no message to send.
        subscription: |_, _, _| String::new(),
        heartbeat: Heartbeat::each_20_seconds(PingMessage::Protocol),
        redundant_connections: 2,
        numbers_late: Some(Duration::ZERO),
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        prices: Some(PriceEndpoints {
            asks: || vec![RestRequest::new("/api/v1/info/markets", REQUESTS)],
            read: read_prices,
        }),
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `BTC-USD` into base and quote.
///
/// The name `NVDA_24_5-USD` is a market that is open five days a week.
fn market(native_id: &str) -> MarketName<'_> {
    match native_id.rsplit_once('-') {
        Some((base, quote)) => MarketName::new(before(base, b'_'), quote),
        None => MarketName::unnamed(native_id),
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
    data: JsonShape<Trade<'a>> = "data",
    error: JsonShape<Refusal<'a>> = "error",
    seq = "seq",
});

/// The message format of Extended.
struct Extended;

impl Protocol for Extended {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame or a REST body.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        // Only messages of other channels have a type.
        if let Some(kind) = text_of(message.kind) {
            return frame.other_channel(&JsonPath::ROOT.member("type"), &kind);
        }
        if message.status.is_some() {
            let words = match &message.error {
                JsonShape::Object(refusal) => [refusal.code, refusal.words],
                _ => [None, None],
            };
            REPLY.judge(frame, message.status, &words)?;
        } else if matches!(message.data, JsonShape::Missing) {
            return Err(frame.unknown());
        }
        frame.rows(&JsonPath::ROOT.member("data"), &message.data, liquidation)
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        Ok(match message.data {
            JsonShape::List(_) => FrameKind::Ack { topics: sent.all() },
            _ => FrameKind::Other,
        })
    }

    /// Returns the sequence number of a frame; frames of other channels are numbered separately and are ignored.
    fn numbers(message: &Message<'_>) -> Vec<SequenceNumber> {
        let message = Some(message).filter(|message| message.kind.is_none());
        let number = message.and_then(|message| {
            let number = SequenceNumber::read("", message.seq)?;
            let JsonShape::List(rows) = &message.data else {
                return Some(number);
            };
            let last = rows.iter().rev().find_map(|row| match row {
                JsonShape::Object(trade) => trade.time,
                _ => None,
            });
            Some(number.at_event_time(last))
        });
        number.into_iter().collect()
    }

    fn is_snapshot(message: &Message<'_>) -> bool {
        says(message.seq, "1")
    }
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
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
    let seen = RawLiquidation {
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

members!(Figures<'a> {
    mark = "markPrice",
});

members!(ListedMarket<'a> {
    name = "name",
    figures: JsonShape<Figures<'a>> = "marketStats",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let markets: JsonShape<ListedMarket<'_>> = REPLY.open(frame)?.read("data")?;
    quoted(
        &JsonPath::ROOT.member("data"),
        &markets,
        |market| match &market.figures {
            JsonShape::Object(figures) => LastPrice::read(market.name, figures.mark),
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
