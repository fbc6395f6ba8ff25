//! The walk through the order feed, over a real socket, while the feed grows.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use liqdata::client::{Client, Config, Error, Walk};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Where a walk looks whether the service has more than its feed.
const INDEX: &str = "GET /api HTTP";
/// It has not.
const NOWHERE: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// A feed on a loopback socket that grows by so many rows before every read but the first.
struct Feed {
    url: String,
    requested: Arc<Mutex<Vec<(usize, usize)>>>,
}

/// A row is known by its price; every third row equals the one before it.
fn price(row: i64) -> i64 {
    row - i64::from(row % 3 == 2)
}

async fn feed(start: i64, grows_by: i64, most: usize) -> Feed {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requested = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&requested);
    let newest = Arc::new(Mutex::new(start));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (log, newest) = (Arc::clone(&log), Arc::clone(&newest));
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut piece = [0; 4096];
                loop {
                    match stream.read(&mut piece).await {
                        Ok(0) | Err(_) => return,
                        Ok(read) => head.extend_from_slice(&piece[..read]),
                    }
                    if !head.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    let request = String::from_utf8(std::mem::take(&mut head)).unwrap();
                    if request.starts_with(INDEX) {
                        if stream.write_all(NOWHERE.as_bytes()).await.is_err() {
                            return;
                        }
                        continue;
                    }
                    let number = |name: &str| -> usize {
                        let at = request.find(name).unwrap() + name.len();
                        let digits = request[at..].split(|c: char| !c.is_ascii_digit()).next();
                        digits.unwrap().parse().unwrap()
                    };
                    let (limit, offset) = (number("limit="), number("offset="));
                    let newest = {
                        let (mut log, mut newest) = (log.lock().unwrap(), newest.lock().unwrap());
                        if !log.is_empty() {
                            *newest += grows_by;
                        }
                        log.push((offset, limit));
                        *newest
                    };
                    let rows: Vec<String> = (0..newest)
                        .rev()
                        .skip(offset)
                        .take(limit.min(most))
                        .map(|row| {
                            let price = price(row);
                            format!(
                                r#"{{"exchange":"binance","symbol":"BTCUSDT","side":"LONG","price":"{price}","qty":"1","value_usd":"1","timestamp":{price}}}"#
                            )
                        })
                        .collect();
                    let body = format!(r#"{{"success":true,"data":[{}]}}"#, rows.join(","));
                    let mut answer = String::new();
                    write!(
                        answer,
                        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    )
                    .unwrap();
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    Feed { url, requested }
}

async fn rows(feed: &Feed, page: i128, most: Option<i128>) -> Result<Vec<i64>, Error> {
    let client = Client::new(Config::new(&feed.url).unwrap()).unwrap();
    let mut walk = Walk::new(client, None, None, page, most)?;
    let mut prices = Vec::new();
    while let Some(batch) = walk.next().await? {
        assert!(!batch.is_empty());
        prices.extend(batch.iter().map(|row| i64::try_from(row.price).unwrap()));
    }
    assert!(walk.next().await.unwrap().is_none());
    Ok(prices)
}

fn expected(start: i64) -> Vec<i64> {
    (0..start).rev().map(price).collect()
}

/// A feed on a loopback socket that answers a page by what `answer` makes of an offset and a limit.
async fn scripted_feed(answer: impl FnMut(usize, usize) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(Mutex::new(answer));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut piece).await {
                    let request = String::from_utf8_lossy(&piece[..read]).into_owned();
                    if request.starts_with(INDEX) {
                        if stream.write_all(NOWHERE.as_bytes()).await.is_err() {
                            return;
                        }
                        continue;
                    }
                    let number = |name: &str| -> usize {
                        let text = request.split(name).nth(1).unwrap();
                        let digits = text.split(|c: char| !c.is_ascii_digit()).next();
                        digits.unwrap().parse().unwrap()
                    };
                    let rows = answer.lock().unwrap()(number("offset="), number("limit="));
                    let body = format!(r#"{{"success":true,"data":[{rows}]}}"#);
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                    if stream.write_all((head + &body).as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

fn row(price: i64, timestamp: i64) -> String {
    format!(
        r#"{{"exchange":"binance","symbol":"BTCUSDT","side":"LONG","price":"{price}","qty":"1","value_usd":"1","timestamp":{timestamp}}}"#
    )
}

async fn walked(url: &str, page: i128) -> Result<Vec<i64>, Error> {
    let client = Client::new(Config::new(url).unwrap()).unwrap();
    let mut walk = Walk::new(client, None, None, page, None)?;
    let mut prices = Vec::new();
    while let Some(batch) = walk.next().await? {
        prices.extend(batch.iter().map(|row| i64::try_from(row.price).unwrap()));
    }
    Ok(prices)
}

#[tokio::test]
async fn a_walk_by_arrival_with_late_rows_returns_each_row_once() {
    for seed in 0..128 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let start = dice.usize(0..3000);
        let page = dice.choice([7_i128, 20, 100, 333, 1000]).unwrap();
        let late = dice.u8(1..100);
        let burst = dice.choice([0_usize, 1, 5, 60, 700]).unwrap();
        let lag = dice.choice([100_i64, 60_000, 86_400_000]).unwrap();
        // Each row has a price of its own, in the order of arrival.
        let mut feed: Vec<String> = Vec::new();
        let mut grow = move |feed: &mut Vec<String>, by: usize| {
            for _ in 0..by {
                let number = i64::try_from(feed.len()).unwrap();
                let behind = if dice.u8(0..100) < late {
                    dice.i64(0..lag)
                } else {
                    0
                };
                feed.push(row(number + 1, 1_790_000_000_000 + number * 40 - behind));
            }
            dice.usize(0..=burst)
        };
        let mut arriving = grow(&mut feed, start);
        let url = scripted_feed(move |offset, limit| {
            let page: Vec<String> = feed
                .iter()
                .rev()
                .skip(offset)
                .take(limit)
                .cloned()
                .collect();
            arriving = grow(&mut feed, arriving);
            page.join(",")
        })
        .await;
        let prices = walked(&url, page).await.unwrap();
        let expected: Vec<i64> = (1..=i64::try_from(start).unwrap()).rev().collect();
        assert!(
            prices == expected,
            "seed {seed}: {} of {start} rows in pages of {page}",
            prices.len()
        );
    }
}

#[tokio::test]
async fn reordered_rows_between_pages_are_an_unexpected_reply() {
    let mut turn = 0;
    let url = scripted_feed(move |offset, limit| {
        // The same rows, all of one minute, in another order each time: no page can be joined to another.
        turn += 1;
        let mut numbers: Vec<i64> = (0..3000).collect();
        fastrand::Rng::with_seed(turn).shuffle(&mut numbers);
        let rows = numbers.iter().skip(offset).take(limit);
        rows.map(|number| row(number + 1, 1_790_000_000_000 + number % 7))
            .collect::<Vec<_>>()
            .join(",")
    })
    .await;
    let error = walked(&url, 100).await.unwrap_err();
    assert!(error.to_string().contains("in another order"), "{error}");
}

#[tokio::test]
async fn a_row_removed_between_pages_is_an_error_or_loses_no_other() {
    for gone in [80_i64, 97, 98, 99, 100, 101, 120] {
        let mut turn = 0;
        let url = scripted_feed(move |offset, limit| {
            turn += 1;
            let rows = (0..500_i64).filter(|&row| turn < 2 || row != gone);
            rows.skip(offset)
                .take(limit)
                // Every ninth row is late.
                .map(|number| {
                    row(
                        number + 1,
                        1_790_000_000_000 - number * 1000 - i64::from(number % 9 == 0) * 5000,
                    )
                })
                .collect::<Vec<_>>()
                .join(",")
        })
        .await;
        match walked(&url, 100).await {
            Ok(prices) => {
                let all: Vec<i64> = (1..=500)
                    .filter(|&price| gone < 100 || price != gone + 1)
                    .collect();
                assert!(prices == all, "{gone}: {} rows", prices.len());
            }
            Err(error) => assert!(error.to_string().contains("withdrew"), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_feed_that_grows_faster_than_its_pages_is_read_to_the_end() {
    let mut newest = 400_i64;
    let url = scripted_feed(move |offset, limit| {
        let rows = (0..newest).rev().skip(offset).take(limit.min(50));
        let page: Vec<String> = rows.map(|number| row(number + 1, number)).collect();
        newest += 60;
        page.join(",")
    })
    .await;
    match walked(&url, 100).await {
        Ok(prices) => assert_eq!(prices, (1..=400).rev().collect::<Vec<i64>>()),
        Err(error) => assert!(
            error.to_string().contains("faster than it can be read"),
            "{error}"
        ),
    }
}

#[tokio::test]
async fn a_quiet_feed_is_read_once_from_newest_to_oldest() {
    for (start, page) in [
        (0, 10),
        (1, 10),
        (10, 10),
        (95, 10),
        (1000, 100),
        (5000, 1000),
        (20, 3),
    ] {
        let feed = feed(start, 0, 1000).await;
        assert_eq!(
            rows(&feed, page, None).await.unwrap(),
            expected(start),
            "{start} {page}"
        );
    }
}

#[tokio::test]
async fn a_growing_feed_is_read_as_of_the_start() {
    for (start, page, grows_by) in [
        (500, 100, 1),
        (500, 100, 99),
        (500, 100, 500),
        (60, 10, 37),
        (30, 2, 5),
    ] {
        let feed = feed(start, grows_by, 1000).await;
        assert_eq!(
            rows(&feed, page, None).await.unwrap(),
            expected(start),
            "{page} {grows_by}"
        );
    }
}

#[tokio::test]
async fn a_service_with_short_pages_is_read_to_the_end() {
    let feed = feed(180, 0, 50).await;
    assert_eq!(rows(&feed, 100, None).await.unwrap(), expected(180));
}

#[tokio::test]
async fn a_walk_requests_at_most_two_pages_more_than_needed() {
    for (most, page) in [
        (1, 1000),
        (250, 100),
        (1000, 100),
        (3000, 1000),
        (7, 2),
        (40, 10),
    ] {
        let feed = feed(10_000, 0, 1000).await;
        let got = rows(&feed, i128::from(page), Some(i128::from(most)))
            .await
            .unwrap();
        let wanted = usize::try_from(most).unwrap();
        assert_eq!(got, expected(10_000)[..wanted]);
        let beyond = wanted + 2 * usize::try_from(page).unwrap();
        for &(offset, limit) in &*feed.requested.lock().unwrap() {
            assert!(
                offset + limit <= beyond,
                "{offset} + {limit} of {most} in {page}"
            );
        }
    }
}

#[tokio::test]
async fn concurrent_pages_begin_at_one_and_grow_after_full_pages() {
    let feed = feed(1000, 0, 1000).await;
    rows(&feed, 20, None).await.unwrap();
    let requested = feed.requested.lock().unwrap().clone();
    assert_eq!(requested[0], (0, 20));
    // Fifty pages' worth is read in a good fifty pages: nothing twice.
    assert!(requested.len() < 70, "{}", requested.len());
}

#[tokio::test]
async fn a_run_of_equal_rows_longer_than_a_page_is_an_unexpected_reply() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut piece).await {
                let request = String::from_utf8_lossy(&piece[..read]).into_owned();
                let limit = request.split("limit=").nth(1).unwrap();
                let limit: usize = limit.split('&').next().unwrap().parse().unwrap();
                let row = r#"{"exchange":"a","symbol":"B","side":"LONG","price":"1","qty":"1","value_usd":"1","timestamp":1}"#;
                let body = format!(
                    r#"{{"success":true,"data":[{}]}}"#,
                    vec![row; limit].join(",")
                );
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    let client = Client::new(Config::new(&url).unwrap()).unwrap();
    let mut walk = Walk::new(client, None, None, 5, None).unwrap();
    let error = loop {
        match walk.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the feed has no end"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::UnexpectedReply { .. }), "{error:?}");
}

#[test]
fn an_invalid_walk_option_is_refused_by_name() {
    let client = Client::new(Config::new("http://127.0.0.1:1").unwrap()).unwrap();
    let refused = |symbol, exchange, page, most| {
        let refusal = Walk::new(client.clone(), symbol, exchange, page, most).unwrap_err();
        refusal.parameter.into_owned()
    };
    assert_eq!(refused(None, None, 0, None), "page_size");
    assert_eq!(refused(None, None, 1001, None), "page_size");
    assert_eq!(refused(None, None, 10, Some(0)), "max_rows");
    assert_eq!(refused(None, None, 10, Some(-1)), "max_rows");
    assert_eq!(refused(Some(" "), None, 10, None), "symbol");
    assert_eq!(refused(None, Some(""), 10, None), "exchange");
}
