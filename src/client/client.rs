//! `Client`: sends every question to one service.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use futures_util::FutureExt as _;
use log::{debug, warn};
use reqwest::header::{ACCEPT, DATE, HeaderMap, HeaderValue};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::client::call::attempts::{
    ARCHIVE_LOG, Call, Failed, LOG, Posted, Remarks, ResponseHead,
};
use crate::client::call::fault;
use crate::client::call::retries::Retries;
use crate::client::config::Config;
use crate::client::connection::connections::OwnRuntime;
use crate::client::connection::pool::{Pool, ProcessState};
use crate::client::dialect::{Dialect, DialectQuery};
use crate::client::dialects::ContractDialect;
use crate::client::error;
use crate::client::error::{Cause, Error};
use crate::client::extensions::list::KnownExtensions;
use crate::client::extensions::parameters::{Explained, ExtraParameters, Headed};
use crate::contract::decode::Reading;
use crate::contract::{DAMAGED, NOW, SIMULATED};
use crate::model::Millis;
use crate::net::{NoClient, retry_after};

/// An HTTP client of one service. Cheap to clone; safe to share between tasks and after a fork.
///
/// # Examples
///
/// ```no_run
/// use liqdata::contract::Coins;
/// use liqdata::client::{Client, Config};
///
/// # async fn ask() -> Result<(), liqdata::client::Error> {
/// let client = Client::new(Config::new("https://data.example")?)?;
/// for row in client.send(&Coins::new(Some("24h"), 30)?).await? {
///     println!("{} {}", row.coin, row.total_usd);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<ClientState>,
    pub(crate) driver: Driver,
}

/// The runtime that drives the connections. Connections belong to the runtime that opened them.
#[derive(Clone)]
pub(crate) enum Driver {
    /// The caller's runtime.
    Runtime,
    /// A second runtime of the same process, with separate connections.
    Second,
    /// A single-threaded runtime on the caller's thread.
    Own(Arc<OwnRuntime>),
}

/// Placeholder for an unknown instant.
const UNKNOWN: i64 = i64::MIN;

/// The time at which the service made an answer, according to the answer's headers.
fn answered_at(headers: &HeaderMap) -> Option<Millis> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let market = text(NOW).and_then(|now| Millis::of_calendar(now.parse().ok()?));
    market.or_else(|| {
        let date = httpdate::parse_http_date(text(DATE.as_str())?).ok()?;
        let since = date.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().map(Millis)
    })
}

pub(crate) struct ClientState {
    pub(crate) config: Config,
    dialect: &'static dyn Dialect,
    pub(crate) pool: Pool,
    pub(crate) simulated: AtomicBool,
    /// The extensions that the service announces.
    pub(crate) announced: KnownExtensions,
    /// Number of damaged files in the service's archive, according to the last answer.
    damaged: AtomicU64,
    /// The service's time at its last answer; [`UNKNOWN`] if the answer did not state it.
    answered_at: AtomicI64,
}

impl Client {
    /// Creates a client for a service that speaks the contract. Opens no connection.
    ///
    /// # Errors
    ///
    /// [`Error::BadQuery`] if an environment variable should name the proxy for the service, but names none. Options are
    /// checked when they are set, and missing TLS is reported at the first request.
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::speaking(config, &ContractDialect)
    }

    /// Creates a client for a service that speaks `dialect`.
    ///
    /// # Errors
    ///
    /// As [`Client::new`].
    pub fn speaking(config: Config, dialect: &'static dyn Dialect) -> Result<Self, Error> {
        config.check_proxy()?;
        let shared = ClientState {
            config,
            dialect,
            pool: Pool::default(),
            simulated: AtomicBool::new(false),
            announced: KnownExtensions::default(),
            damaged: AtomicU64::new(0),
            answered_at: AtomicI64::new(UNKNOWN),
        };
        Ok(Self {
            shared: Arc::new(shared),
            driver: Driver::Runtime,
        })
    }

    /// Returns the same client for use on a second runtime, with separate connections.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            driver: Driver::Second,
        }
    }

    /// The options.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The dialect of the service.
    #[must_use]
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.shared.dialect
    }

    /// Closes idle connections now, and connections in use when their calls end. A later call opens new ones.
    pub fn close(&self) {
        self.shared.pool.leave();
    }

    /// Whether any answer so far declared the market simulated.
    #[must_use]
    pub fn simulated(&self) -> bool {
        self.shared.simulated.load(Ordering::Relaxed)
    }

    /// Number of damaged files in the service's archive, according to its last answer. Their rows are missing from
    /// answers.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.shared.damaged.load(Ordering::Relaxed)
    }

    /// The service's time at its last answer: the market's newest instant if the service is a liqdata server, else its
    /// clock.
    #[must_use]
    pub fn answered_at(&self) -> Option<Millis> {
        let explained_error = self.shared.answered_at.load(Ordering::Relaxed);
        (explained_error != UNKNOWN).then_some(Millis(explained_error))
    }

    /// Keeps to a limit of requests per minute from now on, as if a header had stated it.
    pub fn pace(&self, per_minute: u32) {
        let share = self.shared.pool.enter(self.config());
        if let Some(live) = share.live() {
            live.pace(Some(per_minute));
        }
    }

    /// Stores what the headers of an answer say about the market. Logs a warning if the number of damaged files
    /// changed.
    pub(crate) fn note(&self, headers: &HeaderMap) {
        if headers.contains_key(SIMULATED) {
            self.shared.simulated.store(true, Ordering::Relaxed);
        }
        let answered_at = answered_at(headers).map_or(UNKNOWN, |at| at.0);
        self.shared
            .answered_at
            .store(answered_at, Ordering::Relaxed);
        let damaged = headers.get(DAMAGED);
        let damaged = damaged.and_then(|count| count.to_str().ok()?.parse().ok());
        let damaged = damaged.unwrap_or(0);
        let before = self.shared.damaged.swap(damaged, Ordering::Relaxed);
        if damaged > 0 && damaged != before {
            warn!(
                target: ARCHIVE_LOG,
                "{} reports that {damaged} files of its archive are damaged: rows are missing from its answers",
                self.config().service_name()
            );
        }
    }

    /// Sends `question` and returns the reply.
    ///
    /// # Errors
    ///
    /// [`Error`]: no answer, no answer in time, a refusal, or an answer outside the contract.
    pub async fn send<E: DialectQuery>(&self, question: &E) -> Result<E::Reply, Error> {
        Ok(self.fetch(question).await?.0.into())
    }

    /// Sends `question`. Returns the decoded reply and the remarks of its answer. Orders are decoded into
    /// [`OrderColumns`](crate::model::OrderColumns).
    ///
    /// # Errors
    ///
    /// As [`Client::send`].
    pub async fn fetch<E: DialectQuery>(
        &self,
        question: &E,
    ) -> Result<(E::Decoded, Remarks), Error> {
        self.fetch_with(question, ExtraParameters::default()).await
    }

    /// As [`Client::fetch`], with extra parameters.
    ///
    /// # Errors
    ///
    /// As [`Client::send`], and [`Error::BadQuery`] if the service does not announce an extra parameter.
    pub async fn fetch_with<E: DialectQuery>(
        &self,
        question: &E,
        extra: ExtraParameters,
    ) -> Result<(E::Decoded, Remarks), Error> {
        let mut beyond = extra.names();
        beyond.extend(E::ENTRY.beyond(&question.to_query()));
        let asked = async {
            // Boxed, so that this code is compiled once and not for every type of question.
            self.require(E::NAME, &beyond).boxed().await?;
            let mut request = question.request(self.dialect())?.with(extra.to_query());
            let mut reply = Explained::around(&mut *request.reply, extra);
            let (path, query, mut headers) = (&request.path, &request.query, extra.headers());
            // A header that the caller chose takes precedence.
            if let Some(accept) = request.accept.filter(|_| !self.config().accepts()) {
                headers.insert(ACCEPT, HeaderValue::from_static(accept));
            }
            let answer = self.answer(path, query, &headers, &mut reply);
            let answer = answer.boxed().await?;
            let (reply, time_unit, account) = match reply.finish() {
                Ok((Reading::Reply(reply), account)) => (reply, None, account),
                Ok((Reading::Converted { reply, unit }, account)) => (reply, Some(unit), account),
                Ok((Reading::Refused { message }, _)) => {
                    return Err(self.refused(path, &answer, reply.buffered(), &message));
                }
                Err(damage) => return Err(answer.damaged(damage)),
            };
            match request.judge.map_or(Ok(()), |judge| judge(&reply)) {
                Ok(()) => Ok((reply, answer.remarks(account, time_unit))),
                Err(damage) => Err(answer.damaged(damage)),
            }
        };
        match asked.await {
            Err(error) => Err(self.explained_error(E::NAME, error).boxed().await),
            fetched => fetched,
        }
    }

    /// The error for an answer with a successful status and a refusal in its body.
    fn refused(&self, path: &str, answer: &ResponseHead, body: &[u8], message: &str) -> Error {
        Error::Refused {
            status: answer.status.as_u16(),
            body: error::excerpt(body),
            retry_after: retry_after(&answer.headers),
            message: format!("{} refused {path}: {message}", self.config().service_name()),
        }
    }

    /// Replaces the error if the service does not announce the question `name` and that caused the error. Redacts
    /// secrets.
    async fn explained_error(&self, name: &'static str, error: Error) -> Error {
        let error = self.unannounced(name, error).await;
        // The service may repeat secrets that it received.
        self.config().secrets().redact(error)
    }

    /// Prepares a call of `path` on the connections of the client's runtime. Its deadline counts from now.
    pub(crate) fn call<'a>(
        &'a self,
        live: &'a ProcessState,
        path: &'a str,
        retries: Retries<'a>,
    ) -> Result<Call<'a>, Error> {
        let config = self.config();
        let connections = match &self.driver {
            Driver::Runtime => &live.connections,
            Driver::Second => live.apart(config),
            Driver::Own(runtime) => &runtime.connections,
        };
        Ok(Call {
            config,
            dialect: self.dialect(),
            live,
            connections,
            http: connections
                .http
                .as_ref()
                .map_err(|cause| without_tls(config, cause))?,
            path,
            posted: Posted::default(),
            retries,
            deadline: Instant::now() + config.patience(),
        })
    }

    /// The requests per minute that the headers of an answer allow.
    fn announced_limit(&self, headers: &HeaderMap) -> Option<u32> {
        let limit = headers.get(self.dialect().limit_header()?)?;
        limit.to_str().ok()?.trim().parse().ok()
    }

    /// Requests `path`, with retries. Passes the body of the successful answer to `intake` and returns the head.
    pub(crate) async fn answer(
        &self,
        path: &str,
        query: &[(&'static str, String)],
        headers: &HeaderMap,
        intake: &mut dyn Headed,
    ) -> Result<ResponseHead, Error> {
        let start = self.config().address(path, query);
        self.answer_to(path, &start, Posted::default(), headers, intake)
            .await
    }

    /// As [`Client::answer`], for the complete address `start` of `path`.
    pub(crate) async fn answer_to(
        &self,
        path: &str,
        start: &Url,
        posted: Posted<'_>,
        headers: &HeaderMap,
        intake: &mut dyn Headed,
    ) -> Result<ResponseHead, Error> {
        let config = self.config();
        let share = self.shared.pool.enter(config);
        let Some(live) = share.live() else {
            // `live` is empty only while the share is being dropped.
            return Err(Error::no_answer("the client is closed"));
        };
        live.pace(self.dialect().per_minute());
        let retries = Retries::new(config.most_retries(), &live.quota);
        let mut call = self.call(live, path, retries)?;
        call.posted = posted;
        call.connections.freshen().await;
        let mut before = None;
        loop {
            let fault = match call.attempt(start, headers, intake).await {
                Ok(answer) if self.dialect().throttles(intake.body()) => {
                    call.throttled(&answer, intake.body())
                }
                Ok(answer) => {
                    live.pace(self.announced_limit(&answer.headers));
                    call.retries.succeeded();
                    self.note(&answer.headers);
                    return Ok(answer);
                }
                Err(Failed::Late) => return Err(call.too_slow(before)),
                Err(Failed::Fault(fault)) => fault,
            };
            let limited = self
                .dialect()
                .waits_for_its_limit()
                .then(|| call.retries.limited(fault.kind, fault.retry_after));
            let again = if let Some(wait) = limited.flatten() {
                call.deadline += wait;
                Some(wait)
            } else {
                let remaining = call.deadline.saturating_duration_since(Instant::now());
                call.retries
                    .again(fault.kind, fault.retry_after, remaining, fastrand::f64())
            };
            // A service may repeat what it was sent.
            let why = self.config().secrets().veiled(&fault.error.to_string());
            let Some(wait) = again else {
                debug!(target: LOG, "GET {path}: {why}");
                return Err(call.counted(fault));
            };
            warn!(
                target: LOG,
                "GET {path}: {why}; trying again in {} ms",
                wait.as_millis()
            );
            before = Some(fault.error);
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(self.config()).finish()
    }
}

/// The error for a machine without trusted certificates.
fn without_tls(config: &Config, cause: &Arc<NoClient>) -> Error {
    Error::NoAnswer {
        message: format!(
            "https to {} needs trusted certificates, but this machine has none ({}); install the system's \
             certificates or set SSL_CERT_FILE to a PEM file",
            config.service_name(),
            fault::root(cause.as_ref())
        ),
        source: Some(Cause::from(Arc::clone(cause))),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::client::client::*;

    /// Test resolver that fails a number of times, then returns an address.
    struct Flaky {
        failures: std::sync::atomic::AtomicU32,
        at: std::net::SocketAddr,
    }

    impl reqwest::dns::Resolve for Flaky {
        fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
            use std::sync::atomic::Ordering;
            let fails = self
                .failures
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                })
                .is_ok();
            let at = self.at;
            Box::pin(async move {
                if fails {
                    return Err("no such host".into());
                }
                let addresses: reqwest::dns::Addrs = Box::new(std::iter::once(at));
                Ok(addresses)
            })
        }
    }

    #[tokio::test]
    async fn a_name_that_does_not_resolve_is_tried_again() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            let answer =
                "HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{\"success\":true,\"data\":[]}";
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        for (failures, retries, works) in [(3, 2, false), (2, 2, true)] {
            let failures = std::sync::atomic::AtomicU32::new(failures);
            // The port comes from the URL, not from the resolver.
            let config = Config::new(&format!("http://data.localhost:{}", at.port())).unwrap();
            let config = config.retries(retries).unwrap();
            let client = Client::new(
                config
                    .proxy(None)
                    .unwrap()
                    .resolver(Arc::new(Flaky { failures, at })),
            );
            let answer = client
                .unwrap()
                .send(&crate::contract::Coins::new(Some("24h"), 1).unwrap())
                .await;
            match answer {
                Ok(rows) => assert!(works && rows.is_empty()),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!works && text.contains("cannot resolve the name"), "{text}");
                    assert!(text.contains("no such host"), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_debugged_client_shows_its_options_and_no_secret() {
        let config = Config::new("http://127.0.0.1:1").unwrap();
        let client = Client::new(config.headers([("X-Key", "hunter2")]).unwrap()).unwrap();
        let debug = format!("{client:?}");
        assert!(
            debug.contains("127.0.0.1:1") && !debug.contains("hunter2"),
            "{debug}"
        );
    }
}
