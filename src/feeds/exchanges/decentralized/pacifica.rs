//! Pacifica.
//!
//! - Channel: `trades`, subscribed per market with one message each; the number of markets per connection is limited.
//!   The member `tc` is the cause of a trade.
//! - Side: a trade has the direction of the taker. For a liquidation, this direction names the closed position:
//!   `close_long` closed a long.
//! - Units: base units.
//! - Backfill: none. A subscription sends no past trades, and REST sends them without ids.
//! - Source: <https://docs.pacifica.fi>

use std::borrow::Cow;
use std::time::Duration;

use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    ConnectionPlan, FrameKind, Heartbeat, PingMessage, SentSubscriptions, spread,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};

/// Maximum number of subscriptions to one channel per connection.
const CHANNELS: usize = 20;
/// Minimum time between two messages on a connection.
const BETWEEN: Duration = Duration::from_millis(100);
/// Lifetime after which a socket is replaced; the exchange closes a connection after 24 hours.
const ROTATION: Duration = Duration::from_hours(23);
/// The exchange allows 100 requests per minute without an API key.
const REQUESTS: RateLimit = RateLimit::of("requests", 90, 60);

/// Weight of the request for the prices of all markets. It is undocumented, so that of a heavy request is assumed.
const PRICES_WEIGHT: u32 = 12;

/// Settlement currency of every contract.
const QUOTE: &str = "USDC";

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "success",
    fine: "true",
    said: &["code", "error"],
};

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "pacifica",
        completeness: Completeness::Complete,
        // Names have the form `BTC` or `kPEPE`.
        market: |native_id| MarketName::new(native_id, QUOTE),
        native: |_, _| None,
        contract: |_| None,
        channels: Channels {
            // The last entries are replies.
            other: &[
                "account_",
                "bbo",
                "book",
                "candle",
                "mark_price_candle",
                "orderbook",
                "prices",
                "batch_",
                "cancel_",
                "create_",
                "edit_",
                "ping",
                "pong",
                "subscribe",
                "unsubscribe",
            ],
            unreadable: &[(
                "account_liquidations",
                "it contains the liquidations of one account; the liquidations of the whole market are in \"trades\"",
            )],
        },
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://ws.pacifica.fi"),
        ("rest", "https://api.pacifica.fi"),
    ],
    messages: Messages::of::<Pacifica>(),
    listen: SocketPlan {
        lines: ConnectionPlans::ByMarket(lines),
        subscription: |_, topics, _| {
            // Each message subscribes to one market.
            let market = topics.first().map(String::as_str).unwrap_or_default();
            let params = json!({"source": "trades", "symbol": market});
            json!({"method": "subscribe", "params": params}).to_string()
        },
        heartbeat: Heartbeat::each_20_seconds(PingMessage::Text(r#"{"method":"ping"}"#)),
        rotation: Some(ROTATION),
        redundant_connections: 2,
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || vec![RestRequest::new("/api/v1/info", REQUESTS)],
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || {
                vec![RestRequest::new("/api/v1/info/prices", REQUESTS).weighing(PRICES_WEIGHT)]
            },
            read: read_prices,
        }),
        ..RestEndpoints::NONE
    },
};

members!(Trade<'a> {
    id = "h",
    symbol = "s",
    amount = "a",
    price = "p",
    side = "d",
    cause = "tc",
    time = "t",
});

members!(Message<'a> {
    channel = "channel",
    data: JsonShape<Trade<'a>> = "data",
    error = "error",
    code = "code",
    words = "err",
});

/// The message format of Pacifica.
struct Pacifica;

impl Protocol for Pacifica {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        if says(message.channel, "trades") {
            return frame.rows(&JsonPath::ROOT.member("data"), &message.data, liquidation);
        }
        if let Some(channel) = text_of(message.channel) {
            return frame.other_channel(&JsonPath::ROOT.member("channel"), &channel);
        }
        // A message without a channel must be a refusal.
        if message.error.or(message.words).is_none() {
            return Err(frame.unknown());
        }
        Ok(Vec::new())
    }

    fn kind(
        frame: &Frame<'_>,
        message: &Message<'_>,
        _sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        Ok(match text_of(message.channel).as_deref() {
            Some("trades") => FrameKind::Data,
            Some("pong") => FrameKind::Pong,
            Some("subscribe") => match frame.object::<Reply<'_>>()?.topic {
                JsonShape::Object(topic) if says(topic.source, "trades") => FrameKind::Ack {
                    topics: text_of(topic.symbol)
                        .map(Cow::into_owned)
                        .into_iter()
                        .collect(),
                },
                _ => FrameKind::Other,
            },
            Some(_) => FrameKind::Other,
            // The refusal does not name the refused subscription.
            None => {
                let said = [message.code, message.error, message.words];
                FrameKind::refused(Vec::new(), &said)
            }
        })
    }
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &Trade<'_>,
) -> Result<Option<Event>, Error> {
    let cause = place.text("tc", row.cause)?;
    match &*cause {
        "normal" | "settlement" => return Ok(None),
        "market_liquidation" | "backstop_liquidation" | "insolvency_liquidation" => {}
        _ => {
            let message = format!("{} is not a known cause of a trade", shown(&cause));
            return Err(place.member("tc").fault(message));
        }
    }
    let native_id = place.name("s", row.symbol)?;
    let id = place.name("h", row.id)?;
    let (_, side) = place.side("d", row.side, "close_long", "close_short")?;
    let seen = RawLiquidation {
        native_id: &native_id,
        market: frame.market(&native_id),
        side,
        price: place.positive("p", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: Size::Base(place.positive("a", row.amount)?.value),
        timestamp: Some(place.instant("t", row.time)?),
        dedupe_key: format!("pacifica|{native_id}|{id}"),
    };
    frame.event(place, seen).map(Some)
}

fn lines(listings: &[Listing]) -> Vec<ConnectionPlan> {
    let mut markets: Vec<String> = traded(listings)
        .map(|listing| listing.native_id.clone())
        .collect();
    markets.sort_unstable();
    let mut lines = spread(markets, CHANNELS, "/ws");
    for line in &mut lines {
        line.between = BETWEEN;
    }
    lines
}

members!(Topic<'a> {
    source = "source",
    symbol = "symbol",
});

members!(Reply<'a> {
    topic: JsonShape<Topic<'a>> = "data",
});

members!(Listed<'a> {
    symbol = "symbol",
});

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = REPLY.open(frame)?.read("data")?;
    let rows = frame.rows(
        &JsonPath::ROOT.member("data"),
        &markets,
        |_, place, market| {
            let native_id = place.name("symbol", market.symbol)?;
            Ok(Some(Listing {
                // Every market is a perpetual contract with a size of one base unit.
                instrument: place.instrument(&native_id, QUOTE, "linear", "1")?,
                perpetual: true,
                trading: true,
                native_id: native_id.into_owned(),
            }))
        },
    )?;
    Ok(RestPage::last(rows))
}

members!(Marked<'a> {
    symbol = "symbol",
    mark = "mark",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let prices: JsonShape<Marked<'_>> = REPLY.open(frame)?.read("data")?;
    quoted(&JsonPath::ROOT.member("data"), &prices, |row| {
        LastPrice::read(row.symbol, row.mark)
    })
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::decentralized::pacifica::*;
    use crate::feeds::testing::{come_down, listed, perpetual};

    #[test]
    fn no_connection_has_more_markets_than_it_may() {
        let listings: Vec<Listing> = (0..50)
            .map(|number| perpetual(format!("COIN{number:02}"), "COIN", QUOTE, true))
            .collect();
        let lines = lines(&listings);
        let counts: Vec<usize> = lines.iter().map(|line| line.batches.len()).collect();
        assert_eq!(counts, [CHANNELS, CHANNELS, 10]);
    }

    #[test]
    fn markets_are_listed_by_their_coin() {
        let body = r#"{"success":true,"data":[{"symbol":"BTC","tick_size":"1","lot_size":"0.00001"},
            {"symbol":"kPEPE","lot_size":"1"},{"symbol":" "}],"error":null,"code":null}"#;
        let (listed, faults) = listed(&VENUE, body);
        assert_eq!(
            listed,
            ["BTC BTC/USDC Linear 1", "kPEPE kPEPE/USDC Linear 1"]
        );
        assert_eq!(faults, ["data[2].symbol: is blank"]);
        come_down(
            &VENUE,
            &[["BTC", "BTCUSDC", "BTC"], ["kPEPE", "KPEPEUSDC", "PEPE"]],
        );
    }
}
