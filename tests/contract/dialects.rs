//! Asking a service that speaks another dialect: a tiny one, written with what anybody may use.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use liqdata::client::{
    Client, Config, DIALECTS, Dialect, Error, OrderStream, Request, Walk, named,
};
use liqdata::contract::decode::{self, DecodeError, Matrix, Reading};
use liqdata::contract::{self, BadQuery, Coins, Heatmap, Liqmap, Orders, RawModel, Stream};
use liqdata::model::{CoinTotals, EstimateLabels, HeatmapGrid, HeatmapRange, Millis, TotalsRange};
use serde::Deserialize;

/// Sums in thousands of USD, cells as columns of `[x, y, value]`, and an envelope of its own.
#[derive(Debug)]
struct Tiny;

impl Dialect for Tiny {
    fn name(&self) -> &'static str {
        "tiny"
    }

    fn key_header(&self) -> Option<&'static str> {
        Some("X-TINY-KEY")
    }

    fn reason(&self, body: &[u8]) -> Option<String> {
        refusal(&decode::parse(body).ok()?)
    }

    fn coins(&self, question: &Coins) -> Result<Request<Vec<CoinTotals>>, BadQuery> {
        let read = |body: &[u8]| {
            opened(body, |rows: Vec<Row>| {
                Ok(rows.into_iter().map(Row::totals).collect())
            })
        };
        let period = match question.range {
            Some(TotalsRange::H24) => "1d",
            other => {
                return Err(BadQuery::new(
                    "range",
                    format!("{other:?} is not kept"),
                    "24h",
                ));
            }
        };
        Ok(Request::whole("/v9/coin-list", read).with([("period", period.to_owned())]))
    }

    fn heatmap(&self, question: &Heatmap) -> Result<Request<HeatmapGrid>, BadQuery> {
        let interval = match question.range {
            HeatmapRange::M1 => "30d".to_owned(),
            range => range.to_string(),
        };
        let path = format!("/v9/{}/heat", question.symbol);
        let asked = question.clone();
        let read = move |body: &[u8]| opened(body, |sheet| grid(&asked, sheet));
        Ok(Request::whole(path, read).with([("interval", interval)]))
    }
}

/// What says whether a body is a reply.
#[derive(Deserialize)]
struct Verdict {
    code: String,
    msg: Option<String>,
}

#[derive(Deserialize)]
struct Around<T> {
    data: T,
}

fn refusal(verdict: &Verdict) -> Option<String> {
    let reason = verdict.msg.as_deref().unwrap_or("no reason");
    (verdict.code != "0").then(|| format!("{reason} ({})", verdict.code))
}

/// The reply that `of` makes of the data in a body.
fn opened<T: for<'de> Deserialize<'de>, R>(
    body: &[u8],
    of: impl Fn(T) -> Result<R, DecodeError>,
) -> Result<Reading<R>, DecodeError> {
    if let Some(message) = refusal(&decode::parse(body)?) {
        return Ok(Reading::Refused { message });
    }
    let Around { data } = decode::parse(body)?;
    of(data).map(Reading::Reply)
}

#[derive(Deserialize)]
struct Row {
    base: String,
    #[serde(deserialize_with = "decode::lenient")]
    long: f64,
    #[serde(deserialize_with = "decode::lenient")]
    short: f64,
}

impl Row {
    fn totals(self) -> CoinTotals {
        let [long_usd, short_usd] = [self.long, self.short].map(|thousands| thousands * 1000.0);
        CoinTotals {
            coin: self.base,
            long_usd,
            short_usd,
            total_usd: long_usd + short_usd,
            cnt: 0,
        }
    }
}

#[derive(Deserialize)]
struct Sheet {
    #[serde(deserialize_with = "decode::lenient")]
    y: Vec<f64>,
    candles: Vec<Candle>,
    #[serde(deserialize_with = "decode::lenient")]
    cells: Matrix,
}

#[derive(Deserialize)]
struct Candle(
    #[serde(deserialize_with = "decode::lenient_instant")] Millis,
    #[serde(deserialize_with = "decode::lenient")] f64,
);

fn grid(asked: &Heatmap, sheet: Sheet) -> Result<HeatmapGrid, DecodeError> {
    let (prices, times) = (sheet.y.len(), sheet.candles.len());
    let cells = sheet.cells.triples(prices, times);
    let mut matrix = cells.map_err(|damage| damage.below("data.cells"))?;
    for cell in &mut matrix {
        *cell *= 1000.0;
    }
    let last = sheet.candles.last();
    let Some(&Candle(updated_at, current_price)) = last else {
        return Err(DecodeError::at("data.candles", "is empty"));
    };
    Ok(HeatmapGrid {
        symbol: asked.symbol.to_string(),
        range: asked.range.to_string(),
        model: asked.model.view().number(),
        updated_at,
        current_price,
        prices: sheet.y,
        times: sheet.candles.iter().map(|candle| candle.0).collect(),
        matrix,
        labels: EstimateLabels::default(),
        outside: None,
        step: None,
        row_step: None,
        edges: None,
        exact_share: None,
        exact: None,
    })
}

/// What a question was asked with: its target, and its headers by lower-case name.
type Asked = (String, BTreeMap<String, String>);

/// Asks by `ask` a service that gives one answer; what came back, and how it was asked.
async fn ask<T, F: Future<Output = T>>(
    status: &str,
    body: &str,
    ask: impl FnOnce(Client) -> F,
) -> (T, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = Config::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let service = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let first = lines.next().unwrap();
        let headers = lines
            .take_while(|line| !line.is_empty())
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_lowercase(), value.to_owned())
            })
            .collect();
        stream.write_all(answer.as_bytes()).unwrap();
        (first.split(' ').nth(1).unwrap().to_owned(), headers)
    });
    let key = Tiny.key_header().map(|name| (name, "hunter2"));
    let config = config.headers(key).unwrap().retries(0).unwrap();
    let came = ask(Client::speaking(config, &Tiny).unwrap()).await;
    (came, service.join().unwrap())
}

#[tokio::test]
async fn a_heatmap_of_columns_is_requested_and_converted() {
    let body = r#"{"code": "0", "msg": "success", "data": {
        "y": ["100", 110.5], "candles": [[1790000000, "1"], [1790003600, "105.5"], [1790007200, 106]],
        "cells": [[0, 1, 2.5], [2, 0, 1]]}}"#;
    let question = Heatmap::new("BTC", "1M", RawModel::Number(2), None).unwrap();
    let (heatmap, (target, headers)) = ask("200 OK", body, async |client: Client| {
        client.send(&question).await
    })
    .await;
    assert_eq!(target, "/v9/BTC/heat?interval=30d");
    assert_eq!(headers.get("x-tiny-key").unwrap(), "hunter2");
    let heatmap = heatmap.unwrap();
    assert_eq!(
        (heatmap.symbol.as_str(), heatmap.range.as_str()),
        ("BTC", "1M")
    );
    assert_eq!(heatmap.prices, [100.0, 110.5]);
    assert_eq!(heatmap.times.last(), Some(&Millis(1_790_007_200_000)));
    assert_eq!(heatmap.matrix, [0.0, 0.0, 1000.0, 2500.0, 0.0, 0.0]);
    assert_eq!(heatmap.current_price.to_bits(), 106_f64.to_bits());
}

#[tokio::test]
async fn rows_in_other_units_are_converted() {
    let body = r#"{"code": "0", "data": [{"base": "BTC", "long": "1.5", "short": 2}]}"#;
    let question = Coins::new(Some("24h"), 1).unwrap();
    let (rows, (target, _)) = ask("200 OK", body, async |client: Client| {
        client.send(&question).await
    })
    .await;
    assert_eq!(target, "/v9/coin-list?period=1d");
    let row = rows.unwrap().pop().unwrap();
    assert_eq!((row.coin.as_str(), row.total_usd), ("BTC", 3500.0));
}

#[tokio::test]
async fn a_refusal_is_found_in_its_own_envelope_under_any_status() {
    let body = r#"{"code": "40001", "msg": "no such plan"}"#;
    let question = Coins::new(Some("24h"), 1).unwrap();
    for (status, said) in [
        ("200 OK", "refused /v9/coin-list: no such plan (40001)"),
        (
            "401 Unauthorized",
            "(401 Unauthorized): no such plan (40001); send a key in the header X-TINY-KEY",
        ),
    ] {
        let (refused, _) = ask(status, body, async |client: Client| {
            client.send(&question).await
        })
        .await;
        match refused {
            Err(Error::Refused {
                message,
                status: number,
                body: shown,
                ..
            }) => {
                assert!(message.ends_with(said), "{message}");
                assert!(status.starts_with(&number.to_string()), "{number}");
                assert_eq!(shown, body);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn damage_is_named_by_its_path_in_the_service_body() {
    let sheet = |cells: &str| {
        format!(
            r#"{{"code": "0", "data": {{"y": [1], "candles": [[1790000000, 1]], "cells": {cells}}}}}"#
        )
    };
    let question = Heatmap::new("BTC", "24h", RawModel::Number(2), None).unwrap();
    for (body, place) in [
        (sheet("[[0, 0, 1], [1, 0, 1]]"), "data.cells[1]"),
        (sheet("[[0, 0, true]]"), "data.cells[0]"),
        (sheet("[[0, 0]]"), "data.cells[0]"),
        (sheet("[]").replace("[1]", "[\"x\"]"), "data.y[0]"),
        ("{}".to_owned(), ""),
        ("<html>".to_owned(), ""),
    ] {
        let (damage, _) = ask("200 OK", &body, async |client: Client| {
            client.send(&question).await
        })
        .await;
        match damage {
            Err(Error::UnexpectedReply { path, .. }) => assert_eq!(path, place, "{body}"),
            other => panic!("{other:?} for {body}"),
        }
    }
}

#[tokio::test]
async fn an_unsupported_query_is_refused_without_a_request() {
    let client = || Client::speaking(Config::new("http://127.0.0.1:1").unwrap(), &Tiny).unwrap();
    let refused = |error: Error| match error {
        Error::BadQuery(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    let liqmap = Liqmap::new("BTC", "1d", None, None, None).unwrap();
    let refusal = refused(client().send(&liqmap).await.unwrap_err());
    assert_eq!(refusal.parameter, "endpoint");
    assert_eq!(
        refusal.message,
        "the dialect tiny does not support the query liqmap"
    );
    let refusal = refused(
        client()
            .send(&Coins::new(Some("1h"), 1).unwrap())
            .await
            .unwrap_err(),
    );
    assert_eq!((&*refusal.parameter, &*refusal.allowed), ("range", "24h"));
    let mut walk = Walk::new(client(), None, None, 10, None).unwrap();
    assert_eq!(
        refused(walk.next().await.unwrap_err()).message,
        "the dialect tiny does not support the query orders"
    );
    let mut stream = OrderStream::new(client(), Stream::new(None, None, None).unwrap());
    assert_eq!(
        refused(stream.next().await.unwrap_err()).message,
        "the dialect tiny does not support the query stream"
    );
}

#[test]
fn the_contract_is_the_first_of_the_known_dialects() {
    assert_eq!(DIALECTS.map(Dialect::name), ["contract"]);
    assert!(named("contract").is_some() && named("tiny").is_none());
    let orders = Orders::new(Some("BTCUSDT"), None, 5, 0).unwrap();
    let request = named("contract").unwrap().orders(&orders).unwrap();
    assert!(format!("{request:?}").contains(<Orders as contract::Endpoint>::PATH));
}
