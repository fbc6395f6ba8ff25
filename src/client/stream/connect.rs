//! Opens the connection of a stream and limits how long it may be silent.

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use log::{debug, info, warn};
use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::task::JoinError;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::client::call::attempts::{Failed, LOG};
use crate::client::call::fault::AttemptFault;
use crate::client::call::retries::Retries;
use crate::client::client::Client;
use crate::client::connection::pool::Share;
use crate::client::error::{self, Error};
use crate::client::stream::server_sent_events::EventParser;
use crate::contract::{Extension, Stream};

/// Keep-alive interval in seconds, for a service that does not announce one.
const KEEP_ALIVE: f64 = 15.0;
/// Number of absent keep-alives after which a connection counts as lost.
const MISSED: f64 = 3.0;
/// Maximum keep-alive interval accepted from a service, in seconds.
const RAREST: f64 = 3600.0;
/// The delay before a reconnection, for a service that names none.
const RECONNECTION: Duration = Duration::from_secs(1);
/// Used instead of a deadline, which a stream does not have. A longer `Retry-After` ends the retries.
const NO_HURRY: Duration = Duration::from_hours(1);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// An open connection of a stream.
#[derive(Debug)]
pub(super) struct OpenStream {
    response: Response,
    pub(super) events: EventParser,
    /// Maximum time without data. After it, the connection counts as lost.
    pub(super) silence: Duration,
    /// Time without data since the last bytes arrived.
    silent: Duration,
    /// When the connection was opened.
    pub(super) since: Instant,
    pub(super) pid: u32,
    /// Owns a share of the connection pool, so that the pool stays open.
    _share: Arc<Share>,
}

impl OpenStream {
    /// Waits for the next bytes. Returns an error if the connection is silent for too long. Cancel-safe: the silent
    /// time is summed over calls.
    pub(super) async fn chunk(&mut self) -> Result<reqwest::Result<Option<Bytes>>, Elapsed> {
        let left = self.silence.saturating_sub(self.silent);
        let counted = Counted {
            since: Instant::now(),
            silent: &mut self.silent,
        };
        let chunk = timeout(left, self.response.chunk()).await?;
        drop(counted);
        self.silent = Duration::ZERO;
        Ok(chunk)
    }
}

/// Adds the time of a wait to `silent` when it is dropped, even if the wait is cancelled.
struct Counted<'a> {
    since: Instant,
    silent: &'a mut Duration,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *self.silent += self.since.elapsed();
    }
}

/// The parameters of an attempt to connect.
#[derive(Debug)]
pub(super) struct Reconnection {
    pub(super) client: Client,
    pub(super) path: Cow<'static, str>,
    pub(super) address: Url,
    /// The stream position to resume from.
    pub(super) position: Option<String>,
    /// Why the previous connection ended.
    pub(super) lost: Option<AttemptFault>,
    /// Reconnections in a row since the last new event or the last connection that lasted.
    pub(super) fruitless: u32,
    /// The delay before a reconnection that the service asked for.
    pub(super) retry: Option<Duration>,
    /// Extensions of the API that the service must announce.
    pub(super) beyond: Vec<Extension>,
}

/// The outcome of an attempt to connect.
#[derive(Debug)]
pub(super) struct ConnectOutcome {
    pub(super) open: Result<OpenStream, Error>,
    pub(super) fruitless: u32,
}

/// An attempt to connect in a separate task, which continues if the caller cancels its wait.
#[derive(Debug)]
pub(super) struct Connecting {
    task: AbortOnDropHandle<ConnectOutcome>,
    pub(super) pid: u32,
}

impl Connecting {
    pub(super) fn begin(mut reconnection: Reconnection) -> Self {
        let work = async move {
            let open = reconnection.run().await;
            ConnectOutcome {
                open,
                fruitless: reconnection.fruitless,
            }
        };
        Self {
            task: AbortOnDropHandle::new(tokio::spawn(work)),
            pid: std::process::id(),
        }
    }

    /// Waits for the outcome. Cancel-safe.
    pub(super) async fn made(&mut self) -> ConnectOutcome {
        match (&mut self.task).await.map_err(JoinError::try_into_panic) {
            Ok(made) => made,
            Err(Ok(panic)) => resume_unwind(panic),
            Err(Err(_)) => ConnectOutcome {
                open: Err(Error::no_answer(
                    "the runtime on which the stream was connecting has ended; open the stream again",
                )),
                fruitless: 0,
            },
        }
    }
}

impl Reconnection {
    /// Opens the connection. If that fails because the service announces no stream, the error says so.
    async fn run(&mut self) -> Result<OpenStream, Error> {
        match self.attempts().await {
            Err(error) => Err(self.client.unannounced(Stream::NAME, error).await),
            open => open,
        }
    }

    /// Opens the connection, with retries.
    async fn attempts(&mut self) -> Result<OpenStream, Error> {
        let client = self.client.clone();
        client.require(Stream::NAME, &self.beyond).await?;
        let config = client.config();
        let share = client.shared.pool.enter(config);
        let Some(live) = share.live() else {
            return Err(Error::no_answer("the client is closed"));
        };
        let retries = Retries::after(self.fruitless, config.most_retries(), &live.quota);
        let path = self.path.clone();
        let mut call = client.call(live, &path, retries)?;
        let mut fault = self.lost.take();
        // A service that accepts streams and hangs up is not asked again in a hurry.
        let pause = self.retry.unwrap_or(RECONNECTION).min(NO_HURRY);
        let mut pause = if fault.is_some() {
            pause
        } else {
            Duration::ZERO
        };
        loop {
            if let Some(fault) = fault.take() {
                // A service may repeat what it was sent.
                let why = config.secrets().veiled(&fault.error.to_string());
                let wait =
                    call.retries
                        .again(fault.kind, fault.retry_after, NO_HURRY, fastrand::f64());
                let Some(wait) = wait else {
                    self.fruitless = 0;
                    debug!(target: LOG, "GET {}: {why}", self.path);
                    return Err(call.fruitless(fault));
                };
                let wait = wait.max(std::mem::take(&mut pause));
                warn!(
                    target: LOG,
                    "GET {}: {why}; trying again in {} ms",
                    self.path,
                    wait.as_millis()
                );
                self.fruitless = call.retries.attempts() - 1;
                sleep(wait).await;
            }
            call.connections.freshen().await;
            call.deadline = Instant::now() + config.patience();
            let opened = call.open(&self.address, &self.headers()).await;
            let failed = match opened.map(|(response, _)| self.opened(response)) {
                Ok(Ok((response, silence))) => {
                    call.retries.succeeded();
                    self.fruitless = call.retries.attempts() - 1;
                    info!(target: LOG, "GET {} -> following", self.path);
                    return Ok(OpenStream {
                        response,
                        events: EventParser::default(),
                        silence,
                        silent: Duration::ZERO,
                        since: Instant::now(),
                        pid: std::process::id(),
                        _share: Arc::clone(&share),
                    });
                }
                Ok(Err(error)) => return Err(error),
                Err(Failed::Late) => AttemptFault::transient(call.too_slow(None)),
                Err(Failed::Fault(fault)) => fault,
            };
            fault = Some(failed);
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        // With compression, the service may delay small events.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(position) = &self.position
            && let Ok(position) = HeaderValue::from_bytes(position.as_bytes())
        {
            headers.insert(LAST_EVENT_ID, position);
        }
        headers
    }

    /// Checks the status and headers of the response. Returns the maximum silent time.
    fn opened(&self, response: Response) -> Result<(Response, Duration), Error> {
        let headers = response.headers();
        self.client.note(headers);
        let content_type = headers
            .get(CONTENT_TYPE)
            .map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned())
            .unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("text/event-stream") {
            return Err(Error::UnexpectedReply {
                path: String::new(),
                message: format!(
                    "{} answers {} with {:?}, not with a stream of events",
                    self.client.config().service_name(),
                    self.path,
                    error::shortened(&content_type)
                ),
            });
        }
        let keep_alive = headers
            .get(Stream::KEEP_ALIVE)
            .and_then(|seconds| seconds.to_str().ok()?.parse().ok())
            .filter(|seconds| (0.0..=RAREST).contains(seconds))
            .unwrap_or(KEEP_ALIVE);
        let silence = Duration::from_secs_f64((keep_alive * MISSED).max(0.001));
        Ok((response, silence))
    }
}
