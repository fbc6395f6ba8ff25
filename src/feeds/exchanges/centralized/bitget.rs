//! Bitget v3.
//!
//! - Channel: the topic `liquidation`, and the REST path `/api/v3/market/liquidations`.
//! - Side: `side` is the side of the position; `buy` is a liquidated long.
//! - Units: on the socket, `amount` is in the quote coin. The REST body does not name the coin, so the amount is
//!   compared with the lot size, which the instrument has as contract size. If only the amount divided by the price is
//!   a multiple of the lot, the amount is in the quote coin. If only the amount is a multiple of the lot, it is in the
//!   base coin. All rows of a body have one unit: ambiguous rows have the unit of the other rows, or the quote coin if
//!   all rows are ambiguous. If neither number is a multiple of the lot, or if the lot is unknown, quantity and value
//!   are absent.
//! - Backfill: by cursor.
//! - Source: <https://www.bitget.com/api-doc/uta/intro>

use std::borrow::Cow;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::feeds::decoding::event::{Completeness, Event, PriceKind, product, quotient};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{ExactNumber, JsonPath, says, text_of};
use crate::feeds::decoding::market_name;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{RateLimit, RestPage, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    CALM, Control, FrameKind, Heartbeat, PingMessage, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::{Millis, Side};

/// Kinds of contract, as named in topics.
const KINDS: [&str; 3] = ["usdt-futures", "usdc-futures", "coin-futures"];

/// Maximum number of decimals in the exchange's numbers; it truncates products to these.
const DIGITS: u32 = 12;
/// Smallest nonzero amount that the exchange can write.
const FINEST: Decimal = Decimal::from_parts(1, 0, 0, false, DIGITS);

/// Allowed requests per second for each path; the rest of the limit is left to other programs.
const INSTRUMENTS: RateLimit = RateLimit::of("instruments", 15, 1);
const TICKERS: RateLimit = RateLimit::of("tickers", 15, 1);
const LIQUIDATIONS: RateLimit = RateLimit::of("liquidations", 4, 1);
/// Maximum number of rows in a reply.
const ROWS: usize = 100;

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "code",
    fine: "00000",
    said: &["code", "msg"],
};

/// The control topic: the last price of one contract.
const CONTROL: &str = "ticker BTCUSDT";

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "bitget",
        completeness: Completeness::Sampled,
        market: market_name::perpetual,
        native: market_name::joined_perpetual,
        contract: |_| None,
        channels: Channels {
            // Topics of version 3, and channels of earlier versions, which had no liquidations.
            other: &[
                "account",
                "adl",
                "auction",
                "books",
                "candle",
                "equity",
                "fast-fill",
                "fill",
                "index-price",
                "kline",
                "order",
                "position",
                "publicTrade",
                "rpi",
                "strategy-order",
                "ticker",
                "trade",
            ],
            unreadable: &[],
        },
    },
    price_kinds: &[PriceKind::Liquidation],
    closed: None,
    hosts: &[
        ("socket", "wss://ws.bitget.com"),
        ("rest", "https://api.bitget.com"),
    ],
    messages: Messages::of::<Bitget>(),
    listen: SocketPlan {
        lines: ConnectionPlans::Fixed(&[("liquidations", "/v3/ws/public", &KINDS)]),
        subscription: |_, topics, _| {
            let args: Vec<Value> = topics
                .iter()
                .map(|topic| match topic.as_str() {
                    CONTROL => json!({
                        "instType": "usdt-futures", "topic": "ticker", "symbol": "BTCUSDT"
                    }),
                    kind => json!({"instType": kind, "topic": "liquidation"}),
                })
                .collect();
            json!({"op": "subscribe", "args": args}).to_string()
        },
        heartbeat: Heartbeat {
            signs: CALM,
            ..Heartbeat::each_20_seconds(PingMessage::Text("ping"))
        },
        steady: |_| Control::Topic(CONTROL),
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || {
            let path = "/api/v3/market/instruments";
            let of = |kind: &str| {
                RestRequest::new(path, INSTRUMENTS).with("category", kind.to_uppercase())
            };
            KINDS.map(of).into()
        },
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || {
                let path = "/api/v3/market/tickers";
                let of = |kind: &str| {
                    RestRequest::new(path, TICKERS).with("category", kind.to_uppercase())
                };
                KINDS.map(of).into()
            },
            read: read_prices,
        }),
        look_back: 3 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

members!(Argument<'a> {
    topic = "topic",
    // Name of the member before version 3.
    channel = "channel",
    kind = "instType",
});

members!(
    /// A liquidation, or a page of liquidations.
    Liquidation<'a> {
    symbol = "symbol",
    side = "side",
    price = "price",
    amount = "amount",
    ts = "ts",
    list: Option<Box<JsonShape<Liquidation<'a>>>> = "list",
    cursor = "cursor",
});

members!(Message<'a> {
    arg: JsonShape<Argument<'a>> = "arg",
    event = "event",
    op = "op",
    action = "action",
    code = "code",
    msg = "msg",
    data: JsonShape<Liquidation<'a>> = "data",
});

/// The message format of Bitget.
struct Bitget;

impl Protocol for Bitget {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame or a REST body.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        if message.event.or(message.op).is_some() {
            return Ok(Vec::new());
        }
        let root = JsonPath::ROOT;
        let place = root.member("data");
        if let JsonShape::Object(arg) = &message.arg {
            if message.action.is_none() {
                return Ok(Vec::new());
            }
            if !says(arg.topic, "liquidation") {
                let (name, topic) = match arg.topic {
                    Some(_) => ("topic", arg.topic),
                    None => ("channel", arg.channel),
                };
                let place = root.member("arg");
                return frame.other_channel(&place.member(name), &place.name(name, topic)?);
            }
            return frame.rows(&place, &message.data, |frame, place, row| {
                let row = Read::new(place, row)?;
                row.event(frame, place, Some(Unit::Quote)).map(Some)
            });
        }
        REPLY.judge(frame, message.code, &[message.code, message.msg])?;
        page(frame, &place, place.object(&message.data)?)
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let topics: Vec<String> = match &message.arg {
            JsonShape::Object(arg) if says(arg.topic, "ticker") => vec![CONTROL.to_owned()],
            JsonShape::Object(arg) => text_of(arg.kind)
                .map(|kind| kind.to_lowercase())
                .into_iter()
                .collect(),
            _ => Vec::new(),
        };
        Ok(match text_of(message.event).as_deref() {
            Some("subscribe") => FrameKind::Ack { topics },
            // An error without a topic concerns all topics.
            Some("error") => FrameKind::refused(sent.or_all(topics), &[message.code, message.msg]),
            None if message.action.is_some() && topics == [CONTROL] => FrameKind::Control,
            None if message.action.is_some() => FrameKind::Data,
            _ => FrameKind::Other,
        })
    }
}

/// The coin in which an amount is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Quote,
    Base,
}

/// A row of which the numbers are parsed.
struct Read<'a> {
    native_id: Cow<'a, str>,
    word: Cow<'a, str>,
    side: Side,
    price: ExactNumber<'a>,
    amount: ExactNumber<'a>,
    timestamp: Millis,
}

impl<'a> Read<'a> {
    fn new(place: &JsonPath<'_>, row: &Liquidation<'a>) -> Result<Self, Error> {
        let (word, side) = place.side("side", row.side, "buy", "sell")?;
        Ok(Self {
            native_id: place.name("symbol", row.symbol)?,
            word,
            side,
            price: place.positive("price", row.price)?,
            amount: place.positive("amount", row.amount)?,
            timestamp: place.instant("ts", row.ts)?,
        })
    }

    /// Whether the amount fits the lot size as (quote, base) amount; `None` if the lot is unknown.
    fn fits(&self, frame: &Frame<'_>) -> Option<(bool, bool)> {
        let (_, lot) = frame.contract(&self.native_id)?;
        let quote = quotient(self.amount.value, self.price.value)
            .and_then(|qty| nearest_lot(qty, lot))
            .and_then(|qty| product(qty, self.price.value))
            .and_then(|worth| worth.checked_sub(self.amount.value))
            .is_some_and(|gap| gap.abs() <= FINEST);
        let base = nearest_lot(self.amount.value, lot) == Some(self.amount.value.normalize());
        Some((quote, base))
    }

    /// Returns the unit of this row; an ambiguous row has the unit `body` of the other rows.
    fn unit(&self, frame: &Frame<'_>, body: Unit) -> Option<Unit> {
        match self.fits(frame)? {
            (true, true) => Some(body),
            (true, false) => Some(Unit::Quote),
            (false, true) => Some(Unit::Base),
            (false, false) => None,
        }
    }

    fn event(
        self,
        frame: &Frame<'_>,
        place: &JsonPath<'_>,
        unit: Option<Unit>,
    ) -> Result<Event, Error> {
        let amount = self.amount.value;
        let size = match unit {
            Some(Unit::Quote) => Size::Quote(amount),
            Some(Unit::Base) => Size::Base(amount),
            None => Size::Unknown,
        };
        // In the key, the amount is in the quote coin and truncated like the socket's, so that socket and REST keys are
        // equal.
        let keyed = match unit {
            Some(Unit::Base) => product(amount, self.price.value)
                .map(|worth| worth.trunc_with_scale(DIGITS).normalize()),
            _ => Some(self.amount.plain()),
        };
        let keyed = keyed.unwrap_or_else(|| self.amount.plain());
        let dedupe_key = format!(
            "bitget|{}|{}|{}|{keyed}|{}",
            self.native_id,
            self.word,
            self.timestamp.0,
            self.price.plain()
        );
        frame.event(
            place,
            RawLiquidation {
                native_id: &self.native_id,
                market: frame.market(&self.native_id),
                side: self.side,
                price: self.price.value,
                price_kind: PriceKind::Liquidation,
                size,
                timestamp: Some(self.timestamp),
                dedupe_key,
            },
        )
    }
}

/// Returns the multiple of the lot that is nearest to `qty`, in base units.
fn nearest_lot(qty: Decimal, lot: Decimal) -> Option<Decimal> {
    let lots = qty.checked_div(lot)?.round();
    product(lots, lot).filter(|qty| !qty.is_zero())
}

fn page(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    page: &Liquidation<'_>,
) -> Result<Vec<Event>, Error> {
    let place = place.member("list");
    let mut rows = Vec::new();
    for (index, item) in listed(&place, page)?.iter().enumerate() {
        let place = place.item(index);
        let row = frame.alone(place.object(item).and_then(|row| Read::new(&place, row)))?;
        rows.extend(row.map(|row| (index, row)));
    }
    let fits: Vec<_> = rows.iter().filter_map(|(_, row)| row.fits(frame)).collect();
    let body = if fits.contains(&(false, true)) && !fits.contains(&(true, false)) {
        Unit::Base
    } else {
        Unit::Quote
    };
    let mut events = Vec::with_capacity(rows.len());
    for (index, row) in rows {
        let unit = row.unit(frame, body);
        events.extend(frame.alone(row.event(frame, &place.item(index), unit))?);
    }
    Ok(events)
}

/// Returns the rows of a page; `place` is the path of the list.
fn listed<'t, 'a>(
    place: &JsonPath<'_>,
    page: &'t Liquidation<'a>,
) -> Result<&'t [JsonShape<Liquidation<'a>>], Error> {
    place.list(page.list.as_deref().unwrap_or(&JsonShape::Missing))
}

members!(Listed<'a> {
    symbol = "symbol",
    base = "baseCoin",
    quote = "quoteCoin",
    lot = "quantityMultiplier",
    // Name of the member before version 3.
    old_lot = "sizeMultiplier",
    kind = "type",
    status = "status",
});

/// Decodes the market list, with the lot size as contract size.
///
/// Sizes are in base units for every settlement currency.
fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = REPLY.open(frame)?.read("data")?;
    let rows = frame.rows(
        &JsonPath::ROOT.member("data"),
        &markets,
        |_, place, market| {
            let base = place.text("baseCoin", market.base)?;
            let quote = place.text("quoteCoin", market.quote)?;
            let lot = place.text("quantityMultiplier", market.lot.or(market.old_lot))?;
            Ok(Some(Listing {
                native_id: place.name("symbol", market.symbol)?.into_owned(),
                instrument: place.instrument(&base, &quote, "linear", &lot)?,
                perpetual: says(market.kind, "perpetual"),
                trading: says(market.status, "online"),
            }))
        },
    )?;
    Ok(RestPage::last(rows))
}

members!(Ticker<'a> {
    symbol = "symbol",
    mark = "markPrice",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let tickers: JsonShape<Ticker<'_>> = REPLY.open(frame)?.read("data")?;
    quoted(&JsonPath::ROOT.member("data"), &tickers, |ticker| {
        LastPrice::read(ticker.symbol, ticker.mark)
    })
}

/// Returns one backfill request per kind of contract.
///
/// A reply has the cursor of the next page. The exchange does not accept a start time.
fn missed(_listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    let of = |kind: &str| {
        RestRequest::new("/api/v3/market/liquidations", LIQUIDATIONS)
            .with("category", kind.to_uppercase())
            .with("limit", ROWS)
            .between(from, until)
    };
    KINDS.map(of).into()
}

/// Requests the next page until a page ends before the requested range.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let page: JsonShape<Liquidation<'_>> = REPLY.open(frame)?.read("data")?;
    let root = JsonPath::ROOT;
    let place = root.member("data");
    let page = place.object(&page)?;
    let place = place.member("list");
    let rows = listed(&place, page)?;
    let time = |index: usize| {
        let place = place.item(index);
        let row = rows.get(index).map(|row| place.object(row)).transpose()?;
        place.instant("ts", row.and_then(|row| row.ts))
    };
    let Some(last) = rows.len().checked_sub(1) else {
        return Ok(Vec::new());
    };
    let (first, last) = (time(0)?, time(last)?);
    let reaches_back = last < ask.from && last <= first;
    let cursor = text_of(page.cursor)
        .filter(|cursor| !cursor.is_empty() && ask.value("cursor") != Some(cursor));
    let next = cursor
        .filter(|_| !reaches_back)
        .map(|cursor| ask.again_with("cursor", cursor));
    Ok(next.into_iter().collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::exchanges::centralized::bitget::*;
    use crate::feeds::testing::next;

    #[test]
    fn pages_follow_until_one_reaches_back_far_enough() {
        let asks = missed(&[], Millis(1_790_000_000_000), Millis(1_790_000_600_000));
        let ask = asks.first().unwrap();
        let page = |times: [i64; 2], cursor: &str| {
            let [first, last] = times;
            format!(
                r#"{{"code":"00000","data":{{"list":[{{"ts":"{first}"}},{{"ts":"{last}"}}],"cursor":{cursor}}}}}"#
            )
        };
        let (inside, before) = (1_790_000_000_000, 1_789_999_999_999);
        let cursor_of = |times, cursor: &str| {
            let following = next(&VENUE, ask, &page(times, cursor)).unwrap();
            following
                .first()
                .map(|ask| ask.value("cursor").unwrap().to_owned())
        };
        assert_eq!(cursor_of([inside, inside], r#""7""#).as_deref(), Some("7"));
        assert_eq!(cursor_of([inside, before], r#""7""#), None);
        // If a page lists older rows first, paging continues although it begins before the requested range.
        assert_eq!(cursor_of([before, inside], r#""7""#).as_deref(), Some("7"));
        assert_eq!(cursor_of([inside, inside], "null"), None);
        assert!(next(&VENUE, ask, r#"{"code":"40017","msg":"Parameter error"}"#).is_err());
    }
}
