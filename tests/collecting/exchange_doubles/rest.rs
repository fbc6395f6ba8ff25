//! What the doubles answer over REST.

use std::collections::BTreeSet;

use liqdata::feeds::{Event, Instrument, Instruments, Listing, decode, venue};
use liqdata::model::Millis;
use serde_json::Value;

use crate::doubles::{Exchange, Limit, Setup, dialect};
use crate::exchange_doubles::client::{Seen, instruments, seen};

const NOW: i64 = 1_790_000_030_000;

/// A reply without our client, which brings what the library alone has not and wants even for plain HTTP.
async fn plain_get(address: impl reqwest::IntoUrl) -> reqwest::Result<reqwest::Response> {
    // Another test may have named it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::get(address).await
}

async fn at_noon(venue: &str) -> Exchange {
    let mut setup = Setup::of(venue);
    setup.clock = std::sync::Arc::new(|| NOW);
    Exchange::with(setup).await
}

async fn fetch(exchange: &Exchange, path: &str) -> (u16, String) {
    let response = plain_get(format!("{}{path}", exchange.rest()))
        .await
        .unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn ask(exchange: &Exchange, path: &str) -> Value {
    let (status, body) = fetch(exchange, path).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn first_of(rows: &Value) -> Vec<i64> {
    let number = |cell: &Value| {
        cell.as_i64()
            .unwrap_or_else(|| cell.as_str().unwrap().parse().unwrap())
    };
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| number(&row[0]))
        .collect()
}

#[tokio::test]
async fn candles_of_three_venues_page_each_in_its_way() {
    let minute = NOW - NOW % 60_000;
    let exchange = at_noon("binance").await;
    let path = "/fapi/v1/klines?symbol=BTCUSDT&interval=1m";
    let start = minute - 2000 * 60_000;
    let rows = ask(&exchange, &format!("{path}&startTime={start}&limit=1500")).await;
    let times = first_of(&rows);
    assert_eq!(
        (times[0], times[1499], times.len()),
        (start, start + 1499 * 60_000, 1500)
    );
    let rest = ask(
        &exchange,
        &format!("{path}&startTime={}&limit=1500", times[1499] + 60_000),
    )
    .await;
    assert_eq!(
        first_of(&rest).last(),
        Some(&minute),
        "the open minute is there"
    );
    assert_eq!(fetch(&exchange, &format!("{path}&limit=1501")).await.0, 400);

    let exchange = at_noon("bybit").await;
    let path = "/v5/market/kline?category=linear&symbol=BTCUSDT&interval=1";
    let body = ask(
        &exchange,
        &format!("{path}&start={start}&end={minute}&limit=1000"),
    )
    .await;
    let times = first_of(&body["result"]["list"]);
    assert_eq!(
        (times[0], times[999]),
        (minute, minute - 999 * 60_000),
        "newest first"
    );

    let exchange = at_noon("okx").await;
    let path = "/api/v5/market/candles?instId=BTC-USDT-SWAP&bar=1m&limit=300";
    let body = ask(&exchange, path).await;
    let times = first_of(&body["data"]);
    assert_eq!((times[0], times[299]), (minute, minute - 299 * 60_000));
    assert_eq!(body["data"][0][8], "0", "the open minute is not confirmed");
    assert_eq!(body["data"][1][8], "1");
    let older = ask(&exchange, &format!("{path}&after={}", times[299])).await;
    assert_eq!(first_of(&older["data"])[0], minute - 300 * 60_000);
    let beyond = ask(
        &exchange,
        &format!("{path}&after={}", minute - 1440 * 60_000),
    )
    .await;
    assert_eq!(
        beyond["data"].as_array().unwrap().len(),
        0,
        "only the last 1440 bars"
    );
    let path = path.replace("candles", "history-candles");
    let old = ask(
        &exchange,
        &format!("{path}&after={}", minute - 1440 * 60_000),
    )
    .await;
    assert_eq!(old["data"].as_array().unwrap().len(), 300);
}

#[tokio::test]
async fn a_long_candle_aggregates_its_minutes() {
    let exchange = at_noon("binance").await;
    let start = NOW - NOW % 3_600_000 - 3_600_000;
    let path = format!(
        "/fapi/v1/klines?symbol=ETHUSDT&startTime={start}&endTime={}",
        start + 3_599_999
    );
    let hour = ask(&exchange, &format!("{path}&interval=1h")).await;
    let minutes = ask(&exchange, &format!("{path}&interval=1m")).await;
    let minutes = minutes.as_array().unwrap();
    let number = |row: &Value, at: usize| {
        row[at]
            .as_str()
            .unwrap()
            .parse::<rust_decimal::Decimal>()
            .unwrap()
    };
    assert_eq!(minutes.len(), 60);
    assert_eq!(hour[0][1], minutes[0][1]);
    assert_eq!(hour[0][4], minutes[59][4]);
    assert_eq!(
        number(&hour[0], 2),
        minutes.iter().map(|row| number(row, 2)).max().unwrap()
    );
    assert_eq!(
        number(&hour[0], 3),
        minutes.iter().map(|row| number(row, 3)).min().unwrap()
    );
    assert_eq!(
        number(&hour[0], 5),
        minutes.iter().map(|row| number(row, 5)).sum()
    );
}

/// A double's answers to the collector's requests for a market's open interest: the times of all readings in order, with
/// repetitions.
async fn readings(exchange: &Exchange, native_id: &str, (from, until): (i64, i64)) -> Vec<i64> {
    let venue = venue(exchange.venue()).unwrap();
    let listing = Listing {
        native_id: native_id.to_owned(),
        instrument: Instrument::read("BTC", "USDT", "linear", "1").unwrap(),
        perpetual: true,
        trading: true,
    };
    let none = Instruments::default();
    let mut times = Vec::new();
    let asks = venue.open_interest_requests(&listing, Millis(from), Millis(until));
    assert!(asks.len() > 1, "{asks:?}");
    for ask in asks {
        let pairs: Vec<String> = ask
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let target = format!("{}?{}", ask.path, pairs.join("&"));
        let (status, body) = fetch(exchange, &target).await;
        assert_eq!(status, 200, "{target}: {body}");
        let read = venue.read_open_interest(&venue.frame(&body, None, &none));
        times.extend(read.unwrap().iter().map(|reading| reading.timestamp.0));
    }
    times.sort_unstable();
    times
}

/// OKX returns readings newer than `begin` and older than `end`, so a request with the first wanted reading as `begin` would
/// lose it at every seam of two pages.
#[tokio::test]
async fn pages_of_okx_open_interest_have_every_reading_once() {
    let exchange = at_noon("okx").await;
    let five = 5 * 60_000;
    let until = NOW - NOW % five;
    let from = until - 250 * five;
    let wanted: Vec<i64> = (0..250).map(|nth| from + nth * five).collect();
    let times = readings(&exchange, "BTC-USDT-SWAP", (from, until)).await;
    assert_eq!(times, wanted);
}

/// A start of thirty days ago is refused, so the request starts an hour later.
#[tokio::test]
async fn open_interest_of_binance_is_requested_within_an_hour_of_thirty_days() {
    let exchange = at_noon("binance").await;
    let back = venue("binance").unwrap().open_interest_look_back();
    let (month, hour, five) = (30 * 24 * 3_600_000, 3_600_000, 5 * 60_000);
    assert_eq!(back, month - hour);
    let path = "/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=500";
    let (status, _) = fetch(&exchange, &format!("{path}&startTime={}", NOW - month)).await;
    assert_eq!(status, 400);
    let times = readings(&exchange, "BTCUSDT", (NOW - back, NOW)).await;
    let first = (NOW - back + five - 1) / five * five;
    let wanted: Vec<i64> = (first..NOW)
        .step_by(usize::try_from(five).unwrap())
        .collect();
    assert_eq!(times, wanted);
}

#[tokio::test]
async fn open_interest_of_three_venues_pages_each_in_its_way() {
    let five = NOW - NOW % 300_000;
    let exchange = at_noon("binance").await;
    let path = "/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=500";
    let start = five - 999 * 300_000;
    let rows = ask(&exchange, &format!("{path}&startTime={start}")).await;
    let rows = rows.as_array().unwrap();
    assert_eq!(
        (rows.len(), rows[0]["timestamp"].as_str().unwrap()),
        (500, start.to_string().as_str())
    );
    let (status, body) = fetch(
        &exchange,
        &format!("{path}&startTime={}", NOW - 31 * 86_400_000),
    )
    .await;
    assert_eq!(status, 400, "{body}");

    let exchange = at_noon("bybit").await;
    let path =
        "/v5/market/open-interest?category=linear&symbol=BTCUSDT&intervalTime=5min&limit=200";
    let mut times = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let body = ask(
            &exchange,
            &format!("{path}&startTime={start}&endTime={five}&cursor={cursor}"),
        )
        .await;
        for row in body["result"]["list"].as_array().unwrap() {
            assert_ne!(row["openInterest"], row["singleOpenInterest"]);
            assert!(times.insert(row["timestamp"].as_str().unwrap().to_owned()));
        }
        cursor = body["result"]["nextPageCursor"]
            .as_str()
            .unwrap()
            .to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(times.len(), 1000);

    let exchange = at_noon("okx").await;
    let path = "/api/v5/rubik/stat/contracts/open-interest-history?instId=BTC-USDT-SWAP&period=5m&limit=100";
    let body = ask(
        &exchange,
        &format!("{path}&end={}", five - 3 * 86_400_000 + 600_000),
    )
    .await;
    assert!(
        body["data"].as_array().unwrap().len() < 5,
        "the history has three days"
    );
    let body = ask(&exchange, path).await;
    assert_eq!(first_of(&body["data"])[0], five, "newest first");
}

#[tokio::test]
async fn the_backfill_of_okx_returns_the_truth_of_its_range() {
    let exchange = at_noon("okx").await;
    let truths = exchange.imagine_of(
        "BTC-USDT-SWAP",
        (0..250).map(|number| NOW - 60_000 * (250 - number)),
    );
    exchange.record(&truths);
    let instruments = instruments("okx", exchange.book().markets);
    let path =
        "/api/v5/public/liquidation-orders?instType=SWAP&state=filled&uly=BTC-USDT&limit=100";
    let mut found = Vec::new();
    let mut after = NOW;
    loop {
        let (_, body) = fetch(&exchange, &format!("{path}&after={after}")).await;
        let events = decode("okx", body.as_bytes(), None, &instruments).unwrap();
        let Some(oldest) = events.iter().map(|event| event.timestamp.unwrap().0).min() else {
            break;
        };
        after = oldest;
        found.extend(seen(&events));
    }
    found.sort();
    let mut expected = seen(&truths);
    expected.sort();
    assert_eq!(found, expected);
    exchange.fault(|faults| {
        faults
            .gone
            .push("/api/v5/public/liquidation-orders".to_owned());
    });
    assert_eq!(fetch(&exchange, path).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn limits_are_those_of_the_exchange() {
    let exchange = Exchange::in_memory(Setup::of("okx"));
    let path = "/api/v5/rubik/stat/contracts/open-interest-history?instId=BTC-USDT-SWAP";
    let mut refused = 0;
    for _ in 0..30 {
        let reply = exchange.ask(path).unwrap().await;
        refused += usize::from(reply.status().as_u16() == 429);
    }
    assert!(refused > 0);
    assert_eq!(exchange.tally().over_limit.len(), refused);
}

#[tokio::test]
async fn a_rate_limit_can_be_ordered_for_some_requests() {
    let exchange = at_noon("binance").await;
    exchange.fault(|faults| {
        faults.rest = Some(Limit {
            status: 429,
            retry_after: Some(2),
        });
        faults.rest_times = Some(2);
    });
    let path = format!("{}/fapi/v1/time", exchange.rest());
    for expected in [429, 429, 200] {
        let response = plain_get(&path).await.unwrap();
        assert_eq!(response.status(), expected);
        assert_eq!(
            response.headers().contains_key("retry-after"),
            expected == 429
        );
    }
    assert_eq!(exchange.tally().requests_to("/fapi/v1/time"), 3);
}

#[tokio::test]
async fn a_market_is_listed_when_it_is_announced() {
    let exchange = at_noon("okx").await;
    let path = "/api/v5/public/instruments?instType=SWAP";
    let names = |body: &Value| {
        body["data"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["instId"] == "NEW-USDT-SWAP")
    };
    assert!(!names(&ask(&exchange, path).await));
    exchange.book().announce("NEW-USDT-SWAP");
    assert!(names(&ask(&exchange, path).await));
}

/// The next path of a backfill after the rows of all answers so far; `None` is its end.
type Walk = fn(&str, &[Seen]) -> Option<String>;

fn oldest(found: &[Seen]) -> Option<i64> {
    found.iter().map(|one| one.time).min()
}

/// Where the back-fill of a venue is, for one market, and how it goes on.
fn back_fill(venue: &str) -> (&'static str, Walk) {
    match venue {
        "gate" => ("BTC_USDT", |market, found| {
            let until = if found.is_empty() {
                NOW / 1000
            } else {
                oldest(found)? / 1000 - 1
            };
            let from = NOW / 1000 - 3600;
            (until > from).then(|| format!("/api/v4/futures/usdt/liq_orders?contract={market}&from={from}&to={until}&limit=30"))
        }),
        "bitget" => ("APEUSDT", |_, found| {
            let cursor = if found.is_empty() {
                String::new()
            } else {
                format!("&cursor={}", found.len())
            };
            Some(format!(
                "/api/v3/market/liquidations?category=USDT-FUTURES&limit=40{cursor}"
            ))
        }),
        "htx" => ("BTC-USDT", |market, found| {
            let from = found.last().map_or(NOW - 3_600_000, |last| last.time + 1);
            Some(format!(
                "/linear-swap-api/v3/swap_liquidation_orders?contract={market}&trade_type=0&direct=next&start_time={from}&end_time={NOW}"
            ))
        }),
        "coinex" => ("LATUSDT", |market, found| {
            Some(format!(
                "/v2/futures/liquidation-history?market={market}&limit=26&page={}",
                found.len() / 26 + 1
            ))
        }),
        "orderly" => ("PERP_BTC_USDC", |market, found| {
            Some(format!(
                "/v1/public/liquidated_positions?symbol={market}&size=26&page={}",
                found.len() / 26 + 1
            ))
        }),
        "kraken" => ("PF_XBTUSD", |market, found| {
            let before = oldest(found)
                .map(|time| format!("&lastTime={}", Millis(time)))
                .unwrap_or_default();
            Some(format!(
                "/derivatives/api/v3/history?symbol={market}{before}"
            ))
        }),
        "deribit" => ("BTC-PERPETUAL", |market, found| {
            let from = found.last().map_or(0, |last| last.time + 1);
            Some(format!(
                "/api/v2/public/get_last_trades_by_instrument_and_time?instrument_name={market}&start_timestamp={from}&end_timestamp={NOW}&count=100"
            ))
        }),
        "dydx" => ("BTC-USD", |market, found| {
            let before = oldest(found)
                .map(|time| format!("&createdBeforeOrAt={}", Millis(time - 1)))
                .unwrap_or_default();
            Some(format!(
                "/v4/trades/perpetualMarket/{market}?limit=200{before}"
            ))
        }),
        "bitfinex" => ("tBTCF0:USTF0", |_, found| {
            let end = oldest(found).map_or(NOW, |time| time - 1);
            Some(format!("/v2/liquidations/hist?start=0&end={end}&limit=500"))
        }),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn every_backfill_returns_the_truth_page_by_page() {
    for venue in [
        "gate", "bitget", "htx", "coinex", "orderly", "kraken", "deribit", "dydx", "bitfinex",
    ] {
        let mut setup = Setup::of(venue);
        setup.clock = std::sync::Arc::new(|| NOW);
        setup.limits = false;
        let exchange = Exchange::with(setup).await;
        let (market, walk) = back_fill(venue);
        let truths =
            exchange.imagine_of(market, (0..130).map(|number| NOW - 20_000 * (131 - number)));
        exchange.record(&truths);
        let known = exchange
            .book()
            .markets
            .iter()
            .filter(|known| known.native_id == market);
        let instruments = instruments(venue, known);
        let mut found: Vec<Seen> = Vec::new();
        let mut pages = 0;
        while let Some(path) = walk(market, &found) {
            let (status, body) = fetch(&exchange, &path).await;
            assert_eq!(status, 200, "{venue} {path}: {body}");
            let events = decode(venue, body.as_bytes(), None, &instruments).unwrap();
            if events.is_empty() {
                break;
            }
            found.extend(seen(&events));
            pages += 1;
        }
        found.sort();
        let dialect = dialect(venue).unwrap();
        let reported: Vec<_> = truths
            .iter()
            .map(|truth| dialect.reported_by_rest(truth))
            .collect();
        let mut expected = seen(&reported);
        expected.sort();
        assert_eq!(found, expected, "{venue}");
        assert!(
            pages > 1 || venue == "bitfinex",
            "{venue} has {pages} pages"
        );
    }
}

#[tokio::test]
async fn an_order_has_the_same_key_from_the_socket_and_over_rest() {
    for venue in [
        "okx", "gate", "bitget", "htx", "coinex", "orderly", "kraken", "deribit", "dydx",
        "bitfinex",
    ] {
        let mut setup = Setup::of(venue);
        setup.clock = std::sync::Arc::new(|| NOW);
        let exchange = Exchange::with(setup).await;
        let (market, path) = if venue == "okx" {
            let path = "/api/v5/public/liquidation-orders?instType=SWAP&uly=BTC-USDT";
            ("BTC-USDT-SWAP", path.to_owned())
        } else {
            let (market, walk) = back_fill(venue);
            (market, walk(market, &[]).unwrap())
        };
        let truths = exchange.imagine_of(market, [NOW - 5000, NOW - 4000, NOW - 3000]);
        exchange.record(&truths);
        let known = exchange
            .book()
            .markets
            .iter()
            .filter(|known| known.native_id == market);
        let instruments = instruments(venue, known);
        let rules = liqdata::feeds::venue(venue).unwrap().keyed();
        let keys = |body: &str| -> BTreeSet<String> {
            let events = decode(venue, body.as_bytes(), None, &instruments).unwrap();
            let shared = |event: &Event| rules.shared(&event.dedupe_key).to_owned();
            events.iter().map(shared).collect()
        };
        let over_rest = keys(&fetch(&exchange, &path).await.1);
        let dialect = dialect(venue).unwrap();
        let lane = dialect.topics(truths[0].market).remove(0);
        let live: BTreeSet<String> = dialect
            .render(&lane, &truths, exchange.book())
            .iter()
            .flat_map(|text| keys(text))
            .collect();
        assert_eq!(live.len(), 3, "{venue}");
        assert_eq!(over_rest, live, "{venue}");
    }
}

#[tokio::test]
async fn the_amounts_of_bitget_are_in_either_coin() {
    let exchange = at_noon("bitget").await;
    let truths = exchange.imagine_of("APEUSDT", [NOW - 5000, NOW - 4000]);
    exchange.record(&truths);
    let path = "/api/v3/market/liquidations?category=USDT-FUTURES";
    let amount = |body: Value| {
        body["data"]["list"][0]["amount"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        amount(ask(&exchange, path).await),
        truths[1].size.to_string()
    );
    exchange.fault(|faults| faults.amounts_in_quote = true);
    assert_eq!(
        amount(ask(&exchange, path).await),
        truths[1].value().to_string()
    );
}
