//! Following the orders as they arrive, or the cascades as they close, over connections that come and go.
//!
//! A stream is one request without an end. A connection that breaks off, or falls silent for longer than the service's
//! signs of life allow, is replaced by another that goes on behind the last order seen; what comes twice is dropped by
//! its id. What is lost all the same is an error, never a silent gap.

mod connect;
pub(super) mod server_sent_events;

use std::collections::{HashSet, VecDeque};

use super::dialect::{Dialect, Request};
use super::error::Error;
use crate::api::{BadQuery, Extension, Stream};
use crate::client::call::fault::Fault;
use crate::client::call::retries::Kind;
use crate::client::client::Client;
use crate::client::stream::server_sent_events::Event;
use crate::model::{CascadeRow, Order};
use crate::wire::Reading;
use connect::{Connecting, Open, Reconnection};

/// Ids by which what comes twice is known.
const REMEMBERED: usize = 4096;

/// A row of a stream, and the id that names the place behind it; none where the service gives none.
pub type Arrival<R = Order> = (Option<String>, R);

/// The orders of a service as they arrive; it never ends by itself.
pub type OrderStream = RowStream<Order>;

/// The cascades of a service as they close; it never ends by itself.
pub type CascadeStream = RowStream<CascadeRow>;

/// Rows that a service tells of as they come, an event each.
pub trait Streamed: Sized {
    /// Whether events of this name are such rows.
    fn is_told_by(kind: &str) -> bool;

    /// How `dialect` asks for them.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] where the service has no such stream.
    fn request(dialect: &dyn Dialect, question: &Stream) -> Result<Request<Vec<Self>>, BadQuery>;
}

impl Streamed for Order {
    fn is_told_by(kind: &str) -> bool {
        kind.is_empty() || kind == "message"
    }

    fn request(dialect: &dyn Dialect, question: &Stream) -> Result<Request<Vec<Self>>, BadQuery> {
        dialect.stream(question)
    }
}

impl Streamed for CascadeRow {
    fn is_told_by(kind: &str) -> bool {
        kind == Stream::CASCADE
    }

    fn request(dialect: &dyn Dialect, question: &Stream) -> Result<Request<Vec<Self>>, BadQuery> {
        dialect.cascade_stream(question)
    }
}

/// The rows of a service as they come; it never ends by itself.
///
/// # Examples
///
/// ```no_run
/// use liqdata::api::Stream;
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
    /// How the rows are asked for, or why they cannot be.
    request: Result<Request<Vec<R>>, BadQuery>,
    /// What is asked for that not every service with a stream has.
    beyond: Vec<Extension>,
    open: Option<Open>,
    /// The connection that is being made, if one is.
    connecting: Option<Connecting>,
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

impl<R: Streamed> RowStream<R> {
    /// The rows that come behind the place the question names, or else from now on. Opens no connection.
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
            read: VecDeque::new(),
            place: question.last_event_id.clone(),
            given: question.last_event_id,
            nameless: false,
            seen: Seen::default(),
            failed: None,
        }
    }

    /// The place behind the last order that was handed out, as far as the service has named one.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.given.as_deref()
    }

    /// The next orders, at least one.
    ///
    /// It needs a runtime that lives on between calls. May be dropped while it waits and called again: no order is lost,
    /// a connection that is being made goes on being made, and silence counts on. After an error it may be called again
    /// as well, and goes on where it was; after a gap behind it.
    ///
    /// # Errors
    ///
    /// [`Error`] where no connection can be had within the retries of the client; [`Error::Refused`] with status 410
    /// where the service no longer knows the place to go on from, so that orders are missing; [`Error::BadQuery`] where it
    /// does not announce a stream; [`Error::UnexpectedReply`] for an event outside the contract, which is left out.
    pub async fn next(&mut self) -> Result<Vec<Arrival<R>>, Error> {
        let next = self.following().await;
        // A service may repeat what it was sent.
        next.map_err(|error| self.client.config().secrets().kept_from(error))
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
                self.open = None;
                if fault.kind == Kind::Final {
                    return Err(fault.error);
                }
                if self.nameless && self.place.is_none() {
                    let text = "the service gives its orders no ids, so the stream cannot go on where it was; \
                                orders may be missing";
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
                    place: self.place.clone(),
                    lost: self.lost.take(),
                    fruitless: self.fruitless,
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

    /// Waits for something from the connection.
    async fn listen(&mut self) -> Result<(), Fault> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let config = self.client.config();
        let chunk = open
            .chunk()
            .await
            .map_err(|_| {
                let (place, seconds) = (config.place(), open.silence.as_secs_f64());
                Fault::transient(Error::no_answer(format!(
                    "the stream of {place} has been silent for {seconds} s"
                )))
            })?
            .map_err(|error| Fault::within_the_body(error, config, 0))?
            .ok_or_else(|| {
                let place = config.place();
                Fault::transient(Error::no_answer(format!("the stream of {place} ended")))
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
    fn take(&mut self) -> Vec<Arrival<R>> {
        let mut orders: Vec<Event> = Vec::new();
        while let Some(event) = self.read.pop_front() {
            if event.data.is_some() && R::is_told_by(&event.kind) {
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
    fn decode(&mut self, mut events: Vec<Event>) -> Vec<Arrival<R>> {
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

    /// The rows of those of `events` that stand before the first that is none, and leaves only these. Those behind it
    /// come later.
    fn decode_some(&mut self, events: &mut Vec<Event>) -> Vec<R> {
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

    /// The rows of the data of `events`, one each.
    fn rows(&mut self, events: &[Event]) -> Result<Vec<R>, Error> {
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
            Reading::Reply(_) | Reading::Refused { .. } => Err(Error::UnexpectedReply {
                path: String::new(),
                message: "an event of the stream is not one row".to_owned(),
            }),
        }
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
}

impl<R> RowStream<R> {
    /// In a forked child a connection belongs to threads that are not there; it can be neither used nor closed.
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
