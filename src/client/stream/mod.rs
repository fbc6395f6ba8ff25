//! Follows orders as they arrive, or cascades once they end, across reconnects.
//!
//! A stream is one endless HTTP request. If its connection breaks, or stays silent for several keep-alive intervals,
//! another connection resumes after the last row. Repeated rows are dropped by id. If rows were lost, the stream
//! returns an error.

mod connect;
pub(super) mod server_sent_events;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use log::warn;

use super::dialect::{Dialect, Request};
use super::error::Error;
use crate::client::call::attempts::LOG;
use crate::client::call::fault::AttemptFault;
use crate::client::call::retries::FailureKind;
use crate::client::client::Client;
use crate::client::stream::server_sent_events::ServerSentEvent;
use crate::contract::decode::Reading;
use crate::contract::{BadQuery, Extension, Stream};
use crate::model::{CascadeRow, Order, TimeUnit};
use connect::{Connecting, OpenStream, Reconnection};

/// Number of recent ids that are stored to drop repeated rows.
const REMEMBERED: usize = 4096;

/// A connection that lasted this long was not hung up on: reconnections are counted from zero after it.
const LASTING: Duration = Duration::from_mins(1);

/// A row, and the id of the stream position after the row. The id is `None` if the service sends none.
pub type Arrival<R = Order> = (Option<String>, R);

/// The orders of a service as they arrive. The stream has no end.
pub type OrderStream = RowStream<Order>;

/// The cascades of a service once they end. The stream has no end.
pub type CascadeStream = RowStream<CascadeRow>;

/// Rows that a service sends as events.
pub trait Streamed: Sized {
    /// Whether events of this name contain rows of this type.
    fn matches_event(kind: &str) -> bool;

    /// Returns the request that `dialect` uses for the stream.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] if the service has no such stream.
    fn request(dialect: &dyn Dialect, question: &Stream) -> Result<Request<Vec<Self>>, BadQuery>;
}

impl Streamed for Order {
    fn matches_event(kind: &str) -> bool {
        kind.is_empty() || kind == "message"
    }

    fn request(dialect: &dyn Dialect, question: &Stream) -> Result<Request<Vec<Self>>, BadQuery> {
        dialect.stream(question)
    }
}

impl Streamed for CascadeRow {
    fn matches_event(kind: &str) -> bool {
        kind == Stream::CASCADE
    }

    fn request(dialect: &dyn Dialect, question: &Stream) -> Result<Request<Vec<Self>>, BadQuery> {
        dialect.cascade_stream(question)
    }
}

/// The rows of a service as they arrive. The stream has no end.
///
/// # Examples
///
/// ```no_run
/// use liqdata::contract::Stream;
/// use liqdata::client::{Client, Config, OrderStream};
///
/// # async fn follow() -> Result<(), liqdata::client::Error> {
/// let client = Client::new(Config::new("http://127.0.0.1:8000")?)?;
/// let mut stream = OrderStream::new(client, Stream::new(Some("BTCUSDT"), None, None)?);
/// loop {
///     for (id, order) in stream.next().await? {
///         println!("{id:?} {} {}", order.side, order.value_usd);
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct RowStream<R> {
    client: Client,
    /// The request, or the reason why the service cannot answer it.
    request: Result<Request<Vec<R>>, BadQuery>,
    /// Extensions of the API that the request needs.
    beyond: Vec<Extension>,
    open: Option<OpenStream>,
    /// The current attempt to connect.
    connecting: Option<Connecting>,
    /// Why the previous connection ended.
    lost: Option<AttemptFault>,
    /// Reconnections in a row since the last new event or the last connection that lasted.
    fruitless: u32,
    /// The delay before a reconnection that the service asked for.
    retry: Option<Duration>,
    /// Events that have been read but not returned.
    read: VecDeque<ServerSentEvent>,
    /// The stream position after all events that have been read.
    position: Option<String>,
    /// The stream position after the last returned row.
    given: Option<String>,
    /// Whether a row without an id was returned.
    nameless: bool,
    seen: Seen,
    /// The unit of the service's instants, if it is not milliseconds.
    time_unit: Option<TimeUnit>,
    failed: Option<Error>,
}

/// The most recent ids, for detecting repeated rows.
#[derive(Debug, Default)]
struct Seen {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    /// Remembers `id`. Returns whether it is new.
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

impl<R: Streamed> RowStream<R> {
    /// Creates a stream that starts after the position in the query, or with the next row. Opens no connection yet.
    #[must_use]
    pub fn new(client: Client, question: Stream) -> Self {
        Self {
            request: R::request(client.dialect(), &question),
            beyond: question.beyond(),
            client,
            open: None,
            connecting: None,
            lost: None,
            fruitless: 0,
            retry: None,
            read: VecDeque::new(),
            position: question.last_event_id.clone(),
            given: question.last_event_id,
            nameless: false,
            seen: Seen::default(),
            time_unit: None,
            failed: None,
        }
    }

    /// The stream position after the last returned row, if the service sends positions.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.given.as_deref()
    }

    /// Waits for the next rows. Returns at least one.
    ///
    /// Needs a Tokio runtime that exists between calls. Cancel-safe: no row is lost, and an attempt to connect
    /// continues. After an error, the next call resumes the stream. After lost rows, it resumes behind them.
    ///
    /// # Errors
    ///
    /// [`Error`] if no connection succeeds within the retries; [`Error::Refused`] with status 410 if the service no
    /// longer knows the stream position, so that rows are lost; [`Error::BadQuery`] if the service announces no stream;
    /// [`Error::UnexpectedReply`] for an event outside the API, which is skipped.
    pub async fn next(&mut self) -> Result<Vec<Arrival<R>>, Error> {
        let next = self.following().await;
        // Error messages of the service may repeat the secrets that it received.
        next.map_err(|error| self.client.config().secrets().redact(error))
    }

    async fn following(&mut self) -> Result<Vec<Arrival<R>>, Error> {
        self.forget_after_fork();
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
                self.connect().await?;
            }
            if let Err(fault) = self.listen().await {
                if let Some(open) = self.open.take() {
                    self.retry = open.events.retry().or(self.retry);
                    if open.since.elapsed() >= LASTING {
                        self.fruitless = 0;
                    }
                }
                if fault.kind == FailureKind::Final {
                    return Err(fault.error);
                }
                if self.nameless && self.position.is_none() {
                    let text = "the service sends orders without ids, so the stream cannot resume after the last \
                                order; orders may be missing";
                    return Err(Error::no_answer(format!("{}; {text}", fault.error)));
                }
                self.lost = Some(fault);
            }
        }
    }

    /// Waits for a connection.
    async fn connect(&mut self) -> Result<(), Error> {
        let connecting = match &mut self.connecting {
            Some(connecting) => connecting,
            none => {
                let request = self.request.as_ref().map_err(BadQuery::clone)?;
                let config = self.client.config();
                let reconnection = Reconnection {
                    client: self.client.clone(),
                    address: config.address(&request.path, &request.query),
                    path: request.path.clone(),
                    position: self.position.clone(),
                    lost: self.lost.take(),
                    fruitless: self.fruitless,
                    retry: self.retry,
                    beyond: self.beyond.clone(),
                };
                none.insert(Connecting::begin(reconnection))
            }
        };
        let made = connecting.made().await;
        self.connecting = None;
        self.fruitless = made.fruitless;
        self.open = Some(made.open?);
        Ok(())
    }

    /// Waits for data from the connection.
    async fn listen(&mut self) -> Result<(), AttemptFault> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let config = self.client.config();
        let chunk = open
            .chunk()
            .await
            .map_err(|_| {
                let (service, seconds) = (config.service_name(), open.silence.as_secs_f64());
                AttemptFault::transient(Error::no_answer(format!(
                    "the stream of {service} has been silent for {seconds} s"
                )))
            })?
            .map_err(|error| AttemptFault::within_the_body(error, config, 0))?
            .ok_or_else(|| {
                let service = config.service_name();
                AttemptFault::transient(Error::no_answer(format!("the stream of {service} ended")))
            })?;
        let known = self.read.len();
        open.events
            .read(&chunk, config.most_bytes(), &mut self.read)
            .map_err(|_| {
                AttemptFault::final_(Error::UnexpectedReply {
                    path: String::new(),
                    message: format!(
                        "an event is larger than max_body = {} bytes",
                        config.most_bytes()
                    ),
                })
            })?;
        for event in self.read.iter().skip(known) {
            // A service that repeats what it sent before makes no progress.
            let repeated = |id| self.seen.known.contains(id);
            let has_row = event.data.is_some() && event.kind != Stream::POSITION;
            if has_row && !event.id.as_ref().is_some_and(repeated) {
                self.fruitless = 0;
            }
            // By the HTML standard, an empty id resets the stream position.
            if let Some(id) = &event.id {
                self.position = Some(id.clone()).filter(|id| !id.is_empty());
            }
        }
        Ok(())
    }

    /// Takes the rows that were read, up to the first event without a row.
    fn take(&mut self) -> Vec<Arrival<R>> {
        let mut orders: Vec<ServerSentEvent> = Vec::new();
        while let Some(event) = self.read.pop_front() {
            if event.data.is_some() && R::matches_event(&event.kind) {
                let named = event.id.as_ref().filter(|id| !id.is_empty());
                if named.is_none_or(|id| self.seen.is_new(id)) {
                    orders.push(event);
                }
            } else if event.kind == Stream::GAP && event.data.is_some() {
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
                // The position of this event is behind rows that are not returned yet. The event is therefore processed
                // after them.
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

    /// Decodes the rows of `events`, up to the first malformed one.
    fn decode(&mut self, mut events: Vec<ServerSentEvent>) -> Vec<Arrival<R>> {
        let rows = self
            .rows(&events)
            .unwrap_or_else(|_| self.decode_some(&mut events));
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

    /// Decodes `events` up to the first malformed one, and puts the remaining events back for the next call.
    fn decode_some(&mut self, events: &mut Vec<ServerSentEvent>) -> Vec<R> {
        let mut good = Vec::new();
        let mut rest = std::mem::take(events).into_iter();
        for event in rest.by_ref() {
            match self.rows(std::slice::from_ref(&event)) {
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

    /// Decodes the rows of `events`; each event contains one row.
    fn rows(&mut self, events: &[ServerSentEvent]) -> Result<Vec<R>, Error> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let request = self.request.as_mut().map_err(|refusal| refusal.clone())?;
        request.reply.begin(None);
        let data = events.iter().filter_map(|event| event.data.as_deref());
        for (before, data) in std::iter::once("[").chain(std::iter::repeat(",")).zip(data) {
            request.reply.feed(before.as_bytes());
            request.reply.feed(data.as_bytes());
        }
        request.reply.feed(b"]");
        match request.reply.finish()? {
            Reading::Reply(rows) if rows.len() == events.len() => Ok(rows),
            Reading::Converted { reply: rows, unit } if rows.len() == events.len() => {
                if self.time_unit.replace(unit) != Some(unit) {
                    let (path, service) = (&request.path, self.client.config().service_name());
                    warn!(target: LOG, "GET {path}: the instants of {service} are {unit} since 1970; converted");
                }
                Ok(rows)
            }
            _ => Err(Error::UnexpectedReply {
                path: String::new(),
                message: "an event of the stream is not one row".to_owned(),
            }),
        }
    }

    fn gap(&self, event: &ServerSentEvent) -> Error {
        let service = self.client.config().service_name();
        Error::Refused {
            status: 410,
            body: event.data.clone().unwrap_or_default(),
            retry_after: None,
            message: format!(
                "{service} no longer knows the stream position {:?}, so rows are missing from the stream; read them \
                 with orders() or iter_orders(); the stream continues after {:?}",
                self.given.as_deref().unwrap_or("the start"),
                event.id.as_deref().unwrap_or("now"),
            ),
        }
    }
}

impl<R> RowStream<R> {
    /// Forgets the connections of a parent process. A forked child has no threads for the connections, so it can
    /// neither use nor close them.
    fn forget_after_fork(&mut self) {
        let pid = std::process::id();
        if self.open.as_ref().is_some_and(|open| open.pid != pid) {
            std::mem::forget(self.open.take());
        }
        if self.connecting.as_ref().is_some_and(|made| made.pid != pid) {
            std::mem::forget(self.connecting.take());
        }
    }
}

impl<R> Drop for RowStream<R> {
    fn drop(&mut self) {
        self.forget_after_fork();
    }
}
