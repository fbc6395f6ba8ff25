//! Kraken Futures.
//!
//! - Channel: the feed `trade` with its snapshot, and the REST path `/derivatives/api/v3/history`. Only trades of type
//!   `liquidation` count. A snapshot has the last 100 trades of a market, a REST reply has 100 trades before a given
//!   time. One socket covers every market; its control topic is the feed `heartbeat`. The trades of each market are
//!   numbered.
//! - Side: `side` is the side of the taker, who was liquidated; `sell` closed a long.
//! - Units: USD on contracts named `PI_` and `FI_`, base units on contracts named `PF_`. The REST body does not name
//!   its market, so the caller passes only the instrument of that market.
//! - Backfill: by market and time.
//! - Source: <https://docs.kraken.com/exchange/api-reference/futures-websocket/trade>

use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, says, text_of};
use crate::feeds::decoding::market_name::{MarketName, before};
use crate::feeds::decoding::raw_json::{JsonMember, JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, SizeUnit, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::paging;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    ConnectionPlan, Control, FrameKind, Heartbeat, PingMessage, STEADY, SentSubscriptions,
    SequenceNumber, batched,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::Millis;

/// Number of markets per subscription message.
///
/// It is small, because a refusal does not name the invalid market.
const BATCH: usize = 10;

/// The exchange allows 500 requests in 10 seconds.
const REQUESTS: RateLimit = RateLimit::of("requests", 450, 10);
/// Maximum number of trades in a reply.
const TRADES: usize = 100;

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "result",
    fine: "success",
    said: &["error"],
};

/// The control topic: the exchange's heartbeat, sent once per second.
const CONTROL: &str = "heartbeat";

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "kraken",
        completeness: Completeness::Complete,
        market,
        native: |base, quote| {
            let base = if base == "BTC" { "XBT" } else { base };
            (quote == "USD").then(|| format!("PF_{base}USD"))
        },
        contract: |native_id| {
            let kind = match native_id.split_once('_')?.0 {
                "PI" | "FI" => SizeUnit::Inverse,
                "PF" => SizeUnit::Linear,
                _ => return None,
            };
            Some((kind, Decimal::ONE))
        },
        channels: Channels {
            other: &[
                "account",
                "balances",
                "book",
                "challenge",
                "deposits_withdrawals",
                "fills",
                CONTROL,
                "notifications_auth",
                "open_",
                "ticker",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://futures.kraken.com"),
        ("rest", "https://futures.kraken.com"),
    ],
    messages: Messages::of::<Kraken>(),
    listen: SocketPlan {
        lines: ConnectionPlans::ByMarket(lines),
        subscription: |_, topics, _| {
            if topics == [CONTROL] {
                return json!({"event": "subscribe", "feed": CONTROL}).to_string();
            }
            json!({"event": "subscribe", "feed": "trade", "product_ids": topics}).to_string()
        },
        heartbeat: Heartbeat {
            signs: STEADY,
            ..Heartbeat::each_20_seconds(PingMessage::Protocol)
        },
        steady: |_| Control::Topic(CONTROL),
        steady_frames: &[r#"{"feed":"heartbeat","time":"#],
        numbers_late: Some(Duration::ZERO),
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || {
            vec![RestRequest::new(
                "/derivatives/api/v3/instruments",
                REQUESTS,
            )]
        },
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || vec![RestRequest::new("/derivatives/api/v3/tickers", REQUESTS)],
            read: read_prices,
        }),
        look_back: 7 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `PF_XBTUSD`, `PI_XBTUSD` and `FI_XBTUSD_261225`.
fn market(native_id: &str) -> MarketName<'_> {
    let behind = native_id
        .split_once('_')
        .map_or(native_id, |(_, name)| name);
    MarketName::joined(before(behind, b'_'))
}

members!(
    /// A trade, or a message with a list of trades.
    Message<'a> {
    feed = "feed",
    product = "product_id",
    uid = "uid",
    side = "side",
    kind = "type",
    seq = "seq",
    time = "time",
    qty = "qty",
    price = "price",
    size = "size",
    event = "event",
    trades: Trades<'a> = "trades",
    result = "result",
    error = "error",
    history: Trades<'a> = "history",
    products = "product_ids",
    said = "message",
});

/// A list of trades, if any.
type Trades<'a> = Option<Box<JsonShape<Message<'a>>>>;

/// Returns the JSON value of a list of trades.
fn list<'t, 'a>(trades: &'t Trades<'a>) -> &'t JsonShape<Message<'a>> {
    trades.as_deref().unwrap_or(&JsonShape::Missing)
}

/// The message format of Kraken.
struct Kraken;

impl Protocol for Kraken {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        if message.event.is_some() {
            return Ok(Vec::new());
        }
        match text_of(message.feed).as_deref() {
            Some("trade") => Ok(liquidation(frame, &root, message)?.into_iter().collect()),
            Some("trade_snapshot") => {
                frame.rows(&root.member("trades"), list(&message.trades), liquidation)
            }
            Some(other) => frame.other_channel(&root.member("feed"), other),
            None => {
                REPLY.judge(frame, message.result, &[message.error])?;
                frame.rows(&root.member("history"), list(&message.history), liquidation)
            }
        }
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        _sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let feed = text_of(message.feed);
        let products = || products(message.products);
        let said = [message.said];
        Ok(match (text_of(message.event).as_deref(), feed.as_deref()) {
            (Some("subscribed"), Some("trade")) => FrameKind::Ack { topics: products() },
            (Some("subscribed"), Some(CONTROL)) => FrameKind::Ack {
                topics: vec![CONTROL.to_owned()],
            },
            (Some("subscribed_failed"), Some(CONTROL)) => {
                FrameKind::refused(vec![CONTROL.to_owned()], &said)
            }
            (Some("subscribed_failed"), Some("trade")) => FrameKind::refused(products(), &said),
            (Some("error" | "alert"), _) => FrameKind::refused(Vec::new(), &said),
            (None, Some(CONTROL)) => FrameKind::Control,
            (None, Some("trade" | "trade_snapshot")) => FrameKind::Data,
            _ => FrameKind::Other,
        })
    }

    /// Returns the sequence numbers of each market's trades.
    ///
    /// They continue from the newest trade of the market's snapshot.
    fn numbers(message: &Message<'_>) -> Vec<SequenceNumber> {
        let of = |trade: &Message<'_>| {
            let number = SequenceNumber::read(&text_of(trade.product)?, trade.seq)?;
            Some(number.at_event_time(trade.time))
        };
        match (text_of(message.feed).as_deref(), list(&message.trades)) {
            (Some("trade"), _) => of(message).into_iter().collect(),
            (Some("trade_snapshot"), JsonShape::List(rows)) => {
                let rows = rows.iter().filter_map(|row| match row {
                    JsonShape::Object(trade) => of(trade),
                    _ => None,
                });
                let newest = rows.max_by_key(|one| one.number);
                let newest = newest.map(|one| SequenceNumber {
                    begins: true,
                    ..one
                });
                newest.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_snapshot(message: &Message<'_>) -> bool {
        says(message.feed, "trade_snapshot")
    }
}

fn liquidation(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &Message<'_>,
) -> Result<Option<Event>, Error> {
    if place.text("type", row.kind)? != "liquidation" {
        return Ok(None);
    }
    let native_id = match row.product {
        Some(_) => place.name("product_id", row.product)?,
        None => frame.only_market(&place.member("product_id"))?.into(),
    };
    let uid = place.name("uid", row.uid)?;
    let (_, side) = place.side("side", row.side, "sell", "buy")?;
    let traded = match row.qty {
        Some(_) => place.positive("qty", row.qty)?,
        None => place.positive("size", row.size)?,
    };
    let seen = RawLiquidation {
        native_id: &native_id,
        market: frame.market(&native_id),
        side,
        price: place.positive("price", row.price)?.value,
        price_kind: PriceKind::Fill,
        size: Size::Contracts(traded.value),
        timestamp: Some(place.instant("time", row.time)?),
        dedupe_key: format!("kraken|{uid}"),
    };
    frame.event(place, seen).map(Some)
}

fn lines(listings: &[Listing]) -> Vec<ConnectionPlan> {
    let mut products: Vec<String> = traded(listings)
        .map(|listing| listing.native_id.clone())
        .collect();
    if products.is_empty() {
        return Vec::new();
    }
    products.sort_unstable();
    vec![ConnectionPlan::of(
        "trades",
        "/ws/v1",
        batched(products, BATCH),
    )]
}

/// Returns the markets named in a reply.
fn products(cell: JsonMember<'_>) -> Vec<String> {
    cell.and_then(|list| serde_json::from_str(list.text()).ok())
        .unwrap_or_default()
}

members!(Listed<'a> {
    symbol = "symbol",
    kind = "type",
    base = "base",
    quote = "quote",
    size = "contractSize",
    tradeable = "tradeable",
});

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = REPLY.open(frame)?.read("instruments")?;
    let place = JsonPath::ROOT.member("instruments");
    let rows = frame.rows(&place, &markets, |_, place, listed| {
        let kind = match &*place.text("type", listed.kind)? {
            "flexible_futures" => "linear",
            "futures_inverse" => "inverse",
            // Indices and options are omitted.
            _ => return Ok(None),
        };
        let native_id = place.name("symbol", listed.symbol)?;
        // Older market lists do not state base and quote, only the contract name.
        let (base, quote) = if listed.base.is_some() && listed.quote.is_some() {
            (
                place.text("base", listed.base)?,
                place.text("quote", listed.quote)?,
            )
        } else {
            let named = market(&native_id);
            (named.base, named.quote)
        };
        let size = place.text("contractSize", listed.size)?;
        Ok(Some(Listing {
            instrument: place.instrument(&base, &quote, kind, &size)?,
            // In the names of dated contracts, a delivery date follows a second underscore.
            perpetual: native_id.split('_').count() == 2,
            trading: place.truth("tradeable", listed.tradeable)?,
            native_id: native_id.clone().into_owned(),
        }))
    })?;
    Ok(RestPage::last(rows))
}

members!(Ticker<'a> {
    symbol = "symbol",
    mark = "markPrice",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let tickers: JsonShape<Ticker<'_>> = REPLY.open(frame)?.read("tickers")?;
    quoted(&JsonPath::ROOT.member("tickers"), &tickers, |ticker| {
        LastPrice::read(ticker.symbol, ticker.mark)
    })
}

/// Returns one backfill request per market, newest trades first.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    traded(listings)
        .map(|listing| {
            let ask = RestRequest::new("/derivatives/api/v3/history", REQUESTS)
                .with("symbol", &listing.native_id)
                .about(&listing.native_id);
            page(&ask, from, until)
        })
        .collect()
}

/// Builds the request for the trades before `until`.
fn page(ask: &RestRequest, from: Millis, until: Millis) -> RestRequest {
    ask.again_with("lastTime", until).between(from, until)
}

fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let trades: JsonShape<Message<'_>> = REPLY.open(frame)?.read("history")?;
    let root = JsonPath::ROOT;
    let place = root.member("history");
    let times = frame.rows(&place, &trades, |_, place, row| {
        place.instant("time", row.time).map(Some)
    })?;
    paging::earlier(ask, frame, &place, &times, TRADES, page)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::kraken::VENUE;
    use crate::feeds::testing::{come_down, listed};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["PF_XBTUSD", "BTCUSD", "BTC"],
                ["PI_XBTUSD", "BTCUSD", "BTC"],
                ["FI_XBTUSD_261225", "BTCUSD", "BTC"],
                ["PF_XDGUSD", "DOGEUSD", "DOGE"],
                ["PF_ARBUSD", "ARBUSD", "ARB"],
            ],
        );
    }

    #[test]
    fn futures_are_listed_with_or_without_their_pair() {
        let body = r#"{"result":"success","instruments":[
            {"symbol":"PF_XBTUSD","type":"flexible_futures","base":"BTC","quote":"USD","contractSize":1,"tradeable":true},
            {"symbol":"PF_XDGUSD","type":"flexible_futures","contractSize":1,"tradeable":false},
            {"symbol":"FI_XBTUSD_270326","type":"futures_inverse","base":"BTC","quote":"USD","contractSize":1,"tradeable":true},
            {"symbol":"in_xbtusd","type":"spot index","tradeable":false},
            {"symbol":"PF_ETHUSD","type":"flexible_futures","contractSize":0,"tradeable":true}]}"#;
        let (listed, faults) = listed(&VENUE, body);
        assert_eq!(
            listed,
            [
                "PF_XBTUSD BTC/USD Linear 1",
                "PF_XDGUSD DOGE/USD Linear 1 closed",
                "FI_XBTUSD_270326 BTC/USD Inverse 1 dated",
            ]
        );
        let [fault] = faults.as_slice() else {
            unreachable!("{faults:?}");
        };
        assert!(
            fault.starts_with("instruments[4]: contract_size \"0\""),
            "{fault}"
        );
    }
}
