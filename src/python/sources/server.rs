//! Serves a market over HTTP on a separate thread with its own runtime.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::contract::BadQuery;
use crate::model::shortened;
use crate::python::error::{bad_query, bad_query_said};
use crate::python::runtime::logs;
use crate::python::sources::agents::Agents;
use crate::python::sources::market::Market;
use crate::server::{Access, AlertCounts, Limits, ServerSettings, Tls, Tokens};
use crate::{market, server};

/// Interval at which a closing thread checks for the end of the server and for signals.
const TICK: Duration = Duration::from_millis(5);

/// The module that draws the live chart in a notebook.
#[pyfunction]
pub(crate) fn live_module() -> &'static str {
    include_str!("../../../web/dist/live.js")
}

/// The files of the live page: path, content type and bytes.
#[pyfunction]
pub(crate) fn page_files() -> Vec<(&'static str, &'static str, &'static [u8])> {
    server::page_files().collect()
}

/// Adds to the counts of alerts in the metrics of this process.
#[pyfunction]
#[pyo3(signature = (receiver, *, queued=0, delivered=0, failed=0, repeated=0))]
pub(crate) fn count_alerts(
    receiver: &str,
    queued: u64,
    delivered: u64,
    failed: u64,
    repeated: u64,
) {
    let more = AlertCounts {
        queued,
        delivered,
        failed,
        repeated,
    };
    server::count_alerts(receiver, more);
}

struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<std::io::Result<()>>,
    pid: u32,
}

/// A running server; [`Server::close`] ends it.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Server {
    address: SocketAddr,
    secure: bool,
    running: Mutex<Option<Running>>,
}

/// Server settings from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given {
    tokens: Vec<String>,
    token_file: Option<PathBuf>,
    tls: Option<(PathBuf, PathBuf)>,
    hosts: Vec<String>,
    origins: Vec<String>,
    trusted_proxies: Vec<String>,
    /// Values of limits, by the names that [`limits`] returns.
    limits: HashMap<String, f64>,
    public: bool,
    access_log: bool,
    page: bool,
    /// What passes the messages of agents to Python.
    agents: Option<Py<Agents>>,
}

impl Given {
    /// Converts the settings. An error names the invalid parameter and the reason.
    fn read(self) -> Result<ServerSettings, (&'static str, String)> {
        let named = |parameter: &'static str| {
            move |failure: std::io::Error| (parameter, failure.to_string())
        };
        let mut tokens = Tokens::default();
        for token in &self.tokens {
            tokens = tokens.with(token).map_err(named("token"))?;
        }
        if let Some(file) = self.token_file {
            tokens = tokens.with_file(file).map_err(named("token"))?;
        }
        let tls = self
            .tls
            .map(|(certificate, key)| Tls::read(certificate, key));
        let nets = self.trusted_proxies.iter().map(|text| {
            server::network(text).ok_or_else(|| {
                let message = format!(
                    "limits: trusted_proxies: {text:?} is not an address; allowed: addresses and networks, such as \
                     10.0.0.5 or 10.0.0.0/8"
                );
                ("limits", message)
            })
        });
        Ok(ServerSettings {
            trusted_proxies: nets.collect::<Result<_, _>>()?,
            tls: tls.transpose().map_err(named("tls"))?,
            limits: limits_of(&self.limits),
            access_log: self.access_log,
            page: self.page,
            agents: self.agents.map(|agents| agents.get().answers()),
            access: Access {
                tokens,
                hosts: self.hosts,
                origins: self.origins,
            },
        })
    }
}

/// Returns the default limits as numbers. Times are in seconds.
#[pyfunction]
pub(crate) fn limits() -> HashMap<&'static str, f64> {
    let Limits {
        connections,
        per_peer,
        streams,
        streams_per_peer: _,
        past,
        past_queue,
        past_memory,
        answer_memory,
        query,
        headers,
        idle,
        head,
        request,
        stall,
        grace,
    } = Limits::default();
    let counts = [
        ("connections", connections),
        ("per_peer", per_peer),
        ("streams", streams),
        ("past", past),
        ("past_queue", past_queue),
        ("past_memory", past_memory),
        ("answer_memory", answer_memory),
        ("query", query),
        ("headers", headers),
    ];
    let times = [
        ("idle", idle),
        ("head", head),
        ("request", request),
        ("stall", stall),
        ("grace", grace),
    ];
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let counts = counts.map(|(name, count)| (name, count as f64));
    let times = times.map(|(name, time)| (name, time.as_secs_f64()));
    counts.into_iter().chain(times).collect()
}

/// Converts limits that the Python code has already validated.
fn limits_of(given: &HashMap<String, f64>) -> Limits {
    let usual = Limits::default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole numbers above zero"
    )]
    let count = |name: &str, usual: usize| given.get(name).map_or(usual, |given| *given as usize);
    let time = |name: &str, usual: Duration| {
        let given = given.get(name);
        given.map_or(usual, |given| {
            Duration::try_from_secs_f64(*given).unwrap_or(Duration::MAX)
        })
    };
    Limits {
        connections: count("connections", usual.connections),
        per_peer: count("per_peer", usual.per_peer),
        streams: count("streams", usual.streams),
        streams_per_peer: given
            .contains_key("streams_per_peer")
            .then(|| count("streams_per_peer", usual.streams)),
        past: count("past", usual.past),
        past_queue: count("past_queue", usual.past_queue),
        past_memory: count("past_memory", usual.past_memory),
        answer_memory: count("answer_memory", usual.answer_memory),
        query: count("query", usual.query),
        headers: count("headers", usual.headers),
        idle: time("idle", usual.idle),
        head: time("head", usual.head),
        request: time("request", usual.request),
        stall: time("stall", usual.stall),
        grace: time("grace", usual.grace),
    }
}

#[pymethods]
impl Server {
    #[new]
    fn new(
        py: Python<'_>,
        market: &Bound<'_, Market>,
        host: &str,
        port: u16,
        settings: Given,
    ) -> PyResult<Self> {
        let market = market.get().shared();
        let public = settings.public;
        let secure = settings.tls.is_some();
        let settings = settings
            .read()
            .map_err(|(parameter, message)| bad_query_said(py, parameter, &message))?;
        let open = settings.access.is_open();
        let name = shortened(host);
        let cannot = |error| PyOSError::new_err(format!("cannot listen on {name}:{port}: {error}"));
        let listener = py
            .detach(|| TcpListener::bind((host, port)))
            .map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        if open && !public && !address.ip().to_canonical().is_loopback() {
            let message = format!(
                "{host} can be reached from other machines, and without a token everybody who reaches it may send \
                 queries"
            );
            let allowed = "a token (token=..., --token-file), public=True (--public) to answer everybody, or the host \
                           127.0.0.1";
            return Err(bad_query(py, &BadQuery::new("host", message, allowed)));
        }
        let running = py
            .detach(|| start(market, listener, settings))
            .map_err(cannot)?;
        Ok(Self {
            address,
            secure,
            running: Mutex::new(Some(running)),
        })
    }

    /// The base URL.
    #[getter]
    fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    #[getter]
    fn closed(&self) -> bool {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }

    /// Waits for answers under way within the grace period, then stops the server. Idempotent.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(Running { stop, thread, pid }) = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        else {
            return Ok(());
        };
        if pid != std::process::id() {
            // After a fork the thread belongs to the parent; its handle must not be dropped.
            std::mem::forget((stop, thread));
            return Ok(());
        }
        logs::deliver(py)?;
        let _ = stop.send(());
        while !thread.is_finished() {
            py.detach(|| std::thread::sleep(TICK));
            py.check_signals()?;
        }
        match thread.join() {
            Ok(ended) => Ok(ended?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn start(
    market: std::sync::Arc<market::Market>,
    listener: TcpListener,
    settings: ServerSettings,
) -> std::io::Result<Running> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("liqdata-server")
        .enable_all()
        .build()?;
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("liqdata-server".to_owned())
        .spawn(move || {
            let served = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let shutdown = async {
                    // Dropping the sender stops the server as well.
                    let _ = stopped.await;
                };
                let router = server::router_with(market, &settings.limits);
                server::run_with(settings, listener, router, shutdown).await
            });
            // The clients of computations that still run are disconnected.
            runtime.shutdown_background();
            served
        })?;
    Ok(Running {
        stop,
        thread,
        pid: std::process::id(),
    })
}
