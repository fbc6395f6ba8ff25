//! Collection and serving in one process: events reach the stream and the answers at once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use liqdata::client::{Client, Config, OrderStream};
use liqdata::contract::{Overview, Stream};
use liqdata::market::Market;
use liqdata::model::{Order, TotalsByWindow};
use liqdata::server::{router, run};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::bench::{Doubles, Folder, assert_stored, quick};
use crate::doubles::Truth;

/// Far more than any step here takes; a longer wait means that the test is stuck.
const STUCK: Duration = Duration::from_secs(30);

/// A server of a market; it answers until it is stopped.
pub(crate) struct Serving {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Serving {
    pub(crate) async fn start(market: Market) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let task = tokio::spawn(run(listener, router(Arc::new(market)), shutdown));
        Self {
            address,
            stop,
            task,
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(Config::new(&format!("http://{}", self.address)).unwrap()).unwrap()
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(STUCK, self.task).await.unwrap().unwrap().unwrap();
    }
}

type Seen = (String, String, String, i64);

fn seen(order: &Order) -> Seen {
    (
        order.exchange.clone(),
        format!("{:?}", order.side),
        order.value_usd.normalize().to_string(),
        order.timestamp.0,
    )
}

fn happened(truth: &Truth) -> Seen {
    (
        truth.venue.to_owned(),
        format!("{:?}", truth.side),
        truth.value().to_string(),
        truth.time,
    )
}

/// The next orders of a stream, until there are as many as `wanted`.
async fn streamed(stream: &mut OrderStream, wanted: usize) -> Vec<Order> {
    let mut orders = Vec::new();
    while orders.len() < wanted {
        let more = timeout(STUCK, stream.next()).await.unwrap().unwrap();
        orders.extend(more.into_iter().map(|(_, order)| order));
    }
    orders
}

fn counted(overview: &TotalsByWindow) -> u64 {
    overview
        .present()
        .map(|(_, totals)| totals.cnt)
        .max()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collected_orders_are_streamed_and_counted_at_once() {
    let venues = ["binance", "okx", "bitget"];
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&venues).await);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    let market = Market::open(folder.archive(), None).unwrap();
    let position = market.newest().unwrap().to_string();
    let serving = Serving::start(market).await;
    collecting.until_live().await;
    let client = serving.client();
    let mut stream = OrderStream::new(
        client.clone(),
        Stream::new(None, None, Some(&position)).unwrap(),
    );

    let mut truths: Vec<Truth> = Vec::new();
    let mut received = BTreeSet::new();
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        let began = Instant::now();
        let mut news = Vec::new();
        for exchange in doubles.exchanges().values() {
            news.extend(exchange.liquidate(7));
        }
        let orders = streamed(&mut stream, news.len()).await;
        slowest = slowest.max(began.elapsed());
        received.extend(orders.iter().map(seen));
        truths.extend(news);
        let wanted: BTreeSet<Seen> = truths.iter().map(happened).collect();
        assert_eq!(received, wanted);
        // Streamed orders are counted in the next answer.
        let overview = client.send(&Overview::default()).await.unwrap();
        assert_eq!(counted(&overview), u64::try_from(truths.len()).unwrap());
    }
    println!("streamed after {slowest:?} at most");

    drop(stream);
    serving.stop().await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &truths);
}
