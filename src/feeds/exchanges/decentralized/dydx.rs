//! `dYdX` v4.
//!
//! - Channel: `v4_trades`, and the REST path `/v4/trades/perpetualMarket/<market>`. Only trades of type `LIQUIDATED`
//!   count, not those of type `DELEVERAGED`. Each market has a subscription; the number of subscriptions per connection
//!   is limited. Each acknowledgement repeats the last trades. The messages of a connection are numbered from 0. An
//!   acknowledgement gets its number when the request arrives, but is sent later, after its trades have been read.
//! - Side: the side of the taker, who was liquidated; `SELL` closed a long.
//! - Units: base units. The REST body does not name its market, so the caller passes only the instrument of that
//!   market.
//! - Backfill: by market, newest trades first.
//! - Source: <https://docs.dydx.xyz>

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::{JsonPath, says, text_of};
use crate::feeds::decoding::market_name;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::paging;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    ConnectionPlan, Control, FrameKind, Heartbeat, PingMessage, STEADY, SentSubscriptions,
    SequenceNumber, spread,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::Millis;

const CHANNEL: &str = "v4_trades";
/// The control topic: the block height, sent for every block.
const CONTROL: &str = "v4_block_height";
/// Maximum number of subscriptions to one channel per connection.
const CHANNELS: usize = 32;
/// Minimum time between two subscriptions.
///
/// The exchange allows two subscriptions per second. The interval is longer than half a second, because network delay
/// may bring messages closer together.
const BETWEEN: Duration = Duration::from_millis(600);

/// The exchange allows 100 requests in 10 seconds.
const REQUESTS: RateLimit = RateLimit::of("requests", 90, 10);
/// Maximum number of trades in a reply.
const TRADES: usize = 1000;

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "dydx",
        completeness: Completeness::Complete,
        market: market_name::dashed,
        native: |base, quote| (quote == "USD").then(|| format!("{base}-USD")),
        contract: |_| None,
        channels: Channels {
            other: &[
                CONTROL,
                "v4_candles",
                "v4_markets",
                "v4_orderbook",
                "v4_parent_subaccounts",
                "v4_subaccounts",
            ],
            unreadable: &[(
                "v3_",
                "version 3 of the exchange was closed in October 2024; version 4 has \"v4_trades\"",
            )],
        },
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://indexer.dydx.trade"),
        ("rest", "https://indexer.dydx.trade"),
    ],
    messages: Messages::of::<Dydx>(),
    listen: SocketPlan {
        lines: ConnectionPlans::ByMarket(lines),
        subscription: |_, topics, _| {
            if topics == [CONTROL] {
                return json!({"type": "subscribe", "channel": CONTROL}).to_string();
            }
            // Each message subscribes to one market.
            let market = topics.first().map(String::as_str).unwrap_or_default();
            json!({"type": "subscribe", "channel": CHANNEL, "id": market}).to_string()
        },
        heartbeat: Heartbeat {
            signs: STEADY,
            ..Heartbeat::each_20_seconds(PingMessage::Protocol)
        },
        steady: |_| Control::Topic(CONTROL),
        numbers_late: Some(Duration::from_secs(10)),
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || vec![RestRequest::new("/v4/perpetualMarkets", REQUESTS)],
        read_listings,
        prices: Some(PriceEndpoints::listed(read_prices)),
        look_back: 7 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

members!(Trade<'a> {
    id = "id",
    size = "size",
    price = "price",
    side = "side",
    created_at = "createdAt",
    kind = "type",
});

members!(Tape<'a> {
    trades: JsonShape<Trade<'a>> = "trades",
});

members!(Message<'a> {
    kind = "type",
    _connection: IgnoredAny = "connection_id",
    number = "message_id",
    id = "id",
    channel = "channel",
    _version: IgnoredAny = "version",
    contents: JsonShape<Tape<'a>> = "contents",
    trades: JsonShape<Trade<'a>> = "trades",
    errors = "errors",
    said = "message",
});

/// The message format of `dYdX`.
struct Dydx;

impl Protocol for Dydx {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        if message.errors.is_some() {
            return Err(frame.refused(root.member("errors"), "with errors"));
        }
        if let JsonShape::List(_) = &message.trades {
            return tape(frame, &root, None, &message.trades);
        }
        let Some(kind) = text_of(message.kind) else {
            return Err(frame.unknown());
        };
        if message.channel.is_none() {
            return match &*kind {
                "connected" | "error" | "pong" | "unsubscribed" => Ok(Vec::new()),
                _ => Err(frame.unknown()),
            };
        }
        let carries = ["subscribed", "channel_data", "channel_batch_data"].contains(&&*kind);
        if !carries {
            return Ok(Vec::new());
        }
        let channel = root.name("channel", message.channel)?;
        if channel != CHANNEL {
            return frame.other_channel(&root.member("channel"), &channel);
        }
        let market = root.name("id", message.id)?;
        let place = root.member("contents");
        match &message.contents {
            JsonShape::Object(one) => tape(frame, &place, Some(&market), &one.trades),
            several => {
                let mut events = Vec::new();
                for (index, item) in place.list(several)?.iter().enumerate() {
                    let place = place.item(index);
                    let one = place.object(item)?;
                    events.extend(tape(frame, &place, Some(&market), &one.trades)?);
                }
                Ok(events)
            }
        }
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        _sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let id = text_of(message.id).map(Cow::into_owned);
        Ok(match text_of(message.kind).as_deref() {
            Some("subscribed") if says(message.channel, CHANNEL) => FrameKind::Ack {
                topics: id.into_iter().collect(),
            },
            // This acknowledgement contains a block height but does not prove that further heights follow.
            Some("subscribed") if says(message.channel, CONTROL) => FrameKind::Ack {
                topics: vec![CONTROL.to_owned()],
            },
            Some("channel_data" | "channel_batch_data") if says(message.channel, CONTROL) => {
                FrameKind::Control
            }
            Some("channel_data" | "channel_batch_data") => FrameKind::Data,
            Some("error") => {
                let said = text_of(message.said).unwrap_or_default();
                FrameKind::Refused {
                    topics: id
                        .or_else(|| named(&said).map(str::to_owned))
                        .or_else(|| said.contains(CONTROL).then(|| CONTROL.to_owned()))
                        .into_iter()
                        .collect(),
                    message: said.into_owned(),
                }
            }
            _ => FrameKind::Other,
        })
    }

    /// Returns the sequence number of a message, with the time of its newest trade.
    fn numbers(message: &Message<'_>) -> Vec<SequenceNumber> {
        let tapes: &[JsonShape<Tape<'_>>] = match &message.contents {
            JsonShape::List(several) => several,
            one => std::slice::from_ref(one),
        };
        let trades = tapes.iter().filter_map(|tape| match tape {
            JsonShape::Object(Tape {
                trades: JsonShape::List(rows),
            }) => Some(rows),
            _ => None,
        });
        let number = SequenceNumber::read("", message.number);
        let times = trades.flatten().filter_map(|row| match row {
            JsonShape::Object(trade) => number.clone()?.at_event_time(trade.created_at).at,
            _ => None,
        });
        let at = times.max();
        number
            .map(|number| SequenceNumber { at, ..number })
            .into_iter()
            .collect()
    }

    fn is_snapshot(message: &Message<'_>) -> bool {
        says(message.kind, "subscribed")
    }
}

fn tape(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    market: Option<&str>,
    trades: &JsonShape<Trade<'_>>,
) -> Result<Vec<Event>, Error> {
    frame.rows(&place.member("trades"), trades, |frame, place, row| {
        liquidation(frame, place, market, row)
    })
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    market: Option<&str>,
    row: &Trade<'_>,
) -> Result<Option<Event>, Error> {
    if place.text("type", row.kind)? != "LIQUIDATED" {
        return Ok(None);
    }
    let native_id = match market {
        Some(market) => market,
        None => frame.only_market(place)?,
    };
    let (_, side) = place.side("side", row.side, "SELL", "BUY")?;
    let id = place.name("id", row.id)?;
    let seen = RawLiquidation {
        native_id,
        market: frame.market(native_id),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: Size::Base(place.positive("size", row.size)?.value),
        timestamp: Some(place.instant("createdAt", row.created_at)?),
        dedupe_key: format!("dydx|{id}"),
    };
    frame.event(place, seen).map(Some)
}

fn lines(listings: &[Listing]) -> Vec<ConnectionPlan> {
    let mut markets: Vec<String> = traded(listings)
        .map(|listing| listing.native_id.clone())
        .collect();
    markets.sort_unstable();
    let mut lines = spread(markets, CHANNELS, "/v4/ws");
    for line in &mut lines {
        line.between = BETWEEN;
    }
    lines
}

/// Returns the market named in a refusal such as `... (v4_trades-BTC-USD)` or `... v4_trades-BTC-USD. ...`.
fn named(said: &str) -> Option<&str> {
    let (_, behind) = said.split_once(CHANNEL)?;
    let word = behind.strip_prefix('-')?.split([')', ' ']).next()?;
    let market = word.strip_suffix('.').unwrap_or(word);
    (!market.is_empty()).then_some(market)
}

members!(Listed<'a> {
    ticker = "ticker",
    status = "status",
    oracle = "oraclePrice",
});

/// Returns the markets of a market list, keyed by name.
fn markets<'a>(frame: &Frame<'a>) -> Result<JsonShape<Listed<'a>>, Error> {
    let markets: Option<BTreeMap<String, JsonShape<Listed<'_>>>> =
        frame.members()?.read("markets")?;
    let markets = markets.ok_or_else(|| frame.unknown())?;
    Ok(JsonShape::List(markets.into_values().collect()))
}

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    quoted(
        &JsonPath::ROOT.member("markets"),
        &markets(frame)?,
        |market| LastPrice::read(market.ticker, market.oracle),
    )
}

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let list = markets(frame)?;
    let place = JsonPath::ROOT.member("markets");
    let rows = frame.rows(&place, &list, |_, place, market| {
        let ticker = place.name("ticker", market.ticker)?;
        let (name, quote) = ticker.rsplit_once('-').ok_or_else(|| {
            place
                .member("ticker")
                .fault("has no dash between base and quote")
        })?;
        // In some names, the base is followed by commas with the exchange and the address of the price.
        let base = name.split_once(',').map_or(name, |(base, _)| base);
        Ok(Some(Listing {
            instrument: place.instrument(base, quote, "linear", "1")?,
            perpetual: true,
            trading: says(market.status, "ACTIVE"),
            native_id: ticker.clone().into_owned(),
        }))
    })?;
    Ok(RestPage::last(rows))
}

/// Returns one backfill request per market, newest trades first.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    traded(listings)
        .map(|listing| {
            let path = format!("/v4/trades/perpetualMarket/{}", listing.native_id);
            let ask = RestRequest::new(&path, REQUESTS)
                .with("limit", TRADES)
                .about(&listing.native_id);
            page(&ask, from, until)
        })
        .collect()
}

/// Builds the request for the trades before `until`.
fn page(ask: &RestRequest, from: Millis, until: Millis) -> RestRequest {
    ask.again_with("createdBeforeOrAt", until.back(1))
        .between(from, until)
}

fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let tape: Tape<'_> = frame.object()?;
    let root = JsonPath::ROOT;
    let place = root.member("trades");
    let times = frame.rows(&place, &tape.trades, |_, place, row| {
        place.instant("createdAt", row.created_at).map(Some)
    })?;
    paging::earlier(ask, frame, &place, &times, TRADES, page)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::decentralized::dydx::*;
    use crate::feeds::testing::{listed, perpetual};

    #[test]
    fn no_connection_has_more_markets_than_it_may() {
        let listings: Vec<Listing> = (0..70)
            .map(|number| perpetual(format!("COIN{number:02}-USD"), "COIN", "USD", number != 7))
            .collect();
        let lines = lines(&listings);
        let counts: Vec<usize> = lines.iter().map(|line| line.batches.len()).collect();
        assert_eq!(counts, [32, 32, 5]);
        let topics: Vec<String> = lines
            .iter()
            .flat_map(|line| line.batches.concat())
            .collect();
        assert_eq!(topics.len(), 69);
        assert!(!topics.contains(&"COIN07-USD".to_owned()));
        assert!(
            lines
                .iter()
                .all(|line| line.batches.iter().all(|one| one.len() == 1))
        );
    }

    #[test]
    fn a_refusal_names_its_market() {
        let of = named;
        assert_eq!(
            of("Invalid subscription id for channel: (v4_trades-BTC-USD)"),
            Some("BTC-USD")
        );
        assert_eq!(
            of("Too many subscribe attempts for channel v4_trades-ETH-USD. Please reconnect"),
            Some("ETH-USD")
        );
        assert_eq!(
            of("Per-connection subscription limit reached for v4_trades (limit=32)."),
            None
        );
        assert_eq!(of("Invalid message type"), None);
    }

    #[test]
    fn markets_are_listed_by_ticker_even_where_it_carries_an_address() {
        let body = r#"{"markets":{
            "BTC-USD":{"ticker":"BTC-USD","status":"ACTIVE"},
            "OLD-USD":{"ticker":"OLD-USD","status":"FINAL_SETTLEMENT"},
            "PUP,RAYDIUM,9B5X-USD":{"ticker":"PUP,RAYDIUM,9B5X-USD","status":"ACTIVE"},
            "X":{"ticker":"X","status":"ACTIVE"}}}"#;
        let (listed, faults) = listed(&VENUE, body);
        assert_eq!(
            listed,
            [
                "BTC-USD BTC/USD Linear 1",
                "OLD-USD OLD/USD Linear 1 closed",
                "PUP,RAYDIUM,9B5X-USD PUP/USD Linear 1",
            ]
        );
        assert_eq!(
            faults,
            ["markets[3].ticker: has no dash between base and quote"]
        );
    }
}
