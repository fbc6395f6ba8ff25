//! Bitfinex.
//!
//! - Channel: `status` with the key `liq:global`, and the REST path `/v2/liquidations/hist`. Every row is a list:
//!   `["pos", id, mts, _, symbol, amount, base price, _, is match, is market sold, _, price acquired]`.
//! - Side: an amount above zero is a long position.
//! - Units: amounts are base units. The base price is the entry price and is not used. A row is either a trigger, which
//!   announces the liquidation of a position, or a match, which is a fill. Only matches become events; triggers mostly
//!   have no price.
//! - Backfill: by time, at most three requests per minute. Last prices exist for perpetual contracts only.
//! - Source: <https://docs.bitfinex.com/reference/ws-public-status>

use rust_decimal::Decimal;
use serde_json::json;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::{JsonPath, joined, shown, text_of};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::decoding::raw_json::{RawJson, members};
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::messages::{Messages, Protocol};
use crate::feeds::rest::bars::{BarCells, cell};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::{LastPrice, PriceEndpoints};
use crate::feeds::rest::request::{RateLimit, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::control::{
    Control, FrameKind, Heartbeat, PingMessage, QUARTERLY, SentSubscriptions,
};
use crate::feeds::websocket::socket_plan::{
    ConnectionPlans, KeyAmbiguity, PositionAnnouncement, SocketPlan,
};
use crate::model::{Millis, Side, bitfinex_currency};

/// The key of the feed with all liquidations.
const LIQUIDATIONS: &str = "liq:global";
/// Error code for a repeated subscription.
const REPEATED: &str = "10301";

/// Requests for liquidations that the exchange allows per minute.
const HISTORIES: RateLimit = RateLimit::of("histories", 3, 60);
/// Requests for contract states per minute, half of the exchange's limit.
const STATES: RateLimit = RateLimit::of("states", 45, 60);
/// Maximum number of rows in a reply, including triggers.
const ROWS: usize = 500;

const POSITION: usize = 1;
const TIME: usize = 2;
const SYMBOL: usize = 4;
const AMOUNT: usize = 5;
const IS_MATCH: usize = 8;
const IS_MARKET_SOLD: usize = 9;
const PRICE_ACQUIRED: usize = 11;

/// Indices of the name and of the mark price in the state of a contract.
const KEY: usize = 0;
const MARK_PRICE: usize = 15;

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "bitfinex",
        completeness: Completeness::Complete,
        market,
        native: |base, quote| match quote {
            "USDT" => Some(format!("t{base}F0:USTF0")),
            _ => Some(format!("t{base}F0:{quote}F0")),
        },
        contract: |_| None,
        channels: Channels::NONE,
    },
    price_kinds: &[PriceKind::Fill],
    closed: None,
    hosts: &[
        ("socket", "wss://api-pub.bitfinex.com"),
        ("rest", "https://api-pub.bitfinex.com"),
    ],
    messages: Messages::of::<Bitfinex>(),
    listen: SocketPlan {
        keyed: KeyAmbiguity::ByAmount,
        lines: ConnectionPlans::Fixed(&[("liquidations", "/ws/2", &[LIQUIDATIONS])]),
        subscription: |_, topics, _| {
            // Each message subscribes to one key, and one key covers all liquidations.
            let key = topics.first().map_or(LIQUIDATIONS, String::as_str);
            json!({"event": "subscribe", "channel": "status", "key": key}).to_string()
        },
        heartbeat: Heartbeat {
            signs: QUARTERLY,
            ..Heartbeat::each_20_seconds(PingMessage::Text(r#"{"event":"ping"}"#))
        },
        // A channel without new data sends a heartbeat every 15 seconds.
        steady: |_| Control::ByItself,
        ..SocketPlan::NONE
    },
    rest: RestEndpoints {
        prices: Some(PriceEndpoints {
            asks: || vec![RestRequest::new("/v2/status/deriv", STATES).with("keys", "ALL")],
            read: read_prices,
        }),
        // At three requests per minute, a longer backfill would take too long.
        look_back: 30 * Millis::DAY,
        missed,
        go_on,
        ..RestEndpoints::NONE
    },
};

/// Splits names such as `tBTCF0:USTF0`, `tBTCUSD` and `tDOGE:USD`.
fn market(native_id: &str) -> MarketName<'_> {
    let name = native_id.strip_prefix('t').unwrap_or(native_id);
    let (base, quote) = name
        .split_once(':')
        .or_else(|| name.split_at_checked(name.len().saturating_sub(3)))
        .unwrap_or((name, ""));
    MarketName::new(bitfinex_currency(base), bitfinex_currency(quote))
}

members!(Notice<'a> {
    event = "event",
    key = "key",
    code = "code",
    said = "msg",
});

/// A frame or a REST body.
enum Message<'a> {
    /// An object, such as an acknowledgement.
    Notice(Notice<'a>),
    /// A list with rows.
    List(Vec<RawJson<'a>>),
}

/// The message format of Bitfinex.
struct Bitfinex;

impl Protocol for Bitfinex {
    type Message<'a> = Message<'a>;

    fn parse<'a>(frame: &Frame<'a>) -> Result<Message<'a>, Error> {
        if frame.trimmed().starts_with('{') {
            frame.object().map(Message::Notice)
        } else {
            frame.read_plainly().map(Message::List)
        }
    }

    fn events(frame: &Frame<'_>, message: &Message<'_>) -> Result<Vec<Event>, Error> {
        let root = JsonPath::ROOT;
        let items = match message {
            Message::List(items) => items,
            Message::Notice(Notice { event: Some(_), .. }) => return Ok(Vec::new()),
            Message::Notice(_) => return Err(frame.unknown()),
        };
        let mut events = Vec::new();
        match items.first().map(|first| first.text()) {
            None => {}
            Some("\"error\"") => {
                let said = items.get(2).copied().and_then(|said| text_of(Some(said)));
                return Err(frame.refused(root, &said.unwrap_or_default()));
            }
            // The text is a REST body: every item is a list with one row.
            Some(first) if first.starts_with('[') => {
                rows(frame, &root, items, &mut events, LEVELS)?;
            }
            // The text is a frame: a channel number, then a row, a list of rows, or a word such as "hb".
            Some(channel) if channel.starts_with(|digit: char| digit.is_ascii_digit()) => {
                if let Some(&payload) = items.get(1) {
                    part(frame, &root.item(1), payload, &mut events, LEVELS)?;
                }
            }
            Some(_) => return Err(frame.unknown()),
        }
        Ok(events)
    }

    fn kind(
        _frame: &Frame<'_>,
        message: &Message<'_>,
        sent: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        let Message::Notice(message) = message else {
            // The frame is a heartbeat of the channel, or its rows are no matches.
            return Ok(FrameKind::Control);
        };
        let said = [message.code, message.said];
        let code = text_of(message.code);
        Ok(match (text_of(message.event).as_deref(), code.as_deref()) {
            (Some("pong"), _) => FrameKind::Pong,
            (Some("subscribed"), _) => FrameKind::Ack {
                topics: text_of(message.key)
                    .map_or_else(|| sent.all(), |key| vec![key.into_owned()]),
            },
            (Some("error"), Some(REPEATED)) => FrameKind::Ack { topics: sent.all() },
            (Some("error"), _) => FrameKind::refused(sent.all(), &said),
            // The codes mean: server restart, start of maintenance, end of maintenance (subscribe again).
            (Some("info"), Some("20051" | "20060" | "20061")) => FrameKind::Notice(joined(&said)),
            _ => FrameKind::Other,
        })
    }

    /// Returns the positions that the triggers in a frame or a body announce.
    fn announced(message: &Message<'_>) -> Vec<PositionAnnouncement> {
        let mut found = Vec::new();
        if let Message::List(items) = message {
            triggers(items, &mut found, LEVELS);
        }
        found
    }
}

/// The most lists inside each other: the body, its items, rows, and one to spare.
const LEVELS: u8 = 4;

/// Decodes a row or a list of rows; any other value belongs to another channel.
fn part(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    raw: RawJson<'_>,
    events: &mut Vec<Event>,
    levels: u8,
) -> Result<(), Error> {
    let Some(items) = raw.items() else {
        return Ok(());
    };
    match items.first().map(|first| first.text()) {
        Some("\"pos\"") => {
            let position = frame.alone(position(frame, place, &items))?;
            events.extend(position.flatten());
            Ok(())
        }
        Some(first) if first.starts_with('[') => rows(frame, place, &items, events, levels),
        _ => Ok(()),
    }
}

fn triggers(items: &[RawJson<'_>], found: &mut Vec<PositionAnnouncement>, levels: u8) {
    let cell = |index| text_of(cell(items, index));
    if items.first().is_some_and(|first| first.text() == "\"pos\"") {
        let amount = cell(AMOUNT).and_then(|amount| amount.parse::<Decimal>().ok());
        let at = cell(TIME).and_then(|at| at.parse().ok());
        if cell(IS_MATCH).as_deref() == Some("0")
            && let (Some(position), Some(at), Some(amount)) = (cell(POSITION), at, amount)
        {
            found.push(PositionAnnouncement {
                key: format!("bitfinex|{position}"),
                at: Millis(at),
                amount: amount.abs(),
            });
        }
        return;
    }
    for item in items.iter().filter(|item| item.text().starts_with('[')) {
        if let Some(levels) = levels.checked_sub(1)
            && let Some(inner) = item.items()
        {
            triggers(&inner, found, levels);
        }
    }
}

fn rows(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    items: &[RawJson<'_>],
    events: &mut Vec<Event>,
    levels: u8,
) -> Result<(), Error> {
    let levels = levels.checked_sub(1).ok_or_else(|| frame.unknown())?;
    items
        .iter()
        .enumerate()
        .try_for_each(|(index, &item)| part(frame, &place.item(index), item, events, levels))
}

fn position(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    row: &[RawJson<'_>],
) -> Result<Option<Event>, Error> {
    let cell = |index| cell(row, index);
    // Cells are named by their index, so the member names are empty.
    let is_match = place.item(IS_MATCH).text("", cell(IS_MATCH))?;
    match &*is_match {
        "1" => {}
        "0" => return Ok(None),
        other => {
            let message = format!("{} is neither 0 (trigger) nor 1 (match)", shown(other));
            return Err(place.item(IS_MATCH).fault(message));
        }
    }
    let native_id = place.item(SYMBOL).name("", cell(SYMBOL))?;
    let position = place.item(POSITION).name("", cell(POSITION))?;
    let timestamp = place.item(TIME).instant("", cell(TIME))?;
    let amount = place.item(AMOUNT).number("", cell(AMOUNT))?.plain();
    let sold = place.item(IS_MARKET_SOLD).text("", cell(IS_MARKET_SOLD))?;
    let price = place
        .item(PRICE_ACQUIRED)
        .positive("", cell(PRICE_ACQUIRED))?;
    if amount.is_zero() {
        return Err(place.item(AMOUNT).fault("is zero, so the side is unknown"));
    }
    let seen = RawLiquidation {
        native_id: &native_id,
        market: frame.market(&native_id),
        side: if amount.is_sign_positive() {
            Side::Long
        } else {
            Side::Short
        },
        price: price.value,
        price_kind: PriceKind::Fill,
        size: Size::Base(amount.abs()),
        timestamp: Some(timestamp),
        // Several matches of a position may have the same millisecond.
        dedupe_key: format!(
            "bitfinex|{position}|{}|{is_match}|{sold}|{amount}|{}",
            timestamp.0,
            price.plain()
        ),
    };
    let event = frame.event(place, seen)?;
    Ok(Some(event.of_position(&position)))
}

fn read_prices(frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
    let states: Vec<BarCells<'_>> = frame.read()?;
    let parsed = |state: &BarCells<'_>| LastPrice::read(cell(state, KEY), cell(state, MARK_PRICE));
    Ok(states.iter().filter_map(parsed).collect())
}

/// Returns one backfill request for all markets, newest rows first.
fn missed(_listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
    vec![
        RestRequest::new("/v2/liquidations/hist", HISTORIES)
            .with("start", from.0)
            .with("end", until.0 - 1)
            .with("limit", ROWS)
            .with("sort", -1)
            .between(from, until),
    ]
}

/// Requests the rows before a full page.
fn go_on(ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
    // Each item is a list with one row.
    let items: Vec<Vec<BarCells<'_>>> = frame.read()?;
    let root = JsonPath::ROOT;
    let mut oldest = None;
    for (index, row) in items.iter().flatten().enumerate() {
        let place = root.item(index);
        let time = place
            .item(0)
            .item(TIME)
            .instant("", row.get(TIME).copied())?;
        oldest = Some(oldest.map_or(time, |oldest: Millis| oldest.min(time)));
    }
    // Rows of the oldest instant may be split between two pages, so the next request includes that instant.
    let end = oldest
        .filter(|_| items.len() >= ROWS)
        .map(|oldest| oldest.0.to_string());
    match end {
        Some(end) if ask.value("end") == Some(&end) => Err(root.fault(format!(
            "{ROWS} rows at one instant; further rows of that instant cannot be requested"
        ))),
        Some(end) => Ok(vec![ask.again_with("end", end)]),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::exchanges::centralized::bitfinex::*;
    use crate::feeds::testing::{come_down, next};

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            &VENUE,
            &[
                ["tBTCF0:USTF0", "BTCUSDT", "BTC"],
                ["tETHUSD", "ETHUSD", "ETH"],
                ["tDOGE:UST", "DOGEUSDT", "DOGE"],
            ],
        );
    }

    #[test]
    fn triggers_announce_how_much_is_liquidated() {
        let none = crate::feeds::Instruments::default();
        let of = |text: &str| {
            VENUE
                .decode(&VENUE.frame(text, None, &none))
                .unwrap()
                .announced
        };
        let trigger =
            r#"["pos",7,1594036710534,null,"tETHF0:USTF0",-8.6007,222.2,null,0,1,null,null]"#;
        let matched =
            r#"["pos",7,1594036710543,null,"tETHF0:USTF0",-4.5,222.2,null,1,1,null,235.52]"#;
        let parsed = [PositionAnnouncement {
            key: "bitfinex|7".to_owned(),
            at: Millis(1_594_036_710_534),
            amount: "8.6007".parse().unwrap(),
        }];
        assert_eq!(of(&format!("[907,[{trigger}],12,15]")), parsed);
        assert_eq!(of(&format!("[907,{trigger}]")), parsed);
        assert_eq!(of(&format!("[[{matched}],[{trigger}]]")), parsed);
        assert_eq!(of(&format!("[907,[{matched}]]")), []);
        assert_eq!(of(r#"{"event":"info"}"#), []);
    }

    fn page(times: impl Iterator<Item = i64>) -> String {
        let rows: Vec<String> = times
            .map(|time| format!(r#"[["pos",7,{time},null,"tBTCF0:USTF0",1,1,null,1,1,null,1]]"#))
            .collect();
        format!("[{}]", rows.join(","))
    }

    #[test]
    fn a_full_page_is_followed_by_the_one_before_it() {
        let asks = missed(&[], Millis(1_790_000_000_000), Millis(1_790_000_600_000));
        let ask = asks.first().unwrap();
        let times = |count: i64| (0..count).map(|back| 1_790_000_500_000 - back);
        assert_eq!(next(&VENUE, ask, &page(times(499))).unwrap(), []);
        let following = next(&VENUE, ask, &page(times(500))).unwrap();
        let following = following.first().unwrap();
        assert_eq!(following.value("end"), Some("1790000499501"));
        assert_eq!(following.value("start"), ask.value("start"));
        let one_instant = page(std::iter::repeat_n(1_790_000_499_501, 500));
        let fault = next(&VENUE, following, &one_instant).unwrap_err();
        assert!(fault.to_string().contains("one instant"), "{fault}");
    }
}
