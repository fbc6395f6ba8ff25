//! Lighter.
//!
//! - Channel: `trade/<market>`, with liquidations in `liquidation_trades`. The markets are distributed over several
//!   sockets, with one subscription message per market. Each acknowledgement repeats the last liquidations of its
//!   market.
//! - Side: the taker was liquidated. If the maker's order is not the ask, the taker sold, which closed a long.
//! - Units: base units and USD. The native id of a market is a number, and the market list has its name. The
//!   liquidation of a market without a known name has its number as symbol.
//! - Backfill: none.
//! - Source: <https://apidocs.lighter.xyz>
//!
//! The exchange also runs on another chain, as
//! [`lighter_robinhood`](crate::feeds::exchanges::decentralized::lighter_robinhood).

use std::time::Duration;

use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, joined, says, text_of};
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
    CALM, ConnectionPlan, Control, FrameKind, Heartbeat, PingMessage, SentSubscriptions, spread,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::Side;

/// Maximum number of subscriptions per connection.
const CHANNELS: usize = 100;
/// The control topic: the block height, sent for every block.
const CONTROL: &str = "height";
/// Minimum time between two subscriptions over all connections.
///
/// The exchange allows 200 messages per minute over all connections, pings included. This interval uses 150 messages;
/// the rest is for the pings of 16 connections.
const BETWEEN: Duration = Duration::from_millis(400);

/// Number of redundant sockets for each group of markets.
const CONNECTIONS: usize = 2;

/// The exchange allows 60 requests per minute.
const REQUESTS: RateLimit = RateLimit::of("requests", 54, 60);

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "code",
    fine: "200",
    said: &["code", "message"],
};

pub(crate) static VENUE: Venue = of(
    "lighter",
    &[
        ("socket", "wss://mainnet.zklighter.elliot.ai"),
        ("rest", "https://mainnet.zklighter.elliot.ai"),
    ],
);

/// Describes one deployment of the exchange.
pub(crate) const fn of(
    name: &'static str,
    hosts: &'static [(&'static str, &'static str)],
) -> Venue {
    Venue {
        rules: Rules {
            name,
            completeness: Completeness::Complete,
            // The native id is a market number; the market list has the name.
            market: |native_id| MarketName::unnamed(native_id),
            native: |_, _| None,
            contract: |_| None,
            channels: Channels {
                other: &[
                    "account",
                    "candle",
                    CONTROL,
                    "market_stats",
                    "notification",
                    "order_book",
                    "pool_",
                    "spot_market_stats",
                    "ticker",
                    "transaction",
                    "executed_transaction",
                    "user_stats",
                ],
                unreadable: &[],
            },
        },
        price_kinds: &[PriceKind::Fill],
        closed: None,
        hosts,
        messages: Messages::of::<Lighter>(),
        listen: SocketPlan {
            lines: ConnectionPlans::ByMarket(lines),
            subscription: |_, topics, _| {
                // Each message subscribes to one channel.
                let topic = topics.first().map(String::as_str).unwrap_or_default();
                json!({"type": "subscribe", "channel": topic}).to_string()
            },
            heartbeat: Heartbeat {
                signs: CALM,
                ..Heartbeat::each_20_seconds(PingMessage::Text(r#"{"type":"ping"}"#))
            },
            steady: |_| Control::Topic(CONTROL),
            // It is undocumented whether the exchange acknowledges this topic.
            answers_steady: false,
            redundant_connections: CONNECTIONS,
            between: BETWEEN,
            ..SocketPlan::NONE
        },
        rest: RestEndpoints {
            listings: || vec![RestRequest::new("/api/v1/orderBooks", REQUESTS)],
            read_listings,
            prices: Some(PriceEndpoints {
                asks: || vec![RestRequest::new("/api/v1/orderBookDetails", REQUESTS)],
                read: read_prices,
            }),
            ..RestEndpoints::NONE
        },
    }
}

members!(Trade<'a> {
    id = "trade_id",
    kind = "type",
    market_id = "market_id",
    size = "size",
    price = "price",
    usd_amount = "usd_amount",
    is_maker_ask = "is_maker_ask",
    ask = "ask_id",
    bid = "bid_id",
    timestamp = "timestamp",
});

members!(Message<'a> {
    kind = "type",
    liquidation_trades: JsonShape<Trade<'a>> = "liquidation_trades",
    error: JsonShape<Refusal<'a>> = "error",
    channel = "channel",
});

members!(Refusal<'a> {
    code = "code",
    words = "message",
});

/// The message format of Lighter.
struct Lighter;

impl Protocol for Lighter {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        match text_of(message.kind).as_deref() {
            // A market without liquidations sends `null`.
            Some("update/trade" | "subscribed/trade") => match &message.liquidation_trades {
                JsonShape::Missing => Ok(Vec::new()),
                rows => frame.rows(&JsonPath::ROOT.member("liquidation_trades"), rows, trade),
            },
            // Other messages are updates of other channels, replies and pings.
            Some(kind) => match kind.strip_prefix("update/") {
                Some(channel) => frame.other_channel(&JsonPath::ROOT.member("type"), channel),
                None => Ok(Vec::new()),
            },
            None if !matches!(message.error, JsonShape::Missing) => Ok(Vec::new()),
            None => Err(frame.unknown()),
        }
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        _sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        if let JsonShape::Object(refusal) = &message.error {
            let said = joined(&[refusal.code, refusal.words]);
            return Ok(FrameKind::Refused {
                topics: named(&said).map(str::to_owned).into_iter().collect(),
                message: said,
            });
        }
        Ok(match text_of(message.kind).as_deref() {
            // A channel is subscribed with a slash and acknowledged with a colon.
            Some("subscribed/trade") => FrameKind::Ack {
                topics: text_of(message.channel)
                    .map(|channel| channel.replacen(':', "/", 1))
                    .into_iter()
                    .collect(),
            },
            // The acknowledgement is undocumented and does not prove that block heights follow.
            Some("subscribed/height") => FrameKind::Ack {
                topics: vec![CONTROL.to_owned()],
            },
            Some("update/height") => FrameKind::Control,
            Some("update/trade") => FrameKind::Data,
            Some("pong") => FrameKind::Pong,
            _ => FrameKind::Other,
        })
    }

    fn answer(message: &Message<'_>) -> Option<String> {
        says(message.kind, "ping").then(|| r#"{"type":"pong"}"#.to_owned())
    }

    fn is_snapshot(message: &Message<'_>) -> bool {
        says(message.kind, "subscribed/trade")
    }
}

fn trade(frame: &Frame<'_>, place: &JsonPath<'_>, row: &Trade<'_>) -> Result<Option<Event>, Error> {
    if place.text("type", row.kind)? != "liquidation" {
        return Ok(None);
    }
    let native_id = place.name("market_id", row.market_id)?;
    let trade_id = place.name("trade_id", row.id)?;
    let qty = place.positive("size", row.size)?.value;
    let value = place.positive("usd_amount", row.usd_amount)?.value;
    let is_maker_ask = place.truth("is_maker_ask", row.is_maker_ask)?;
    let seen = RawLiquidation {
        native_id: &native_id,
        market: frame.market(&native_id),
        side: if is_maker_ask {
            Side::Short
        } else {
            Side::Long
        },
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: if frame.knows(&native_id) {
            Size::Turnover(qty, value)
        } else {
            Size::Unknown
        },
        timestamp: Some(place.instant("timestamp", row.timestamp)?),
        dedupe_key: format!("{}|{trade_id}", frame.name()),
    };
    let event = frame.event(place, seen)?;
    // The taker's order is the order of the liquidated account.
    let taker = text_of(if is_maker_ask { row.bid } else { row.ask });
    Ok(Some(match taker {
        Some(id) => event.of_order(&id),
        None => event,
    }))
}

fn lines(listings: &[Listing]) -> Vec<ConnectionPlan> {
    let mut markets: Vec<&str> = traded(listings)
        .map(|listing| listing.native_id.as_str())
        .collect();
    // Sort by market number, so that a new market comes last and all other markets stay on their connections.
    markets.sort_unstable_by_key(|market| (market.len(), *market));
    let topics = markets.into_iter().map(|market| format!("trade/{market}"));
    // One subscription of each connection is reserved for the block height.
    spread(topics, CHANNELS - 1, "/stream")
}

/// Returns the channel named in a refusal such as `... Invalid Channel: trade/7`.
fn named(said: &str) -> Option<&str> {
    said.split([' ', '(', ')', '"', ',']).find(|word| {
        let is_control = *word == CONTROL;
        is_control
            || word
                .strip_prefix("trade/")
                .is_some_and(|market| !market.is_empty())
    })
}

members!(Listed<'a> {
    id = "market_id",
    symbol = "symbol",
    kind = "market_type",
    status = "status",
});

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = REPLY.open(frame)?.read("order_books")?;
    let place = JsonPath::ROOT.member("order_books");
    let rows = frame.rows(&place, &markets, |_, place, market| {
        // Older replies list only perpetual contracts, without a type.
        if market.kind.is_some() && !says(market.kind, "perp") {
            return Ok(None);
        }
        let base = place.text("symbol", market.symbol)?;
        Ok(Some(Listing {
            native_id: place.name("market_id", market.id)?.into_owned(),
            // Every perpetual contract is settled in USD, and sizes are in base units.
            instrument: place.instrument(&base, "USD", "linear", "1")?,
            perpetual: true,
            trading: says(market.status, "active"),
        }))
    })?;
    Ok(RestPage::last(rows))
}

members!(Detailed<'a> {
    id = "market_id",
    mark = "mark_price",
    last = "last_trade_price",
});

/// Decodes the mark price of each perpetual contract.
///
/// Older replies have no mark price; the last trade price replaces it.
fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let markets: JsonShape<Detailed<'_>> = REPLY.open(frame)?.read("order_book_details")?;
    quoted(
        &JsonPath::ROOT.member("order_book_details"),
        &markets,
        |market| {
            LastPrice::read(market.id, market.mark)
                .or_else(|| LastPrice::read(market.id, market.last))
        },
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::exchanges::decentralized::lighter::*;
    use crate::feeds::testing::{listed, perpetual};

    #[test]
    fn connections_share_the_allowance_and_a_new_market_comes_last() {
        let listings = |count: usize| -> Vec<Listing> {
            let of = |number: usize| perpetual(number.to_string(), "COIN", "USD", true);
            (0..count).map(of).collect()
        };
        let (before, after) = (lines(&listings(150)), lines(&listings(151)));
        let counts: Vec<usize> = before.iter().map(|line| line.batches.len()).collect();
        assert_eq!(counts, [CHANNELS - 1, 51], "and the height is one more");
        assert_eq!(before.first(), after.first());
        assert_ne!(before.last(), after.last());
        // The limit covers the subscriptions and the pings of all redundant sockets.
        let sockets = u32::try_from(before.len() * VENUE.redundant_connections()).unwrap();
        let each = before.iter().map(|line| line.between).sum::<Duration>();
        assert_eq!(
            each,
            Duration::ZERO,
            "they do not wait by themselves as well"
        );
        let messages = 60.0 / VENUE.between().as_secs_f64() + 3.0 * f64::from(sockets);
        assert!(messages <= 200.0, "{messages}");
    }

    #[test]
    fn a_refusal_names_its_channel() {
        assert_eq!(named("30005 Invalid Channel: trade/7"), Some("trade/7"));
        assert_eq!(named("30003 Invalid Message"), None);
        assert_eq!(named("30003 trade/"), None);
    }

    #[test]
    fn perpetuals_are_listed_under_their_numbers() {
        let body = r#"{"code":200,"order_books":[
            {"symbol":"ETH","market_id":0,"market_type":"perp","status":"active"},
            {"symbol":"1000PEPE","market_id":4,"status":"inactive"},
            {"symbol":"ETH/USDC","market_id":2048,"market_type":"spot","status":"active"}]}"#;
        let (listed, faults) = listed(&VENUE, body);
        assert_eq!(
            listed,
            ["0 ETH/USD Linear 1", "4 1000PEPE/USD Linear 1 closed"]
        );
        assert!(faults.is_empty(), "{faults:?}");
    }
}
