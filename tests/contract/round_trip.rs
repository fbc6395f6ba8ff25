//! Client and server over a real socket: what arrives is exactly what the engine says in this process.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail where it stands"
)]

use std::fmt::Debug;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use flate2::read::MultiGzDecoder;
use liqdata::client::{Client, Config, DialectQuery, Error, Walk};
use liqdata::contract::{
    Chart, Coins, Endpoint, Exchanges, Heatmap, Largest, Levels, Liqmap, Maxpain, Orders, Overview,
    RawModel,
};
use liqdata::engine::Observations;
use liqdata::market::{Market, MarketQuery};
use liqdata::model::{
    GroupedOrder, HeatmapRange, MapRange, Millis, Model, Side, Span, Vocabulary, Window,
};
use liqdata::server::{Rejection, router, run};
use liqdata::simulate::simulate;
use reqwest::header::CONTENT_ENCODING;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

const NOW: Millis = Millis(1_781_136_000_000);

/// All coins in the long form; in the short one a few of the ten, for each takes seconds.
fn some_coins() -> impl Iterator<Item = String> {
    let step = if std::env::var_os("LIQDATA_SOAK").is_some() {
        1
    } else {
        4
    };
    market().coins().into_iter().step_by(step)
}

/// One simulated market for all tests of this file: nothing ever changes it.
fn market() -> Arc<Market> {
    static MARKET: OnceLock<Arc<Market>> = OnceLock::new();
    let market = MARKET.get_or_init(|| {
        let simulation = simulate(0, NOW);
        let observations = Observations::of_rows(
            simulation.orders.clone(),
            simulation.bars(),
            simulation.open_interest(),
            Some(simulation.now),
        );
        let feeds = simulation.feeds;
        Arc::new(Market::simulated(
            observations.unwrap(),
            feeds,
            simulation.published,
            "a simulation",
        ))
    });
    Arc::clone(market)
}

struct Server {
    url: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let task = tokio::spawn(run(listener, router(market()), shutdown));
        Self { url, stop, task }
    }

    fn client(&self) -> Client {
        Client::new(Config::new(&self.url).unwrap().timeout(60.0).unwrap()).unwrap()
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

/// Asks over the socket and in this process, and gives what both say.
async fn same<E>(client: &Client, question: E) -> E::Reply
where
    E: MarketQuery + DialectQuery,
    E::Reply: Debug,
{
    let wanted = market().answer(&question, None).unwrap().reply;
    let got = client.send(&question).await.unwrap();
    // As text all doubles differ, including the sign of a zero and the position of a NaN.
    assert!(
        format!("{got:?}") == format!("{wanted:?}"),
        "{question:?} differs:\n{}\n{}",
        excerpt(&got),
        excerpt(&wanted)
    );
    got
}

fn excerpt(reply: &impl Debug) -> String {
    format!("{reply:?}").chars().take(2000).collect()
}

/// The names of the ranges that the market's bars reach back for.
fn reached<V: Vocabulary>(length: fn(V) -> i64) -> Vec<&'static str> {
    let reached = |range: &&V| !(31 * Millis::DAY..Millis::ALL).contains(&length(**range));
    V::ALL
        .iter()
        .filter(reached)
        .map(|range| range.name())
        .collect()
}

fn names<V: Vocabulary>() -> Vec<&'static str> {
    V::ALL.iter().map(|member| member.name()).collect()
}

#[tokio::test]
async fn realised_totals_arrive_unchanged() {
    let server = Server::start().await;
    let client = server.client();
    let overview = same(&client, Overview::default()).await;
    assert!(overview.present().all(|(_, totals)| totals.cnt > 0));
    for range in names::<Window>() {
        let exchanges = same(&client, Exchanges::new(Some(range)).unwrap()).await;
        assert!(!exchanges.is_empty(), "{range}");
        for limit in [1, 2, 3, 30, 199, 200] {
            let coins = same(&client, Coins::new(Some(range), limit).unwrap()).await;
            assert!(!coins.is_empty(), "{range} {limit}");
        }
        for limit in [1, 20, 999, 1000] {
            let orders = same(&client, Largest::new(Some(range), limit).unwrap()).await;
            assert!(!orders.is_empty(), "{range} {limit}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn every_page_of_the_feed_arrives_unchanged() {
    let server = Server::start().await;
    let client = server.client();
    let every = Orders::new(None, None, 1, 0).unwrap();
    let all = market().page(&every, usize::MAX, 0, None).unwrap();
    let mut symbols: Vec<Option<&str>> =
        all.iter().map(|order| Some(&*order.order.symbol)).collect();
    let mut exchanges: Vec<Option<&str>> = all
        .iter()
        .map(|order| Some(&*order.order.exchange))
        .collect();
    for (values, quiet) in [(&mut symbols, "TIAUSDT"), (&mut exchanges, "lighter")] {
        values.extend([None, Some(quiet)]);
        values.sort_unstable();
        values.dedup();
    }
    for symbol in &symbols {
        for exchange in &exchanges {
            let page = Orders::new(*symbol, *exchange, 50, 0).unwrap();
            same(&client, page).await;
        }
    }
    let len = i128::try_from(all.len()).unwrap();
    for limit in [1, 7, 1000] {
        for offset in [0, 1, len - 1, len, len + 1, i128::from(i64::MAX)] {
            let page = same(&client, Orders::new(None, None, limit, offset).unwrap()).await;
            assert_eq!(page.is_empty(), offset >= len, "{limit} {offset}");
        }
    }
    let mut walked = Vec::new();
    while walked.len() < all.len() {
        let offset = i128::try_from(walked.len()).unwrap();
        let page = same(&client, Orders::new(None, None, 1000, offset).unwrap()).await;
        assert!(!page.is_empty());
        walked.extend(page);
    }
    assert_eq!(walked, all);
    let mut walk = Walk::new(client, None, None, 300, None).unwrap();
    let mut walked = Vec::new();
    while let Some(batch) = walk.next().await.unwrap() {
        walked.extend(Vec::<GroupedOrder>::from(batch));
    }
    assert_eq!(walked, all);
    server.stop().await;
}

#[tokio::test]
async fn the_chart_of_every_pair_arrives_unchanged() {
    let server = Server::start().await;
    let client = server.client();
    let every = Orders::new(None, None, 1, 0).unwrap();
    let all = market().page(&every, usize::MAX, 0, None).unwrap();
    let mut symbols: Vec<&str> = all
        .iter()
        .map(|order| order.order.symbol.as_str())
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    for symbol in symbols {
        let rows = same(&client, Chart::new(symbol).unwrap()).await;
        assert!(!rows.is_empty(), "{symbol}");
    }
    let rows = same(&client, Chart::new("TIAUSDT").unwrap()).await;
    assert!(rows.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn every_estimate_arrives_unchanged() {
    let server = Server::start().await;
    let client = server.client();
    for coin in some_coins() {
        for range in reached(MapRange::millis) {
            let map = same(
                &client,
                Liqmap::new(&coin, range, None, None, None).unwrap(),
            )
            .await;
            assert!(!map.bins.is_empty(), "{coin} {range}");
        }
        same(&client, Levels::new(&coin, None).unwrap()).await;
        same(&client, Maxpain::new(&coin, None).unwrap()).await;
        for range in reached(HeatmapRange::millis) {
            for &model in Model::ALL {
                let model = i128::from(model.number());
                let map = same(
                    &client,
                    Heatmap::new(&coin, range, RawModel::Number(model), None).unwrap(),
                )
                .await;
                assert!(map.matrix.iter().any(|cell| *cell > 0.0), "{coin} {range}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn the_served_estimates_agree_with_each_other() {
    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    let server = Server::start().await;
    let client = server.client();
    for coin in some_coins() {
        let day = client
            .send(&Liqmap::new(&coin, "1d", None, None, None).unwrap())
            .await
            .unwrap();
        let week = client
            .send(&Liqmap::new(&coin, "7d", None, None, None).unwrap())
            .await
            .unwrap();
        let pain = client
            .send(&Maxpain::new(&coin, None).unwrap())
            .await
            .unwrap();
        let levels = client
            .send(&Levels::new(&coin, None).unwrap())
            .await
            .unwrap();
        // The last column of a heatmap is the map of all open positions.
        let all = Liqmap {
            span: Some(Span::All),
            ..Liqmap::new(&coin, "all", Some(RawModel::Number(2)), None, None).unwrap()
        };
        let all = client.send(&all).await.unwrap();
        let sum: f64 = all.bins.iter().map(|bin| bin.total).sum();
        for range in ["24h", "7d"] {
            let heatmap = Heatmap {
                span: Some(Span::All),
                ..Heatmap::new(&coin, range, RawModel::Number(2), None).unwrap()
            };
            let heatmap = client.send(&heatmap).await.unwrap();
            let columns = heatmap.times.len();
            let last = heatmap.matrix.chunks(columns).map(|row| row[columns - 1]);
            let last: f64 = last.filter(|usd| !usd.is_nan()).sum();
            assert!(near(last, sum), "{coin} {range}: {last} and {sum}");
        }
        for (range, map, pain) in [("1d", &day, pain.d1), ("7d", &week, pain.d7)] {
            let pain = pain.unwrap();
            for (side, cluster, side_total) in [
                (Side::Long, pain.long, pain.total_long),
                (Side::Short, pain.short, pain.total_short),
            ] {
                let bins = || map.bins.iter().filter(|bin| bin.side == side);
                assert!(near(side_total, bins().map(|bin| bin.total).sum()));
                // A cluster is the bin at its price and others that are equally near to it.
                let mut by_distance: Vec<_> = bins()
                    .map(|bin| ((bin.price - cluster.price).abs(), bin.total))
                    .collect();
                by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(
                    by_distance[0].0 <= 1e-9 * cluster.price,
                    "{coin} {range} {side}"
                );
                let mut sum = 0.0;
                let is_cluster = by_distance.iter().any(|(_, usd)| {
                    sum += usd;
                    near(sum, cluster.usd)
                });
                assert!(is_cluster, "{coin} {range} {side}");
                assert_eq!(cluster.dist_pct < 0.0, side == Side::Long);
            }
            for (i, bin) in map.bins.iter().enumerate() {
                let tiers = map.tiers.chunks(map.leverages.len()).nth(i).unwrap();
                let sum: f64 = tiers.iter().filter(|usd| !usd.is_nan()).sum();
                assert!(near(sum, bin.total), "{coin} {range} {}", bin.price);
            }
        }
        for (leverage, tier) in &levels.tiers {
            for (side, price) in [
                (Side::Long, tier.long_price),
                (Side::Short, tier.short_price),
            ] {
                let bins = || week.bins.iter().filter(|bin| bin.side == side);
                assert!(
                    bins().any(|bin| near(bin.price, price)),
                    "{coin} {leverage}x {side}"
                );
            }
            assert!(tier.long_price < levels.price && levels.price < tier.short_price);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn concurrent_queries_of_every_kind_get_their_own_answers() {
    let server = Server::start().await;
    let client = server.client();
    let mut calls = JoinSet::new();
    for i in 0..48_i128 {
        let client = client.clone();
        match i % 4 {
            0 => calls.spawn(async move {
                same(&client, Overview::default()).await;
            }),
            1 => calls.spawn(async move {
                same(
                    &client,
                    Heatmap::new("ETH", "24h", RawModel::Number(2), None).unwrap(),
                )
                .await;
            }),
            2 => calls.spawn(async move {
                same(&client, Orders::new(None, None, 100, i).unwrap()).await;
            }),
            _ => calls.spawn(async move {
                same(&client, Liqmap::new("SOL", "7d", None, None, None).unwrap()).await;
            }),
        };
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_coin_is_refused_to_the_client() {
    let server = Server::start().await;
    let refused = server
        .client()
        .send(&Levels::new("TIA", None).unwrap())
        .await;
    let Err(Error::Refused {
        status,
        body,
        retry_after,
        ..
    }) = refused
    else {
        unreachable!("{refused:?}");
    };
    assert_eq!((status, retry_after), (404, None));
    // The status and body of what a caller in this process is given.
    let refusal = market()
        .answer(&Levels::new("TIA", None).unwrap(), None)
        .unwrap_err();
    let here = Rejection::from(refusal);
    assert_eq!(here.status(), status);
    assert_eq!(serde_json::to_string(&here.body()).unwrap(), body);
    server.stop().await;
}

/// Fetches a path without our client.
async fn fetch(http: &reqwest::Client, server: &Server, path: &str) -> reqwest::Response {
    let url = format!("{}{path}", server.url);
    http.get(url).send().await.unwrap()
}

fn plain() -> reqwest::ClientBuilder {
    // The client under test brings its own; the library alone has none, and wants one even for plain HTTP.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([])
}

fn unpacked(encoding: &str, packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    match encoding {
        "gzip" => MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap(),
        "zstd" => zstd::Decoder::new(packed)
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap(),
        other => unreachable!("{other}"),
    };
    bytes
}

#[tokio::test]
async fn every_encoding_carries_the_same_bytes() {
    let server = Server::start().await;
    let http = plain().no_gzip().build().unwrap();
    for path in [Heatmap::PATH, Liqmap::PATH, "/api/liquidations?limit=1000"] {
        let wanted = fetch(&http, &server, path).await;
        assert!(wanted.headers().get(CONTENT_ENCODING).is_none());
        let wanted = wanted.bytes().await.unwrap();
        for encoding in ["gzip", "zstd"] {
            let name = reqwest::header::HeaderValue::from_static(encoding);
            let packed = http.get(format!("{}{path}", server.url));
            let packed = packed.header("accept-encoding", name.clone());
            let packed = packed.send().await.unwrap();
            assert_eq!(packed.headers().get(CONTENT_ENCODING), Some(&name));
            let packed = packed.bytes().await.unwrap();
            assert!(packed.len() < wanted.len());
            assert_eq!(unpacked(encoding, &packed), wanted, "{encoding} {path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn as_of_over_http_equals_as_of_in_process() {
    async fn check<E: MarketQuery>(
        http: &reqwest::Client,
        server: &Server,
        question: E,
        then: Millis,
    ) {
        let mut url = reqwest::Url::parse(&format!("{}{}", server.url, E::PATH)).unwrap();
        url.query_pairs_mut()
            .extend_pairs(question.to_query())
            .append_pair("as_of", &then.to_string());
        let got = http.get(url).send().await.unwrap();
        assert_eq!(got.headers()["x-liqdata-simulated"], "true");
        let mut got: Value = serde_json::from_slice(&got.bytes().await.unwrap()).unwrap();
        if E::ENVELOPED {
            got = got["data"].take();
        }
        let wanted = market().answer(&question, Some(then)).unwrap().reply;
        assert_eq!(got, serde_json::to_value(wanted).unwrap(), "{question:?}");
    }

    let server = Server::start().await;
    let http = plain().build().unwrap();
    for hours in [1, 7] {
        let then = NOW.back(hours * Millis::HOUR + 1);
        check(&http, &server, Overview::default(), then).await;
        check(&http, &server, Coins::new(Some("12h"), 200).unwrap(), then).await;
        check(&http, &server, Exchanges::new(Some("4h")).unwrap(), then).await;
        check(
            &http,
            &server,
            Largest::new(Some("24h"), 1000).unwrap(),
            then,
        )
        .await;
        check(
            &http,
            &server,
            Orders::new(None, None, 100, 3).unwrap(),
            then,
        )
        .await;
        check(&http, &server, Chart::new("ETHUSDT").unwrap(), then).await;
        check(
            &http,
            &server,
            Heatmap::new("BTC", "3d", RawModel::Number(3), None).unwrap(),
            then,
        )
        .await;
        check(
            &http,
            &server,
            Liqmap::new("BTC", "7d", None, None, None).unwrap(),
            then,
        )
        .await;
        check(&http, &server, Levels::new("SOL", None).unwrap(), then).await;
        check(&http, &server, Maxpain::new("ETH", None).unwrap(), then).await;
    }
    server.stop().await;
}
