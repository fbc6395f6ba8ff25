//! Bybit v5: `allLiquidation.<symbol>` on the public sockets, and the answers of `/v5/market`.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::doubles::book::Book;
use crate::doubles::chart;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask, first_bars, last_bars, length_of};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;

#[derive(Debug)]
pub struct Bybit;

const LINEAR: &str = "linear";
const INVERSE: &str = "inverse";

static MARKETS: [Market; 9] = [
    Market::new(
        "BTCUSDT",
        ["BTC", "USDT"],
        Unit::Base,
        LINEAR,
        (826_501, 1),
        (1, 3),
    ),
    Market::new(
        "ETHUSDT",
        ["ETH", "USDT"],
        Unit::Base,
        LINEAR,
        (244_612, 2),
        (1, 2),
    ),
    Market::new(
        "SOLUSDT",
        ["SOL", "USDT"],
        Unit::Base,
        LINEAR,
        (18_033, 2),
        (1, 1),
    ),
    Market::new(
        "SHIB1000USDT",
        ["SHIB1000", "USDT"],
        Unit::Base,
        LINEAR,
        (104_321, 7),
        (10, 0),
    ),
    Market::new(
        "BTCPERP",
        ["BTC", "USDC"],
        Unit::Base,
        LINEAR,
        (826_511, 1),
        (1, 3),
    ),
    Market::new(
        "BTCUSD",
        ["BTC", "USD"],
        Unit::Usd,
        INVERSE,
        (826_490, 1),
        (1, 0),
    ),
    Market::new(
        "ETHUSD",
        ["ETH", "USD"],
        Unit::Usd,
        INVERSE,
        (244_605, 2),
        (1, 0),
    ),
    Market::new(
        "NEWUSDT",
        ["NEW", "USDT"],
        Unit::Base,
        LINEAR,
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
    Market::new(
        "NEWUSD",
        ["NEW", "USD"],
        Unit::Usd,
        INVERSE,
        (1235, 4),
        (1, 0),
    )
    .unlisted(),
];

/// A contract that is announced before it trades; its topic is refused.
const BEFORE_LAUNCH: &str = "SOONUSDT";
/// How the topics of best bids and asks begin.
const BOOK: &str = "orderbook.1.";
/// Most characters of the topics of one connection.
const CHARACTERS: u64 = 21_000;

impl Dialect for Bybit {
    fn venue(&self) -> &'static str {
        "bybit"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        match class_of(session) {
            LINEAR | INVERSE => Ok(()),
            _ => Err(404),
        }
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        let Ok(request) = serde_json::from_str::<Value>(text) else {
            session.strange.push(text.to_owned());
            return session.say(json!({"success": false, "ret_msg": "Request is not valid JSON.", "conn_id": "double"}).to_string());
        };
        let id = request["req_id"].as_str().unwrap_or_default().to_owned();
        let reply = |op: &str, success: bool, said: &str| {
            json!({"success": success, "ret_msg": said, "conn_id": "double", "req_id": id, "op": op}).to_string()
        };
        let topics: Vec<String> = request["args"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|topic| topic.as_str().map(str::to_owned))
            .collect();
        match request["op"].as_str() {
            Some("ping") => {
                session.pings += 1;
                session.say(reply("ping", true, "pong"));
            }
            Some("subscribe") => subscribe(session, &topics, book, &reply),
            Some("unsubscribe") => {
                for topic in topics {
                    let topic = format!("{} {topic}", class_of(session));
                    session.topics.remove(&topic);
                }
                session.say(reply("unsubscribe", true, ""));
            }
            _ => {
                session.strange.push(text.to_owned());
                session.say(reply("", false, "Params Error"));
            }
        }
    }

    /// The subscribed best bid and ask, each second here; at the latest after three where nothing changes.
    fn beat(&self, session: &mut Session, _beat: u64, muted: bool, book: &Book) {
        if muted {
            return;
        }
        let topics = session.topics.iter();
        let symbols: Vec<String> = topics
            .filter_map(|topic| topic.split_once(' ')?.1.strip_prefix(BOOK))
            .map(str::to_owned)
            .collect();
        for symbol in symbols {
            session.say(best(&symbol, book));
        }
    }

    fn patience(&self) -> Option<u64> {
        Some(600)
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        vec![format!(
            "{} allLiquidation.{}",
            market.class, market.native_id
        )]
    }

    fn most(&self) -> usize {
        20
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        let (_, topic) = topic.split_once(' ').unwrap();
        let rows: Vec<String> = truths
            .iter()
            .map(|truth| {
                format!(
                    r#"{{"T":{},"s":"{}","S":"{}","v":"{}","p":"{}"}}"#,
                    truth.time,
                    truth.market.native_id,
                    truth.word("Buy", "Sell"),
                    truth.size,
                    truth.price
                )
            })
            .collect();
        let latest = truths
            .iter()
            .map(|truth| truth.time)
            .max()
            .unwrap_or_default();
        vec![format!(
            r#"{{"topic":"{topic}","type":"snapshot","ts":{},"data":[{}]}}"#,
            latest + 490,
            rows.join(",")
        )]
    }

    fn door(&self) -> Option<Quota> {
        Some(Quota::new("500 connections in 5 minutes", 500, 300, 403))
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("600 requests in 5 seconds", 600, 5, 403), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        let category = ask.text("category").unwrap_or_default();
        let market = || {
            ask.text("symbol")
                .and_then(|symbol| book.market(symbol))
                .filter(|market| market.class == category)
        };
        match ask.path.as_str() {
            "/v5/market/time" => {
                let now = book.now();
                done(
                    &json!({"timeSecond": (now / 1000).to_string(), "timeNano": format!("{now}000000")}),
                    book,
                )
            }
            "/v5/market/instruments-info" => instruments(category, ask, book),
            "/v5/market/tickers" => tickers(category, ask, book),
            "/v5/market/kline" => match market() {
                Some(market) => klines(market, ask, book),
                None => failed("symbol invalid", book),
            },
            "/v5/market/open-interest" => match market() {
                Some(market) => open_interest(market, ask, book),
                None => failed("symbol invalid", book),
            },
            _ => Answer::not_found(),
        }
    }
}

/// The best bid and ask of a market.
fn best(symbol: &str, book: &Book) -> String {
    let now = book.now();
    let price = book.market(symbol).map_or(Decimal::ONE, |market| {
        chart::price(book.seed(), market, now)
    });
    format!(
        r#"{{"topic":"{BOOK}{symbol}","type":"snapshot","ts":{now},"data":{{"s":"{symbol}","b":[["{price}","0.084"]],"a":[["{price}","1.2"]],"u":{now},"seq":{now}}},"cts":{now}}}"#
    )
}

fn class_of(session: &Session) -> &'static str {
    match session.path.as_str() {
        "/v5/public/linear" => LINEAR,
        "/v5/public/inverse" => INVERSE,
        _ => "",
    }
}

/// All or nothing: a topic that does not exist takes the others of its request with it.
fn subscribe(
    session: &mut Session,
    topics: &[String],
    book: &Book,
    reply: &dyn Fn(&str, bool, &str) -> String,
) {
    let class = class_of(session);
    let refused = topics.iter().find(|topic| {
        let symbol = topic.strip_prefix("allLiquidation.");
        let exists = symbol.or(topic.strip_prefix(BOOK)).is_some_and(|symbol| {
            book.markets
                .iter()
                .any(|market| market.native_id == symbol && market.class == class)
        });
        !exists || book.is_refused(topic)
    });
    let length: u64 = topics.iter().map(|topic| topic.len() as u64).sum();
    if let Some(topic) = refused {
        session.refuse(topic.clone());
        return session.say(reply(
            "subscribe",
            false,
            &format!("error:handler not found,topic:{topic}"),
        ));
    }
    *session.note("characters") += length;
    if *session.note("characters") > CHARACTERS {
        session
            .over_limit
            .push(format!("more than {CHARACTERS} characters of topics"));
        return session.say(reply("subscribe", false, "args size exceeds limit"));
    }
    for topic in topics {
        session.take(format!("{class} {topic}"));
    }
    session.say(reply("subscribe", true, "subscribe"));
}

fn done(result: &Value, book: &Book) -> Answer {
    Answer::json(
        &json!({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": book.now()}),
    )
}

/// Refusals come with status 200.
fn failed(message: &str, book: &Book) -> Answer {
    Answer::json(
        &json!({"retCode": 10001, "retMsg": message, "result": {}, "retExtInfo": {}, "time": book.now()}),
    )
}

/// A page of `all` behind the cursor, which is a number here, and the cursor of the next.
fn page(all: Vec<Value>, ask: &Ask, limit: usize) -> (Vec<Value>, String) {
    let from = ask
        .number("cursor")
        .and_then(|at| usize::try_from(at).ok())
        .unwrap_or(0);
    let left = all.len().saturating_sub(from);
    let page: Vec<Value> = all.into_iter().skip(from).take(limit).collect();
    let cursor = if left > limit {
        (from + limit).to_string()
    } else {
        String::new()
    };
    (page, cursor)
}

fn instruments(category: &str, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(500, 1000) else {
        return failed("limit invalid", book);
    };
    let mut listed: Vec<Value> = book
        .of_class(category)
        .map(|market| instrument(market.native_id, market, "Trading"))
        .collect();
    if category == LINEAR {
        listed.push(instrument(BEFORE_LAUNCH, &MARKETS[2], "PreLaunch"));
    }
    listed.retain(|row| {
        ask.text("status")
            .is_none_or(|status| row["status"] == status)
            && ask
                .text("symbol")
                .is_none_or(|symbol| row["symbol"] == symbol)
    });
    let (list, cursor) = page(listed, ask, limit.min(book.setup.page));
    done(
        &json!({"category": category, "list": list, "nextPageCursor": cursor}),
        book,
    )
}

fn instrument(symbol: &str, market: &Market, status: &str) -> Value {
    let (kind, settle) = match market.class {
        INVERSE => ("InversePerpetual", market.base),
        _ => ("LinearPerpetual", market.quote),
    };
    json!({
        "symbol": symbol, "contractType": kind, "status": status, "baseCoin": market.base,
        "quoteCoin": market.quote, "settleCoin": settle, "launchTime": "1584230400000",
        "deliveryTime": "0", "deliveryFeeRate": "", "priceScale": market.start.1.to_string(),
        "priceFilter": {"minPrice": market.price(1).to_string(), "tickSize": market.price(1).to_string()},
        "lotSizeFilter": {"minOrderQty": market.step().to_string(), "qtyStep": market.step().to_string()},
        "fundingInterval": 480,
    })
}

/// The worth of an open interest: in the quote, or in the base where sizes are USD.
fn worth(market: &Market, open: Decimal, price: Decimal) -> Decimal {
    if market.is_inverse() {
        (open / price).round_dp(4)
    } else {
        (open * price).round_dp(4)
    }
}

fn tickers(category: &str, ask: &Ask, book: &Book) -> Answer {
    let now = book.now();
    let list: Vec<Value> = book
        .of_class_and_name(category, ask.text("symbol"))
        .map(|market| {
            let price = chart::price(book.seed(), market, now);
            let single = chart::open_interest(book.seed(), market, now);
            let both = single * Decimal::TWO;
            json!({
                "symbol": market.native_id, "lastPrice": price.to_string(), "indexPrice": price.to_string(),
                "markPrice": price.to_string(), "openInterest": both.to_string(),
                "openInterestValue": worth(market, both, price).to_string(),
                "singleOpenInterest": single.to_string(),
                "singleOpenInterestValue": worth(market, single, price).to_string(),
                "fundingRate": "0.0001", "nextFundingTime": "1760371200000", "deliveryTime": "0", "basis": "",
            })
        })
        .collect();
    done(&json!({"category": category, "list": list}), book)
}

/// Newest first; where both ends are given the newest of the range, where only the start is the oldest.
fn range(ask: &Ask, names: [&str; 2], length: i64, limit: usize, now: i64) -> Vec<i64> {
    let (start, end) = (ask.number(names[0]), ask.number(names[1]));
    let until = end.unwrap_or(now).min(now);
    match (start, end) {
        (Some(start), None) => {
            let mut starts = first_bars(start, until, length, limit);
            starts.reverse();
            starts
        }
        (start, _) => last_bars(start.unwrap_or(0), until, length, limit),
    }
}

fn klines(market: &Market, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(200, 1000) else {
        return failed("limit invalid", book);
    };
    let length = match ask.text("interval") {
        Some("D") => Some(86_400_000),
        Some(minutes) => minutes
            .parse::<i64>()
            .ok()
            .map(|minutes| minutes * chart::MINUTE),
        None => None,
    };
    let Some(length) = length else {
        return failed("interval invalid", book);
    };
    let now = book.now();
    let list: Vec<Value> = range(ask, ["start", "end"], length, limit, now)
        .into_iter()
        .map(|start| {
            let bar = chart::candle(book.seed(), market, start, length, now);
            json!([
                start.to_string(),
                bar.open.to_string(),
                bar.high.to_string(),
                bar.low.to_string(),
                bar.close.to_string(),
                bar.volume.to_string(),
                worth(market, bar.volume, bar.close).to_string(),
            ])
        })
        .collect();
    done(
        &json!({"category": market.class, "symbol": market.native_id, "list": list}),
        book,
    )
}

/// `openInterest` counts both sides, `singleOpenInterest` one.
fn open_interest(market: &Market, ask: &Ask, book: &Book) -> Answer {
    let Some(limit) = ask.limit(50, 200) else {
        return failed("limit invalid", book);
    };
    let Some(length) = ask.text("intervalTime").and_then(length_of) else {
        return failed("intervalTime invalid", book);
    };
    let now = book.now();
    let rows: Vec<Value> = range(ask, ["startTime", "endTime"], length, 100_000, now)
        .into_iter()
        .map(|time| {
            let single = chart::open_interest(book.seed(), market, time);
            json!({
                "openInterest": (single * Decimal::TWO).to_string(),
                "singleOpenInterest": single.to_string(), "timestamp": time.to_string(),
            })
        })
        .collect();
    let (list, cursor) = page(rows, ask, limit);
    done(
        &json!({"category": market.class, "symbol": market.native_id, "list": list, "nextPageCursor": cursor}),
        book,
    )
}
