//! Deribit.
//!
//! - Channel: all trades in `trades.*`, and the replies of `get_last_trades_by_*`. Trades of options and combinations
//!   are ignored.
//! - Side: `liquidation` says who was liquidated: `T` the taker, `M` the maker, `MT` both, which gives two events of
//!   opposite sides. `direction` is the side of the taker.
//! - Units: USD on coin-settled contracts, base units on contracts settled in a stablecoin.
//! - Backfill: all trades, by settlement currency.
//! - Source: <https://docs.deribit.com>
//!
//! One socket with one topic covers every future. Exchange and client both send heartbeats. The trades of each future
//! are numbered.

use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::{JsonPath, says, shown, text_of};
use crate::feeds::decoding::market_name::{MarketName, before};
use crate::feeds::decoding::raw_json::{JsonShape, RawJson, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, SizeUnit};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::paging;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    Control, FrameKind, Heartbeat, PingMessage, STEADY, SentSubscriptions, SequenceNumber,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::{Millis, Side};

/// The topic with the trades of all futures, in batches of 100 ms.
///
/// A topic without batches needs a login.
const TOPIC: &str = "trades.future.any.100ms";

/// The control topic: the last price of one contract, sent every two seconds.
const CONTROL: &str = "ticker.BTC-PERPETUAL.agg2";

/// Makes the exchange send test requests; it closes a connection that does not reply to them.
const GREETING: &str = r#"{"jsonrpc":"2.0","id":"heartbeat","method":"public/set_heartbeat","params":{"interval":30}}"#;

/// Sent as the reply to a test request of the exchange, and as the client's ping.
const TEST: &str = r#"{"jsonrpc":"2.0","id":"test","method":"public/test","params":{}}"#;

/// The exchange allows 20 requests per second without a login.
const REQUESTS: RateLimit = RateLimit::of("requests", 18, 1);
/// Settlement currencies of futures.
const CURRENCIES: [&str; 5] = ["BTC", "ETH", "USDC", "USDT", "EURR"];
/// Maximum number of trades in a reply.
const TRADES: usize = 1000;

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "deribit",
        completeness: Completeness::Complete,
        market,
        native: |base, quote| match quote {
            "USD" => Some(format!("{base}-PERPETUAL")),
            _ => Some(format!("{base}_{quote}-PERPETUAL")),
        },
        // If a contract is settled in a stablecoin, its name has an underscore before the stablecoin. All other
        // contracts are settled in the coin.
        contract: |native_id| {
            let kind = if native_id.contains('_') {
                SizeUnit::Linear
            } else {
                SizeUnit::Inverse
            };
            Some((kind, Decimal::ONE))
        },
        channels: Channels {
            other: &[
                "announcements",
                "block_",
                "book.",
                "chart.",
                "deribit_",
                "estimated_expiration_price.",
                "incremental_ticker.",
                "instrument.",
                "markprice.",
                "perpetual.",
                "platform_state",
                "quote.",
                "rfq.",
                "ticker.",
                "user.",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://www.deribit.com"),
        ("rest", "https://www.deribit.com"),
    ],
    messages: Messages::of::<Deribit>(),
    listen: SocketPlan {
        lines: ConnectionPlans::Fixed(&[("trades", "/ws/api/v2", &[TOPIC])]),
        greeting: &[GREETING],
        subscription: |number, topics, _| {
            let params = json!({"channels": topics});
            json!({"jsonrpc": "2.0", "id": number, "method": "public/subscribe", "params": params})
                .to_string()
        },
        heartbeat: Heartbeat {
            signs: STEADY,
            ..Heartbeat::each_20_seconds(PingMessage::Text(TEST))
        },
        steady: |_| Control::Topic(CONTROL),
        steady_frames: &[
            r#"{"jsonrpc":"2.0","method":"subscription","params":{"channel":"ticker."#,
        ],
        numbers_late: Some(Duration::ZERO),
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || {
            vec![
                RestRequest::new("/api/v2/public/get_instruments", REQUESTS)
                    .with("currency", "any")
                    .with("kind", "future"),
            ]
        },
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || {
                let of = |currency| {
                    RestRequest::new("/api/v2/public/get_book_summary_by_currency", REQUESTS)
                        .with("currency", currency)
                        .with("kind", "future")
                };
                CURRENCIES.map(of).into()
            },
            read: read_prices,
        }),
        look_back: 7 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `BTC-PERPETUAL`, `BTC-26DEC26` and `BTC_USDC-PERPETUAL`.
fn market(native_id: &str) -> MarketName<'_> {
    let name = before(native_id, b'-');
    match name.split_once('_') {
        Some((base, quote)) => MarketName::new(base, quote),
        None => MarketName::new(name, "USD"),
    }
}

members!(Trade<'a> {
    instrument = "instrument_name",
    id = "trade_id",
    seq = "trade_seq",
    timestamp = "timestamp",
    price = "price",
    amount = "amount",
    direction = "direction",
    liquidation = "liquidation",
});

members!(Parameters<'a> {
    channel = "channel",
    data: JsonShape<Trade<'a>> = "data",
    // Only messages about heartbeats have a type.
    kind = "type",
});

members!(Tape<'a> {
    trades: JsonShape<Trade<'a>> = "trades",
    has_more = "has_more",
});

members!(Message<'a> {
    jsonrpc = "jsonrpc",
    method = "method",
    params: JsonShape<Parameters<'a>> = "params",
    result: JsonShape<Tape<'a>> = "result",
    notifications = "notifications",
});

/// The message format of Deribit.
struct Deribit;

impl Protocol for Deribit {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        if message.notifications.is_some() {
            return Err(root.member("notifications").fault(
                "belongs to version 1 of the API, which version 2 replaced and which is not decoded",
            ));
        }
        if message.jsonrpc.is_none() {
            return Err(frame.unknown());
        }
        if says(message.method, "subscription") {
            let place = root.member("params");
            let parameters = place.object(&message.params)?;
            let channel = place.text("channel", parameters.channel)?;
            return if channel.starts_with("trades.") {
                trades(frame, &place.member("data"), &parameters.data)
            } else {
                frame.other_channel(&place.member("channel"), &channel)
            };
        }
        match &message.result {
            JsonShape::Object(Tape {
                trades: JsonShape::Missing,
                ..
            }) => Ok(Vec::new()),
            JsonShape::Object(tape) => {
                let place = root.member("result");
                trades(frame, &place.member("trades"), &tape.trades)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the sequence numbers of all trades in a frame, by contract.
    fn numbers(message: &Message<'_>) -> Vec<SequenceNumber> {
        let JsonShape::Object(Parameters {
            data: JsonShape::List(rows),
            ..
        }) = &message.params
        else {
            return Vec::new();
        };
        let number = |row: &JsonShape<Trade<'_>>| match row {
            JsonShape::Object(row) => {
                let number = SequenceNumber::read(&text_of(row.instrument)?, row.seq)?;
                Some(number.at_event_time(row.timestamp))
            }
            _ => None,
        };
        rows.iter().filter_map(number).collect()
    }

    fn answer(message: &Message<'_>) -> Option<String> {
        let wanted = says(message.method, "heartbeat")
            && matches!(&message.params, JsonShape::Object(params) if says(params.kind, "test_request"));
        wanted.then(|| TEST.to_owned())
    }

    fn kind(
        frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        if says(message.method, "subscription") {
            let is_control = matches!(&message.params, JsonShape::Object(params) if says(params.channel, CONTROL));
            return Ok(if is_control {
                FrameKind::Control
            } else {
                FrameKind::Data
            });
        }
        let message: Reply<'_> = frame.object()?;
        let id = text_of(message.id);
        // Only subscriptions have a number as id; other requests have a word.
        let is_subscription = id.as_deref().is_some_and(|id| id.parse::<usize>().is_ok());
        let topics = || {
            if is_subscription {
                sent.topics(id.as_deref())
            } else {
                Vec::new()
            }
        };
        if let JsonShape::Object(refusal) = &message.error {
            return Ok(FrameKind::refused(topics(), &[refusal.code, refusal.words]));
        }
        Ok(match message.result {
            // The reply lists the subscribed channels and omits unknown channels without an error.
            Some(result) if is_subscription => match read::<Vec<String>>(result) {
                Some(taken) if !taken.is_empty() => FrameKind::Ack { topics: taken },
                _ => FrameKind::Refused {
                    topics: topics(),
                    message: format!("the reply is {}", result.text()),
                },
            },
            Some(result) if read::<Tested<'_>>(result).is_some_and(|it| it.version.is_some()) => {
                FrameKind::Pong
            }
            _ => FrameKind::Other,
        })
    }
}

fn trades(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    rows: &JsonShape<Trade<'_>>,
) -> Result<Vec<Event>, Error> {
    let events = frame.rows(place, rows, |frame, place, row| {
        trade(frame, place, row).map(Some)
    })?;
    Ok(events.into_iter().flatten().collect())
}

/// Decodes a trade: one event for each liquidated side.
fn trade(frame: &Frame<'_>, place: &JsonPath<'_>, row: &Trade<'_>) -> Result<Vec<Event>, Error> {
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
                "{} names no side; \"T\", \"M\" or \"MT\" is allowed",
                shown(other)
            );
            return Err(place.member("liquidation").fault(message));
        }
    };
    let trade_id = place.name("trade_id", row.id)?;
    let amount = place.positive("amount", row.amount)?;
    let price = place.positive("price", row.price)?;
    let timestamp = place.instant("timestamp", row.timestamp)?;
    // The amount is already in USD or base units, so the contract size is not needed.
    let size = match frame.contract(&native_id) {
        Some((SizeUnit::Inverse, _)) => Size::Usd(amount.value),
        Some((SizeUnit::Linear, _)) => Size::Base(amount.value),
        None => Size::Unknown,
    };
    liquidated
        .iter()
        .map(|(who, side)| {
            let seen = RawLiquidation {
                native_id: &native_id,
                market: frame.market(&native_id),
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

/// Whether a name has the form `BTC-PERPETUAL` or `BTC-26DEC26`.
///
/// Names of options have a strike after the date, and names of combinations have a prefix.
fn is_future(native_id: &str) -> bool {
    native_id.split('-').count() == 2
}

members!(Tested<'a> {
    version = "version",
});

members!(Refusal<'a> {
    code = "code",
    words = "message",
});

members!(Reply<'a> {
    id = "id",
    result = "result",
    error: JsonShape<Refusal<'a>> = "error",
});

/// Parses the result as `T`; `None` if it has another form.
fn read<'a, T: serde::Deserialize<'a>>(result: RawJson<'a>) -> Option<T> {
    serde_json::from_str(result.text()).ok()
}

members!(Listed<'a> {
    name = "instrument_name",
    base = "base_currency",
    quote = "quote_currency",
    kind = "instrument_type",
    size = "contract_size",
    period = "settlement_period",
    active = "is_active",
});

/// Returns the content of a successful reply.
fn result<'a, T: serde::Deserialize<'a> + Default>(frame: &Frame<'a>) -> Result<T, Error> {
    let body = frame.members()?;
    match body.cell("error") {
        Some(error) => Err(frame.refused(JsonPath::ROOT.member("error"), error.text())),
        None => body.read("result"),
    }
}

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = result(frame)?;
    let rows = frame.rows(
        &JsonPath::ROOT.member("result"),
        &markets,
        |_, place, market| {
            let kind = match &*place.text("instrument_type", market.kind)? {
                "linear" => "linear",
                "reversed" => "inverse",
                other => {
                    let message =
                        format!("{} is neither \"linear\" nor \"reversed\"", shown(other));
                    return Err(place.member("instrument_type").fault(message));
                }
            };
            let base = place.text("base_currency", market.base)?;
            let quote = place.text("quote_currency", market.quote)?;
            let size = place.text("contract_size", market.size)?;
            Ok(Some(Listing {
                native_id: place.name("instrument_name", market.name)?.into_owned(),
                instrument: place.instrument(&base, &quote, kind, &size)?,
                perpetual: says(market.period, "perpetual"),
                trading: place.truth("is_active", market.active)?,
            }))
        },
    )?;
    Ok(RestPage::last(rows))
}

members!(Summary<'a> {
    name = "instrument_name",
    mark = "mark_price",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let summaries: JsonShape<Summary<'_>> = result(frame)?;
    quoted(&JsonPath::ROOT.member("result"), &summaries, |summary| {
        LastPrice::read(summary.name, summary.mark)
    })
}

/// Returns one backfill request per settlement currency.
///
/// The replies include contracts that have expired since.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    let mut currencies: Vec<&str> = listings
        .iter()
        .map(|listing| match listing.instrument.kind {
            SizeUnit::Inverse => listing.instrument.base.as_str(),
            SizeUnit::Linear => listing.instrument.quote.as_str(),
        })
        .collect();
    currencies.sort_unstable();
    currencies.dedup();
    currencies
        .into_iter()
        .map(|currency| {
            let ask = RestRequest::new(
                "/api/v2/public/get_last_trades_by_currency_and_time",
                REQUESTS,
            );
            let ask = ask
                .with("currency", currency)
                .with("kind", "future")
                .with("sorting", "asc")
                .with("count", TRADES);
            page(&ask, from, until)
        })
        .collect()
}

fn page(ask: &RestRequest, from: Millis, until: Millis) -> RestRequest {
    ask.again_with("start_timestamp", from.0)
        .again_with("end_timestamp", until.back(1).0)
        .between(from, until)
}

fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let root = JsonPath::ROOT;
    let place = root.member("result");
    let found: JsonShape<Tape<'_>> = result(frame)?;
    let tape = place.object(&found)?;
    let list = place.member("trades");
    let times = frame.rows(&list, &tape.trades, |_, place, row| {
        place.instant("timestamp", row.timestamp).map(Some)
    })?;
    if times.is_empty() || !place.truth("has_more", tape.has_more)? {
        return Ok(Vec::new());
    }
    paging::later(ask, frame, &list, &times, page)
}

#[cfg(test)]
mod tests {
    use crate::feeds::exchanges::centralized::deribit::VENUE;
    use crate::feeds::testing::{come_down, listed};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["BTC-PERPETUAL", "BTCUSD", "BTC"],
                ["BTC-26DEC26", "BTCUSD", "BTC"],
                ["BTC_USDC-PERPETUAL", "BTCUSDC", "BTC"],
            ],
        );
    }

    #[test]
    fn futures_are_listed_with_what_they_are_counted_in() {
        let row = |name: &str, quote: &str, kind: &str, size: &str, period: &str, active: bool| {
            format!(
                r#"{{"instrument_name":"{name}","kind":"future","base_currency":"ETH","quote_currency":"{quote}",
                "instrument_type":"{kind}","contract_size":{size},"settlement_period":"{period}","is_active":{active}}}"#
            )
        };
        let rows = [
            row("ETH-PERPETUAL", "USD", "reversed", "1", "perpetual", true),
            row("ETH-26MAR27", "USD", "reversed", "1", "month", true),
            row(
                "ETH_USDC-PERPETUAL",
                "USDC",
                "linear",
                "0.001",
                "perpetual",
                false,
            ),
            row("ETH-X", "USD", "spot", "1", "perpetual", true),
        ];
        let body = format!(r#"{{"jsonrpc":"2.0","result":[{}]}}"#, rows.join(","));
        let (listed, faults) = listed(&VENUE, &body);
        assert_eq!(
            listed,
            [
                "ETH-PERPETUAL ETH/USD Inverse 1",
                "ETH-26MAR27 ETH/USD Inverse 1 dated",
                "ETH_USDC-PERPETUAL ETH/USDC Linear 0.001 closed",
            ]
        );
        assert_eq!(
            faults,
            ["result[3].instrument_type: \"spot\" is neither \"linear\" nor \"reversed\""]
        );
    }
}
