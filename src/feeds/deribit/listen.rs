//! One socket, one channel of all futures' trades; missed trades by REST.

use serde_json::json;
use serde_json::value::RawValue;

use crate::feeds::ask::{Ask, Limit};
use crate::feeds::frame::{Cell, Part, Place, cells, says, text_of};
use crate::feeds::listen::{Asked, Heard, Line};
use crate::feeds::{Error, Frame};
use crate::model::Millis;

/// Requests in a second.
const REQUESTS: Limit = Limit::of("requests", 15, 1);
/// Most trades of a reply.
const PAGE: i64 = 1000;
/// Whose futures there are, by what they are settled in.
const CURRENCIES: [&str; 4] = ["BTC", "ETH", "USDC", "USDT"];

const TOPIC: &str = "trades.future.any.100ms";

/// Asks for test requests, whose answer keeps the connection.
pub(super) const GREETING: &[&str] =
    &[r#"{"jsonrpc":"2.0","id":0,"method":"public/set_heartbeat","params":{"interval":30}}"#];
/// The answer to a test request.
const TEST: &str = r#"{"jsonrpc":"2.0","id":0,"method":"public/test","params":{}}"#;

cells!(Parameters { kind = "type", });

cells!(Refusal { code = "code", message = "message", });

cells!(Trade { timestamp = "timestamp", });

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Cell<'a>,
    #[serde(borrow)]
    method: Cell<'a>,
    #[serde(borrow)]
    params: Part<Parameters<'a>>,
    #[serde(borrow)]
    result: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Tape<'a> {
    #[serde(borrow)]
    trades: Part<Trade<'a>>,
    #[serde(borrow)]
    has_more: Cell<'a>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Reply<'a> {
    #[serde(borrow)]
    result: Part<Tape<'a>>,
}

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new("trades", "/ws/api/v2", &[TOPIC])]
}

pub(super) fn subscription(number: usize, topics: &[String]) -> String {
    json!({
        "jsonrpc": "2.0", "id": number, "method": "public/subscribe", "params": {"channels": topics},
    })
    .to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if says(message.method, "heartbeat") {
        let is_test =
            matches!(&message.params, Part::Object(params) if says(params.kind, "test_request"));
        return Ok(if is_test {
            Heard::Ping(TEST.to_owned())
        } else {
            Heard::Control
        });
    }
    if message.method.is_some() {
        return Ok(Heard::Data);
    }
    if let Part::Object(refusal) = &message.error {
        return Ok(Heard::Refused {
            topics: asked.topics(text_of(message.id).as_deref()),
            message: [refusal.code, refusal.message]
                .into_iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join(" "),
        });
    }
    // A channel that is not taken is left out of the list.
    let taken = message
        .result
        .map(RawValue::get)
        .and_then(|list| serde_json::from_str::<Vec<String>>(list).ok());
    Ok(match taken {
        Some(topics) => Heard::Ack { topics },
        None => Heard::Other,
    })
}

pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    CURRENCIES
        .into_iter()
        .map(|currency| {
            Ask::new(
                "/api/v2/public/get_last_trades_by_currency_and_time",
                REQUESTS,
            )
            .with("currency", currency)
            .with("kind", "future")
            .with("start_timestamp", from.0)
            .with("end_timestamp", until.0 - 1)
            .with("count", PAGE)
            .with("sorting", "asc")
            .between(from, until)
        })
        .collect()
}

pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let reply = frame.read::<Part<Reply<'_>>>()?;
    let root = Place::ROOT;
    let place = root.member("result");
    let tape = place.object(&root.object(&reply)?.result)?;
    if tape.has_more.map(RawValue::get) != Some("true") {
        return Ok(Vec::new());
    }
    let rows = place.member("trades");
    let trades = rows.list(&tape.trades)?;
    let Some(newest) = trades.last() else {
        return Ok(Vec::new());
    };
    let row = rows.item(trades.len() - 1);
    let last = row.instant("timestamp", row.object(newest)?.timestamp)?;
    // Trades of the last instant may be split between two pages.
    let start = if ask.value("start_timestamp") == Some(&last.0.to_string()) {
        last.on(1)
    } else {
        last
    };
    Ok(vec![ask.again_with("start_timestamp", start.0)])
}
