//! The connection of a stream: how it is made, and how long it may be silent.

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

use crate::api::{Extension, Stream};
use crate::client::call::attempts::{Failed, LOG};
use crate::client::call::fault::Fault;
use crate::client::call::retries::Retries;
use crate::client::client::Client;
use crate::client::connection::pool::Share;
use crate::client::error::{self, Error};
use crate::client::stream::server_sent_events::Events;

/// Signs of life of a service that does not say how often it gives them.
const KEEP_ALIVE: f64 = 15.0;
/// A service is silent after so many signs of life were missed.
const MISSED: f64 = 3.0;
/// The most seconds between signs of life that a service is believed.
const RAREST: f64 = 3600.0;
/// No deadline is near: only a wait that a service asks for can be too long.
const NO_HURRY: Duration = Duration::from_hours(1);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A connection.
#[derive(Debug)]
pub(super) struct Open {
    response: Response,
    pub(super) events: Events,
    /// How long it may be silent.
    pub(super) silence: Duration,
    /// For how long it has been waited in silence.
    silent: Duration,
    pub(super) pid: u32,
    /// Keeps the connection's pool.
    _share: Arc<Share>,
}

impl Open {
    /// The next bytes, unless it is silent for too long. May be dropped while it waits: the silence counts on.
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

/// A wait that counts however it ends.
struct Counted<'a> {
    since: Instant,
    silent: &'a mut Duration,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *self.silent += self.since.elapsed();
    }
}

/// What it takes to make a connection.
#[derive(Debug)]
pub(super) struct Reconnection {
    pub(super) client: Client,
    pub(super) path: Cow<'static, str>,
    pub(super) address: Url,
    /// Where to go on.
    pub(super) place: Option<String>,
    /// Why the last connection ended.
    pub(super) lost: Option<Fault>,
    /// Connections in a row that brought nothing.
    pub(super) fruitless: u32,
    /// What the service has to announce before it is asked.
    pub(super) beyond: Vec<Extension>,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) open: Result<Open, Error>,
    pub(super) fruitless: u32,
}

/// A connection that is being made, by a task of its own: attempts, deadlines and the waits between them go on however
/// often the wait for it is left and taken up again.
#[derive(Debug)]
pub(super) struct Connecting {
    task: AbortOnDropHandle<Outcome>,
    pub(super) pid: u32,
}

impl Connecting {
    pub(super) fn begin(mut reconnection: Reconnection) -> Self {
        let work = async move {
            let open = reconnection.run().await;
            Outcome {
                open,
                fruitless: reconnection.fruitless,
            }
        };
        Self {
            task: AbortOnDropHandle::new(tokio::spawn(work)),
            pid: std::process::id(),
        }
    }

    /// Waits for it. May be dropped while it waits.
    pub(super) async fn made(&mut self) -> Outcome {
        match (&mut self.task).await.map_err(JoinError::try_into_panic) {
            Ok(made) => made,
            Err(Ok(panic)) => resume_unwind(panic),
            Err(Err(_)) => Outcome {
                open: Err(Error::no_answer(
                    "the runtime on which the stream was connecting has ended; ask again",
                )),
                fruitless: 0,
            },
        }
    }
}

impl Reconnection {
    /// A connection; that the service does not announce a stream, where it has none.
    async fn run(&mut self) -> Result<Open, Error> {
        match self.attempts().await {
            Err(error) => Err(self.client.unannounced(Stream::NAME, error).await),
            open => open,
        }
    }

    /// A connection, after as many attempts as it takes and the options allow.
    async fn attempts(&mut self) -> Result<Open, Error> {
        let client = self.client.clone();
        client.require(Stream::NAME, &self.beyond).await?;
        let config = client.config();
        let share = client.shared.pool.enter(config);
        let Some(kept) = share.kept() else {
            return Err(Error::no_answer("the client is closed"));
        };
        let retries = Retries::after(self.fruitless, config.most_retries(), &kept.quota);
        let path = self.path.clone();
        let mut call = client.call(kept, &path, retries)?;
        let mut fault = self.lost.take();
        loop {
            if let Some(fault) = fault.take() {
                let wait =
                    call.retries
                        .again(fault.kind, fault.retry_after, NO_HURRY, fastrand::f64());
                let Some(wait) = wait else {
                    self.fruitless = 0;
                    debug!(target: LOG, "GET {}: {}", self.path, fault.error);
                    return Err(call.counted(fault));
                };
                warn!(
                    target: LOG,
                    "GET {}: {}; trying again in {} ms",
                    self.path,
                    fault.error,
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
                    return Ok(Open {
                        response,
                        events: Events::default(),
                        silence,
                        silent: Duration::ZERO,
                        pid: std::process::id(),
                        _share: Arc::clone(&share),
                    });
                }
                Ok(Err(error)) => return Err(error),
                Err(Failed::Late) => Fault::transient(call.too_slow(None)),
                Err(Failed::Fault(fault)) => fault,
            };
            fault = Some(failed);
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        // Events are small and must not wait in a compressor.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(place) = &self.place
            && let Ok(place) = HeaderValue::from_bytes(place.as_bytes())
        {
            headers.insert(LAST_EVENT_ID, place);
        }
        headers
    }

    /// Judges the head of a success: a stream, and how long it may be silent.
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
                    self.client.config().place(),
                    self.path,
                    error::shown(&content_type)
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
