//! OKX.
//!
//! - Channel: `liquidation-orders` for `SWAP` and `FUTURES`, and the REST path `/api/v5/public/liquidation-orders`.
//!   Margin loans and options are ignored. The control topic is the open interest of one swap, which is documented to
//!   be sent every three seconds.
//! - Retired: version 3 of the API, with one REST body per contract. Recording programs made `swap/liquidation`,
//!   `futures/liquidation` and `liquidations` from such bodies. None of these formats is decoded.
//! - Side: `posSide` is the side of the position. If its value is `net`, a `sell` order closed a long.
//! - Units: `bkPx` is the price at which the position passes to the liquidation account. The documentation calls it a
//!   bankruptcy price, but in recordings it equals the market price (within 0.005 %). Sizes are contracts; the
//!   instrument gives the contract size (`ctVal · ctMult`, in the base or in USD).
//! - Backfill: by underlying and kind of contract, newest rows first.
//! - Source: <https://www.okx.com/docs-v5/en/#public-data-websocket-liquidation-orders-channel>

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};

use crate::feeds::decoding::event::{Completeness, Event, PriceKind, product};
use crate::feeds::decoding::frame::{
    Channels, ExchangeEnvelope, Frame, RawLiquidation, Rules, Size,
};
use crate::feeds::decoding::json_path::{JsonPath, joined, says, shown, text_of};
use crate::feeds::decoding::market_name;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::{Listing, traded};
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::bars::{BarCells, BarLayout, bars, cell};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints, quoted};
use crate::feeds::rest::request::{
    OpenInterestReading, RateLimit, RestPage, RestRequest, RestSeries,
};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    CALM, Control, FrameKind, Heartbeat, PingMessage, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};
use crate::model::{Millis, Side, sort_small};

/// Name of the channel with liquidations.
const LIQUIDATIONS: &str = "liquidation-orders";
/// Channel and market of the control topic.
const CONTROL: &str = "open-interest";
const CONTROL_OF: &str = "BTC-USDT-SWAP";

/// Kinds of contract to which the client subscribes.
const KINDS: [&str; 2] = ["SWAP", "FUTURES"];

/// Allowed requests in two seconds, separately for each kind of request.
const PUBLIC: RateLimit = RateLimit::of("public", 18, 2);
const MARKS: RateLimit = RateLimit::of("mark prices", 9, 2);
const MISSED: RateLimit = RateLimit::of("liquidation orders", 18, 2);
const HISTORY: RateLimit = RateLimit::of("history candles", 18, 2);
const STATISTICS: RateLimit = RateLimit::of("statistics", 9, 2);

/// Maximum number of bars, liquidations and open-interest readings in a reply.
const BARS: i64 = 300;
const ORDERS: usize = 100;
const READINGS: i64 = 100;

const REPLY: ExchangeEnvelope = ExchangeEnvelope {
    code: "code",
    fine: "0",
    said: &["code", "msg"],
};

const RETIRED: &str =
    "it was retired with version 3 of the API; version 5 has \"liquidation-orders\"";

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "okx",
        completeness: Completeness::Sampled,
        market: market_name::dashed,
        native: |base, quote| Some(format!("{base}-{quote}-SWAP")),
        contract: |_| None,
        channels: Channels {
            // The last entries are prefixes of channels in version 3.
            other: &[
                "account",
                "adl-warning",
                "algo-",
                "announcement",
                "balance_and_position",
                "bbo-tbt",
                "block-tickers",
                "books",
                "call-auction-details",
                "candle",
                "copytrading-",
                "deposit-info",
                "economic-calendar",
                "estimated-price",
                "fills",
                "funding-rate",
                "grid-",
                "index-candle",
                "index-tickers",
                "instruments",
                "mark-price",
                CONTROL,
                "opt-summary",
                "option-trades",
                "orders",
                "positions",
                "price-limit",
                "public-block-trades",
                "public-struc-block-trades",
                "quotes",
                "rfqs",
                "sprd-",
                "status",
                "struc-block-trades",
                "tickers",
                "trades",
                "withdrawal-info",
                "futures/",
                "index/",
                "option/",
                "spot/",
                "swap/",
                "system/",
            ],
            unreadable: &[
                (
                    "liquidation-warning",
                    "it contains the positions of one account",
                ),
                (
                    "liquidations",
                    "OKX has never sent it; recorders made it from REST bodies",
                ),
                ("futures/liquidation", RETIRED),
                ("swap/liquidation", RETIRED),
            ],
        },
    },
    price_kinds: &[PriceKind::Takeover],
    closed: None,
    hosts: &[
        ("socket", "wss://ws.okx.com:8443"),
        ("rest", "https://www.okx.com"),
    ],
    messages: Messages::of::<Okx>(),
    listen: SocketPlan {
        lines: ConnectionPlans::Fixed(&[(
            "liquidations",
            "/ws/v5/public",
            &["SWAP", "FUTURES", CONTROL],
        )]),
        subscription: |_, topics, _| {
            let args: Vec<Value> = topics
                .iter()
                .map(|topic| match topic.as_str() {
                    CONTROL => json!({"channel": CONTROL, "instId": CONTROL_OF}),
                    kind => json!({"channel": LIQUIDATIONS, "instType": kind}),
                })
                .collect();
            json!({"op": "subscribe", "args": args}).to_string()
        },
        heartbeat: Heartbeat {
            beat: PingMessage::Text("ping"),
            every: Duration::from_secs(20),
            signs: CALM,
        },
        steady: |_| Control::Topic(CONTROL),
        steady_frames: &[r#"{"arg":{"channel":"open-interest","instId":"BTC-USDT-SWAP"},"data":"#],
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        listings: || {
            let of = |kind| {
                RestRequest::new("/api/v5/public/instruments", PUBLIC).with("instType", kind)
            };
            KINDS.map(of).into()
        },
        read_listings,
        prices: Some(PriceEndpoints {
            asks: || {
                let of = |kind| {
                    RestRequest::new("/api/v5/public/mark-price", MARKS).with("instType", kind)
                };
                KINDS.map(of).into()
            },
            read: read_prices,
        }),
        look_back: 7 * Millis::DAY,
        late: 8 * Millis::MINUTE,
        missed,
        go_on,
        bars: Some(RestSeries {
            look_back: i64::MAX,
            length: BARS * Millis::MINUTE,
            ask: |market, start, end| {
                RestRequest::new("/api/v5/market/history-candles", HISTORY)
                    .with("instId", market)
                    .with("bar", "1m")
                    // The reply includes neither `before` nor `after`.
                    .with("before", start.0 - 1)
                    .with("after", end.0)
                    .with("limit", BARS)
            },
            read: |frame| {
                let columns = BarLayout {
                    volume: 6,
                    closed: Some(8),
                };
                let rows: Vec<BarCells<'_>> = REPLY.open(frame)?.read("data")?;
                bars(frame, &JsonPath::ROOT.member("data"), &rows, columns)
            },
        }),
        open_interest: Some(RestSeries {
            // The documentation says 1,440 readings; measured were three days at intervals of five minutes.
            look_back: 3 * Millis::DAY,
            length: READINGS * OpenInterestReading::APART,
            ask: |market, start, end| {
                let path = "/api/v5/rubik/stat/contracts/open-interest-history";
                RestRequest::new(path, STATISTICS)
                    .with("instId", market)
                    .with("period", "5m")
                    // The reply includes neither the instant `begin` nor the instant `end`.
                    .with("begin", start.0 - 1)
                    .with("end", end.0)
                    .with("limit", READINGS)
            },
            read: read_open_interest,
        }),
        ..RestEndpoints::NONE
    },
};

members!(Argument<'a> {
    channel = "channel",
    kind = "instType",
});

members!(Detail<'a> {
    side = "side",
    position = "posSide",
    price = "bkPx",
    size = "sz",
    ts = "ts",
    time = "time",
});

members!(Contract<'a> {
    inst_type = "instType",
    inst_id = "instId",
    details: JsonShape<Detail<'a>> = "details",
});

members!(Message<'a> {
    arg: JsonShape<Argument<'a>> = "arg",
    event = "event",
    op = "op",
    table = "table",
    code = "code",
    msg = "msg",
    data: JsonShape<Contract<'a>> = "data",
});

impl<'a> Message<'a> {
    /// Returns the name of the channel.
    fn channel(&self) -> Option<Cow<'a, str>> {
        match &self.arg {
            JsonShape::Object(arg) => text_of(arg.channel),
            _ => None,
        }
    }

    fn is_of(&self, channel: &str) -> bool {
        self.channel().as_deref() == Some(channel)
    }
}

/// The message format of OKX.
struct Okx;

impl Protocol for Okx {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        frame.object()
    }

    /// Decodes the events of a frame.
    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        if message.event.or(message.op).is_some() {
            return Ok(Vec::new());
        }
        let root = JsonPath::ROOT;
        // Only messages of version 3 have a table.
        if let Some(table) = text_of(message.table) {
            return frame.other_channel(&root.member("table"), &table);
        }
        match message.channel().as_deref() {
            Some(LIQUIDATIONS) => {}
            Some(other) => {
                return frame.other_channel(&root.member("arg").member("channel"), other);
            }
            None => REPLY.judge(frame, message.code, &[message.code, message.msg])?,
        }
        let place = root.member("data");
        let mut events = Vec::new();
        for (index, item) in place.list(&message.data)?.iter().enumerate() {
            let place = place.item(index);
            events.extend(contract(frame, &place, place.object(item)?)?);
        }
        Ok(events)
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let topics: Vec<String> = match &message.arg {
            JsonShape::Object(_) if message.is_of(CONTROL) => vec![CONTROL.to_owned()],
            JsonShape::Object(arg) => text_of(arg.kind).map(Cow::into_owned).into_iter().collect(),
            _ => Vec::new(),
        };
        let said = [message.code, message.msg];
        Ok(match text_of(message.event).as_deref() {
            Some("subscribe") => FrameKind::Ack { topics },
            // A refusal without a topic replies to an unreadable request and concerns all topics.
            Some("error") => FrameKind::refused(sent.or_all(topics), &said),
            Some("notice") => FrameKind::Notice(joined(&said)),
            None if message.is_of(LIQUIDATIONS) => FrameKind::Data,
            None if message.is_of(CONTROL) => FrameKind::Control,
            _ => FrameKind::Other,
        })
    }
}

fn contract(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    contract: &Contract<'_>,
) -> Result<Vec<Event>, Error> {
    if says(contract.inst_type, "MARGIN") || says(contract.inst_type, "OPTION") {
        return Ok(Vec::new());
    }
    let native_id = place.name("instId", contract.inst_id)?;
    frame.rows(
        &place.member("details"),
        &contract.details,
        |frame, place, row| detail(frame, place, &native_id, row).map(Some),
    )
}

fn detail(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    native_id: &str,
    row: &Detail<'_>,
) -> Result<Event, Error> {
    let order = place.side("side", row.side, "sell", "buy")?;
    let position = place.text("posSide", row.position)?;
    let side = match &*position {
        "long" => Side::Long,
        "short" => Side::Short,
        "net" => order.1,
        other => {
            let message = format!(
                "{} is not a side; \"long\", \"short\" or \"net\" is allowed",
                shown(other)
            );
            return Err(place.member("posSide").fault(message));
        }
    };
    let contracts = place.positive("sz", row.size)?;
    let price = place.positive("bkPx", row.price)?;
    let timestamp = place.instant("ts", row.ts.or(row.time))?;
    let dedupe_key = format!(
        "okx|{native_id}|{position}|{}|{}|{}|{}",
        order.0,
        timestamp.0,
        contracts.plain(),
        price.plain()
    );
    let seen = RawLiquidation {
        native_id,
        market: frame.market(native_id),
        side,
        price: price.value,
        price_kind: PriceKind::Takeover,
        size: Size::Contracts(contracts.value),
        timestamp: Some(timestamp),
        dedupe_key,
    };
    frame.event(place, seen)
}

members!(Listed<'a> {
    id = "instId",
    family = "instFamily",
    kind = "instType",
    contract = "ctType",
    value = "ctVal",
    multiplier = "ctMult",
    state = "state",
});

fn read_listings(_ask: &RestRequest, frame: &Frame<'_>) -> Result<RestPage<Listing>, Error> {
    let markets: JsonShape<Listed<'_>> = REPLY.open(frame)?.read("data")?;
    let place = JsonPath::ROOT.member("data");
    let rows = frame.rows(&place, &markets, |_, place, market| {
        let family = place.name("instFamily", market.family)?;
        let (base, quote) = family.split_once('-').ok_or_else(|| {
            place
                .member("instFamily")
                .fault("has no dash between base and quote")
        })?;
        // `BTC-USD_UM` is a family of contracts quoted in `USD`.
        let quote = quote.split_once('_').map_or(quote, |(quote, _)| quote);
        let value = place.positive("ctVal", market.value)?.value;
        let multiplier = place.positive("ctMult", market.multiplier)?.value;
        let size = product(value, multiplier).ok_or_else(|| {
            place
                .member("ctMult")
                .fault("does not fit a decimal exactly")
        })?;
        let kind = place.text("ctType", market.contract)?;
        Ok(Some(Listing {
            native_id: place.name("instId", market.id)?.into_owned(),
            instrument: place.instrument(base, quote, &kind, &size.to_string())?,
            perpetual: says(market.kind, "SWAP"),
            trading: says(market.state, "live"),
        }))
    })?;
    Ok(RestPage::last(rows))
}

members!(Marked<'a> {
    id = "instId",
    mark = "markPx",
});

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let markets: JsonShape<Marked<'_>> = REPLY.open(frame)?.read("data")?;
    quoted(&JsonPath::ROOT.member("data"), &markets, |market| {
        LastPrice::read(market.id, market.mark)
    })
}

/// Returns one backfill request per underlying and kind of contract, newest rows first.
fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    let mut families: Vec<(String, &'static str)> = traded(listings)
        .map(|listing| {
            let instrument = &listing.instrument;
            let family = format!("{}-{}", instrument.base, instrument.quote);
            (family, if listing.perpetual { "SWAP" } else { "FUTURES" })
        })
        .collect();
    families.sort_unstable();
    families.dedup();
    families
        .into_iter()
        .map(|(family, kind)| {
            RestRequest::new("/api/v5/public/liquidation-orders", MISSED)
                .with("instType", kind)
                .with("state", "filled")
                .with("uly", family)
                .with("limit", ORDERS)
                .with("after", until.0)
                .between(from, until)
        })
        .collect()
}

/// Requests the rows before a full page that does not reach the start of the range.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    let contracts: JsonShape<Contract<'_>> = REPLY.open(frame)?.read("data")?;
    let root = JsonPath::ROOT;
    let place = root.member("data");
    let (mut rows, mut oldest) = (0, ask.until);
    for (index, item) in place.list(&contracts)?.iter().enumerate() {
        let place = place.item(index);
        let details = &place.object(item)?.details;
        let place = place.member("details");
        for (index, item) in place.list(details)?.iter().enumerate() {
            let place = place.item(index);
            oldest = oldest.min(place.instant("ts", place.object(item)?.ts)?);
            rows += 1;
        }
    }
    // Rows of the oldest instant may be split between two pages, so the next request includes that instant.
    let after = oldest.on(1);
    let moved = ask.value("after") != Some(&after.0.to_string());
    Ok(if rows >= ORDERS && oldest >= ask.from && moved {
        vec![ask.again_with("after", after.0)]
    } else {
        Vec::new()
    })
}

/// Decodes rows of time and open interest; the interest is given in contracts, base units and USD.
fn read_open_interest(frame: &Frame<'_>) -> Result<Vec<OpenInterestReading>, Error> {
    const BASE: usize = 2;
    let rows: Vec<BarCells<'_>> = REPLY.open(frame)?.read("data")?;
    let place = JsonPath::ROOT.member("data");
    let mut readings = frame.each(&place, &rows, |place, row| {
        let number = place.item(BASE).amount("", cell(row, BASE))?;
        Ok(Some(OpenInterestReading {
            timestamp: place.item(0).instant("", cell(row, 0))?,
            open_interest: number.value.normalize(),
        }))
    })?;
    sort_small(&mut readings, |one, other| {
        one.timestamp.cmp(&other.timestamp)
    });
    Ok(readings)
}
