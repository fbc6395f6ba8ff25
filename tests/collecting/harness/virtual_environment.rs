//! The environment of a schedule: a virtual clock and a network in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use liqdata::collect::{ByteStream, Dial, Environment, HttpReply};
use liqdata::model::Millis;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Builder;
use tokio::time::Instant;
use url::Url;

use super::slow_connection::Slow;
use crate::doubles::hyperliquid::{HOST, Hyperliquid};
use crate::doubles::{Clock, Exchange, Memory};

/// When every schedule begins.
pub(super) const BEGINNING: i64 = 1_772_409_600_000 + 7 * 3_600_000;

/// The venues of a schedule, by name.
pub(crate) type Venues = Arc<BTreeMap<&'static str, Exchange>>;

/// The longest delay of each venue's messages, in milliseconds.
pub(crate) type Lags = Arc<BTreeMap<&'static str, Arc<AtomicU64>>>;

/// The true time, which stands still while any task works.
pub(crate) fn true_clock() -> Clock {
    let start = Instant::now();
    Arc::new(move || BEGINNING + i64::try_from(start.elapsed().as_millis()).unwrap())
}

/// Runs a future in virtual time, which passes only when all tasks wait.
pub(super) fn in_its_own_time<T>(performed: impl Future<Output = T>) -> T {
    fastrand::seed(1);
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let result = runtime.block_on(performed);
    runtime.shutdown_background();
    result
}

/// Whether bytes come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// Nothing is read: the process does not run.
    Frozen,
    /// The process is dead.
    Broken,
}

/// The state that all connections of one process share.
#[derive(Debug)]
struct Gate {
    way: Way,
    waiting: Vec<Waker>,
}

/// The world of one process.
pub(crate) struct Globe {
    pub(super) time: Clock,
    /// How far this machine's clock is ahead.
    pub(super) ahead: AtomicI64,
    venues: Venues,
    /// The exchange of which accounts are polled.
    pub(crate) accounts: Option<Arc<Hyperliquid>>,
    lags: Lags,
    gate: Arc<Mutex<Gate>>,
}

impl fmt::Debug for Globe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Globe")
    }
}

impl Globe {
    pub(crate) fn new(time: Clock, venues: Venues, lags: Lags, ahead: i64) -> Self {
        let gate = Gate {
            way: Way::Open,
            waiting: Vec::new(),
        };
        Self {
            time,
            ahead: AtomicI64::new(ahead),
            venues,
            accounts: None,
            lags,
            gate: Arc::new(Mutex::new(gate)),
        }
    }

    fn turn(&self, way: Way) {
        let waiting = {
            let mut gate = self.gate.lock().unwrap();
            gate.way = way;
            std::mem::take(&mut gate.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Stops reading until [`Globe::thaw`].
    pub(super) fn freeze(&self) {
        self.turn(Way::Frozen);
    }

    pub(super) fn thaw(&self) {
        self.turn(Way::Open);
    }

    /// Every connection is gone, as of a process that was killed.
    pub(super) fn die(&self) {
        self.turn(Way::Broken);
    }

    fn venue(&self, url: &Url) -> &Exchange {
        &self.venues[name_of(url)]
    }
}

fn name_of(url: &Url) -> &str {
    let host = url.host_str().unwrap();
    host.strip_suffix(".invalid").unwrap()
}

impl Dial for Globe {
    fn dial(&self, url: &Url) -> BoxFuture<'static, Result<Box<dyn ByteStream>, String>> {
        if name_of(url) == HOST {
            let stream = self.accounts.as_ref().map(|accounts| accounts.connect());
            return Box::pin(async { Ok(Box::new(stream.unwrap()) as Box<dyn ByteStream>) });
        }
        let opened = self.venue(url).connect();
        let lag = Arc::clone(&self.lags[name_of(url)]);
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            let memory = opened.map_err(|error| error.to_string())?;
            let memory = Slow::new(memory, lag);
            let near: Box<dyn ByteStream> = Box::new(Near { memory, gate });
            Ok(near)
        })
    }
}

impl Environment for Globe {
    fn now(&self) -> Millis {
        Millis((self.time)() + self.ahead.load(Ordering::Relaxed))
    }

    fn get(&self, url: &Url) -> BoxFuture<'static, Result<HttpReply, String>> {
        let query = url.query().map(|query| format!("?{query}"));
        let target = format!("{}{}", url.path(), query.unwrap_or_default());
        let answer = self.venue(url).ask(&target);
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            let answer = answer.map_err(|error| error.to_string())?;
            let (head, body) = answer.await.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await;
            if gate.lock().unwrap().way == Way::Broken {
                return Err("the process is dead".to_owned());
            }
            Ok(HttpReply {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.unwrap().to_vec(),
            })
        })
    }

    fn post(&self, _: &Url, body: String) -> BoxFuture<'static, Result<HttpReply, String>> {
        let (status, answer) = self.accounts.as_ref().unwrap().ask(&body);
        Box::pin(async move {
            Ok(HttpReply {
                status,
                body: answer.into_bytes(),
                ..HttpReply::default()
            })
        })
    }
}

/// The collector's end of a connection.
struct Near {
    memory: Slow<Memory>,
    gate: Arc<Mutex<Gate>>,
}

impl AsyncRead for Near {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        {
            let mut gate = self.gate.lock().unwrap();
            match gate.way {
                Way::Open => {}
                Way::Frozen => {
                    gate.waiting.push(context.waker().clone());
                    return Poll::Pending;
                }
                Way::Broken => return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            }
            gate.waiting
                .retain(|waker| !waker.will_wake(context.waker()));
            gate.waiting.push(context.waker().clone());
        }
        Pin::new(&mut self.memory).poll_read(context, buffer)
    }
}

impl AsyncWrite for Near {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.gate.lock().unwrap().way == Way::Broken {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.memory).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.memory).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.memory).poll_shutdown(context)
    }
}
