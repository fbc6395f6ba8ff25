//! Following the orders as they arrive, over connections that come and go.
//!
//! A stream is one request without an end. A connection that breaks off, or falls silent for longer than the service's
//! signs of life allow, is replaced by another that goes on behind the last order seen; what comes twice is dropped by
//! its id. What is lost all the same is an error, never a silent gap.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use log::{debug, info, warn};
use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, sleep, timeout};

use super::call::{Call, Failed};
use super::events::{Event, Events};
use super::fault::Fault;
use super::pool::Lodging;
use super::retry::{Kind, Retries};
use super::{Client, Error, LOG, config, no_answer, without_tls};
use crate::api::{SIMULATED, StreamQuery};
use crate::model::Order;
use crate::wire::{Reading, read};

/// Signs of life of a service that does not say how often it gives them.
const KEEP_ALIVE: f64 = 15.0;
/// A service is silent after so many signs of life were missed.
const MISSED: f64 = 3.0;
/// The most seconds between signs of life that a service is believed.
const RAREST: f64 = 3600.0;
/// Ids by which what comes twice is known.
const REMEMBERED: usize = 4096;
/// No deadline is near: only a wait that a service asks for can be too long.
const NO_HURRY: Duration = Duration::from_hours(1);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// An order of a stream, and the id that names the place behind it; none where the service gives none.
pub type Arrival = (Option<String>, Order);

/// The orders of a service as they arrive; it never ends by itself.
///
/// # Examples
///
/// ```no_run
/// use liqdata::api::StreamQuery;
/// use liqdata::client::{Client, Config, OrderStream};
///
/// # async fn follow() -> Result<(), liqdata::client::Error> {
/// let client = Client::new(Config::new("http://127.0.0.1:8000")?)?;
/// let mut stream = OrderStream::new(client, StreamQuery::new(Some("BTCUSDT"), None, None)?);
/// loop {
///     for (id, order) in stream.next().await? {
///         println!("{id:?} {} {}", order.side, order.value_usd);
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct OrderStream {
    client: Client,
    question: StreamQuery,
    open: Option<Open>,
    /// Why the last connection ended.
    lost: Option<Fault>,
    /// Connections in a row that brought nothing.
    fruitless: u32,
    /// Events that have been read and not been handed out.
    read: VecDeque<Event>,
    /// The place behind all of them.
    place: Option<String>,
    /// The place behind what has been handed out.
    given: Option<String>,
    /// Whether an order has been handed out that has no id.
    nameless: bool,
    seen: Seen,
    failed: Option<Error>,
}

/// A connection.
#[derive(Debug)]
struct Open {
    response: Response,
    events: Events,
    silence: Duration,
    pid: u32,
    /// Keeps the connection's pool.
    _lodging: Arc<Lodging>,
}

/// The ids of late.
#[derive(Debug, Default)]
struct Seen {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    /// Remembers `id`; says whether it is new.
    fn is_new(&mut self, id: &str) -> bool {
        if !self.known.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl OrderStream {
    /// The orders that arrive behind the place the question names, or else from now on. Opens no connection.
    #[must_use]
    pub fn new(client: Client, question: StreamQuery) -> Self {
        Self {
            client,
            open: None,
            lost: None,
            fruitless: 0,
            read: VecDeque::new(),
            place: question.last_event_id.clone(),
            given: question.last_event_id.clone(),
            nameless: false,
            seen: Seen::default(),
            failed: None,
            question,
        }
    }

    /// The place behind the last order that was handed out, as far as the service has named one.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.given.as_deref()
    }

    /// The next orders, at least one.
    ///
    /// May be dropped while it waits and called again: no order is lost. After an error it may be called again as well,
    /// and goes on where it was; after a gap behind it.
    ///
    /// # Errors
    ///
    /// [`Error`] where no connection can be had within the retries of the client; [`Error::Refused`] with status 410
    /// where the service no longer knows the place to go on from, so that orders are missing, and 404 where it has no
    /// stream; [`Error::UnexpectedReply`] for an event outside the contract, which is left out.
    pub async fn next(&mut self) -> Result<Vec<Arrival>, Error> {
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let orders = self.take();
            if !orders.is_empty() {
                return Ok(orders);
            }
            if self.failed.is_some() {
                continue;
            }
            if self.open.is_none() {
                let open = self.connect().await?;
                self.open = Some(open);
            }
            if let Err(fault) = self.listen().await {
                self.open = None;
                if fault.kind == Kind::Final {
                    return Err(fault.error);
                }
                if self.nameless && self.place.is_none() {
                    let text = "the service gives its orders no ids, so the stream cannot go on where it was; \
                                orders may be missing";
                    return Err(no_answer(format!("{}; {text}", fault.error)));
                }
                self.lost = Some(fault);
            }
        }
    }

    /// Waits for something from the connection.
    async fn listen(&mut self) -> Result<(), Fault> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let config = self.client.config();
        let chunk = timeout(open.silence, open.response.chunk())
            .await
            .map_err(|_| {
                let (place, seconds) = (config.place(), open.silence.as_secs_f64());
                transient(no_answer(format!(
                    "the stream of {place} has been silent for {seconds} s"
                )))
            })?
            .map_err(|error| Fault::within_the_body(error, config, 0))?
            .ok_or_else(|| {
                let place = config.place();
                transient(no_answer(format!("the stream of {place} ended")))
            })?;
        let known = self.read.len();
        open.events
            .read(&chunk, config.most_bytes(), &mut self.read)
            .map_err(|_| {
                Fault::final_(Error::UnexpectedReply {
                    path: String::new(),
                    message: format!(
                        "an event is larger than max_body = {} bytes",
                        config.most_bytes()
                    ),
                })
            })?;
        for event in self.read.iter().skip(known) {
            self.fruitless = 0;
            // An empty id takes back the ones before it.
            if let Some(id) = &event.id {
                self.place = Some(id.clone()).filter(|id| !id.is_empty());
            }
        }
        Ok(())
    }

    /// Hands out the orders read up to the first event that is something else.
    fn take(&mut self) -> Vec<Arrival> {
        let mut orders: Vec<Event> = Vec::new();
        while let Some(event) = self.read.pop_front() {
            let is_order = event.kind.is_empty() || event.kind == "message";
            if event.data.is_some() && is_order {
                let named = event.id.as_ref().filter(|id| !id.is_empty());
                if named.is_none_or(|id| self.seen.is_new(id)) {
                    orders.push(event);
                }
            } else if event.kind == StreamQuery::GAP && event.data.is_some() {
                if orders.is_empty() {
                    self.failed = Some(self.gap(&event));
                    self.give(event.id);
                } else {
                    self.read.push_front(event);
                }
                break;
            } else if orders.is_empty() {
                self.give(event.id);
            } else {
                // The place is behind orders that have yet to be handed out.
                self.read.push_front(event);
                break;
            }
        }
        self.decode(orders)
    }

    fn give(&mut self, id: Option<String>) {
        if let Some(id) = id {
            self.given = Some(id).filter(|id| !id.is_empty());
        }
    }

    /// The rows of `events`, or of those before the first that is none.
    fn decode(&mut self, mut events: Vec<Event>) -> Vec<Arrival> {
        let rows = rows(&events).unwrap_or_else(|_| self.decode_some(&mut events));
        for event in &events {
            self.nameless |= event.id.is_none();
            self.give(event.id.clone());
        }
        events
            .into_iter()
            .map(|event| event.id.filter(|id| !id.is_empty()))
            .zip(rows)
            .collect()
    }

    /// The rows of those of `events` that stand before the first that is none, and leaves only these. Those behind it
    /// come later.
    fn decode_some(&mut self, events: &mut Vec<Event>) -> Vec<Order> {
        let mut good = Vec::new();
        let mut rest = std::mem::take(events).into_iter();
        for event in rest.by_ref() {
            match rows(std::slice::from_ref(&event)) {
                Ok(row) => {
                    good.extend(row);
                    events.push(event);
                }
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        for event in rest.rev() {
            if let Some(id) = &event.id {
                self.seen.known.remove(id);
            }
            self.read.push_front(event);
        }
        good
    }

    fn gap(&self, event: &Event) -> Error {
        let place = self.client.config().place();
        Error::Refused {
            status: 410,
            body: event.data.clone().unwrap_or_default(),
            retry_after: None,
            message: format!(
                "the stream of {place} cannot go on from {:?}: what arrived since is missing from it; orders() and \
                 iter_orders() have it, and the stream goes on from {:?}",
                self.given.as_deref().unwrap_or("the start"),
                event.id.as_deref().unwrap_or("now"),
            ),
        }
    }

    /// A connection, after as many attempts as it takes and the options allow.
    async fn connect(&mut self) -> Result<Open, Error> {
        let client = self.client.clone();
        let config = client.config();
        let lodging = client.shared.pool.enter(config);
        let Some(kept) = lodging.kept() else {
            return Err(no_answer("the client is closed"));
        };
        let mut call = Call {
            config,
            kept,
            lines: &kept.lines,
            http: kept
                .lines
                .http
                .as_ref()
                .map_err(|cause| without_tls(config, cause))?,
            path: StreamQuery::PATH,
            retries: Retries::after(self.fruitless, config.most_retries(), &kept.quota),
            deadline: Instant::now(),
        };
        let start = config.address(StreamQuery::PATH, &self.question.to_query());
        let mut fault = self.lost.take();
        loop {
            if let Some(fault) = fault.take() {
                let wait =
                    call.retries
                        .again(fault.kind, fault.retry_after, NO_HURRY, fastrand::f64());
                let Some(wait) = wait else {
                    self.fruitless = 0;
                    debug!(target: LOG, "GET {}: {}", StreamQuery::PATH, fault.error);
                    return Err(unhelpful(call.counted(fault)));
                };
                warn!(
                    target: LOG,
                    "GET {}: {}; trying again in {} ms",
                    StreamQuery::PATH,
                    fault.error,
                    wait.as_millis()
                );
                self.fruitless = call.retries.attempts() - 1;
                sleep(wait).await;
            }
            kept.lines.freshen().await;
            call.deadline = Instant::now() + config.patience();
            let opened = call.open(&start, &self.headers()).await;
            let failed = match opened.map(|response| self.opened(response)) {
                Ok(Ok((response, silence))) => {
                    call.retries.succeeded();
                    self.fruitless = call.retries.attempts() - 1;
                    info!(target: LOG, "GET {} -> following", StreamQuery::PATH);
                    return Ok(Open {
                        response,
                        events: Events::default(),
                        silence,
                        pid: std::process::id(),
                        _lodging: Arc::clone(&lodging),
                    });
                }
                Ok(Err(error)) => return Err(error),
                Err(Failed::Late) => transient(call.too_slow(None)),
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
        if headers.contains_key(SIMULATED) {
            self.client.shared.simulated.store(true, Ordering::Relaxed);
        }
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
                    StreamQuery::PATH,
                    config::shown(&content_type)
                ),
            });
        }
        let keep_alive = headers
            .get(StreamQuery::KEEP_ALIVE)
            .and_then(|seconds| seconds.to_str().ok()?.parse().ok())
            .filter(|seconds| (0.0..=RAREST).contains(seconds))
            .unwrap_or(KEEP_ALIVE);
        let silence = Duration::from_secs_f64((keep_alive * MISSED).max(0.001));
        Ok((response, silence))
    }
}

impl Drop for OrderStream {
    fn drop(&mut self) {
        // In a forked child the connection belongs to threads that are not there.
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.pid != std::process::id())
        {
            std::mem::forget(self.open.take());
        }
    }
}

/// The rows of the data of `events`, one each.
fn rows(events: &[Event]) -> Result<Vec<Order>, Error> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let data: Vec<&str> = events
        .iter()
        .filter_map(|event| event.data.as_deref())
        .collect();
    let json = format!("[{}]", data.join(","));
    match read::<Vec<Order>>(json.as_bytes(), false)? {
        Reading::Reply(rows) if rows.len() == events.len() => Ok(rows),
        Reading::Reply(_) | Reading::Refused { .. } => Err(Error::UnexpectedReply {
            path: String::new(),
            message: "an event of the stream is not one order".to_owned(),
        }),
    }
}

fn transient(error: Error) -> Fault {
    Fault {
        kind: Kind::Transient,
        error,
        retry_after: None,
    }
}

/// Says what a service without a stream is still good for.
fn unhelpful(mut error: Error) -> Error {
    if let Error::Refused {
        status: 404 | 405 | 501,
        message,
        ..
    } = &mut error
    {
        message.push_str(
            "; the stream is an extension that this service does not have: ask orders() from time to time instead",
        );
    }
    error
}
