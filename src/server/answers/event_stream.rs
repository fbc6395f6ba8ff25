//! Server-sent events: orders as they arrive, cascades once they end, and what has changed. Each connection reads at its own pace.
//!
//! axum's `Sse` does not fit: it sends every event in a separate chunk, but here a chunk contains a page of orders. The
//! keep-alive event of `Sse` cannot contain the stream position of the reader.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval, sleep};

use crate::contract::{Arguments, Stream, StreamEvents};
use crate::market::{CascadeFollower, CascadeUpdate, Dependency, Market};
use crate::model::Millis;
use crate::server::answers::event::{write_data, write_id, write_kind};
use crate::server::answers::order_feed::{OrderEvents, OrderReader, PAGE};
use crate::server::answers::query::pairs;
use crate::server::answers::response::EVENTS;
use crate::server::reject::Rejection;
use crate::server::shared::PageState;

/// The announced keep-alive interval in seconds. Heartbeats come more often, but a reader on a slow network
/// should not give up after a few seconds of silence.
const ANNOUNCED_INTERVAL: HeaderValue = HeaderValue::from_static("15");

/// The line that sets the delay before a disconnected reader reconnects, in milliseconds.
const RETRY: &str = "retry: 1000\n";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const ANNOUNCED: HeaderName = HeaderName::from_static(Stream::KEEP_ALIVE);
/// The header that asks proxies not to buffer the stream.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Handles a request for the event stream.
pub(crate) async fn follow(
    State(shared): State<PageState>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Rejection> {
    let query = pairs(uri.query().unwrap_or_default())?;
    let mut question = Stream::from_arguments(&Arguments::from_query(query, Stream::PARAMETERS)?)?;
    // A reconnecting browser repeats its first URL, so the position in the header is newer than that in the query.
    if let Some(id) = headers.get(LAST_EVENT_ID) {
        question.last_event_id = Some(String::from_utf8_lossy(id.as_bytes()).into_owned());
    }
    let named = question.last_event_id.is_some();
    let reader = Reader::begin(&shared, question).await?;
    let position = reader.position().filter(|_| !named);
    let opening = format!("{RETRY}{}", position_event(position));
    let stream = EventStream {
        reader,
        keep_alive: shared.keep_alive,
        silence: Box::pin(sleep(shared.keep_alive)),
    };
    let events = unfold(
        (stream, Some(opening)),
        |(mut stream, opening)| async move {
            let chunk = match opening {
                Some(opening) => Ok(opening.into()),
                None => stream.next().await,
            };
            match chunk {
                Ok(chunk) => Some((Ok::<Bytes, Rejection>(chunk), (stream, None))),
                Err(rejection) => {
                    log::warn!("a stream ended: {rejection}");
                    None
                }
            }
        },
    );
    let mut response = Body::from_stream(events).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    headers.insert(ANNOUNCED, ANNOUNCED_INTERVAL);
    Ok(response)
}

/// The data of a gap event: the requested stream position is unknown, so events are missing.
#[derive(Serialize)]
struct Gap<'a> {
    asked: Option<&'a str>,
    message: &'static str,
}

/// Stands between the positions of the two kinds of rows in an id.
const BETWEEN: char = '~';
/// Minimum time between two events that say what has changed.
const CHANGES: Duration = Duration::from_secs(1);

/// The state of one reader: its stream position among orders, among cascades, and what it knows to be current.
struct Reader {
    orders: Option<Box<OrderReader>>,
    cascades: Option<Box<CascadeFollower>>,
    changes: Option<Changes>,
    /// Which of them have ended, because the market does not grow.
    ended: StreamEvents,
}

/// What happened next.
enum Update {
    Orders(OrderEvents),
    Cascades(CascadeUpdate),
    Changes(Changed),
}

impl Reader {
    async fn begin(shared: &PageState, question: Stream) -> Result<Self, Rejection> {
        let StreamEvents {
            orders,
            cascades,
            changes,
        } = question.events;
        let id = question.last_event_id.clone().unwrap_or_default();
        let parts = id.split_once(BETWEEN).filter(|_| orders && cascades);
        let of = |part: Option<&str>| Stream {
            last_event_id: part.map(str::to_owned).or(question.last_event_id.clone()),
            ..question.clone()
        };
        let market = &shared.market;
        let mut reader = Self {
            orders: None,
            cascades: None,
            changes: changes.then(|| Changes::of(market)),
            ended: StreamEvents::NONE,
        };
        if orders {
            let question = of(parts.map(|(orders, _)| orders));
            let orders = OrderReader::begin(&shared.orders, question).await?;
            reader.orders = Some(Box::new(orders));
        }
        if cascades {
            let question = of(parts.map(|(_, cascades)| cascades));
            let (market, lane) = (Arc::clone(market), Arc::clone(&shared.stream));
            let cascades = CascadeFollower::begin(market, question, PAGE, lane).await?;
            reader.cascades = Some(Box::new(cascades));
        }
        Ok(reader)
    }

    /// The stream position after the last event, as text.
    fn position(&self) -> Option<String> {
        let orders = self.orders.as_ref().map(|orders| orders.position());
        let cascades = self.cascades.as_ref().map(|cascades| cascades.place());
        match (orders, cascades) {
            (Some(orders), None) => orders.map(|position| position.to_string()),
            (None, Some(cascades)) => cascades.map(|position| position.to_string()),
            (Some(orders), Some(cascades)) => Some(format!("{}{BETWEEN}{}", orders?, cascades?)),
            (None, None) => None,
        }
    }

    /// The id of an event: its own position, and that of the other kind of rows.
    fn id(&self, own: impl Display, of_orders: bool) -> String {
        match (&self.orders, &self.cascades) {
            (Some(_), Some(cascades)) if of_orders => {
                let other = cascades.place().map(|position| position.to_string());
                format!("{own}{BETWEEN}{}", other.unwrap_or_default())
            }
            (Some(orders), Some(_)) => {
                let other = orders.position().map(|position| position.to_string());
                format!("{}{BETWEEN}{own}", other.unwrap_or_default())
            }
            _ => own.to_string(),
        }
    }

    /// Waits for what happens next. Cancel safe, as the followers are.
    async fn update(&mut self) -> Result<Update, Rejection> {
        let Self {
            orders,
            cascades,
            changes,
            ended,
        } = self;
        tokio::select! {
            update = async { match orders { Some(orders) if !ended.orders => orders.next().await, _ => pending().await } } => {
                Ok(Update::Orders(update?))
            }
            update = async { match cascades { Some(cascades) if !ended.cascades => cascades.next().await, _ => pending().await } } => {
                Ok(Update::Cascades(update?))
            }
            update = async { match changes { Some(changes) => changes.next().await, _ => pending().await } } => {
                Ok(Update::Changes(update?))
            }
        }
    }

    /// Returns the next events in wire format. `None` if none will arrive any more.
    async fn next(&mut self) -> Result<Option<Bytes>, Rejection> {
        let mut events = Vec::new();
        match self.update().await? {
            Update::Orders(OrderEvents::Orders(orders)) => {
                return Ok(Some(match self.cascades {
                    Some(_) => orders.events_named(|id| self.id(id, true)),
                    None => orders.events(),
                }));
            }
            Update::Orders(OrderEvents::Gap { asked, newest }) => {
                write_gap(&mut events, asked.as_deref(), self.id(newest, true))?;
            }
            Update::Cascades(CascadeUpdate::Cascades(cascades)) => {
                for (id, cascade) in cascades {
                    write_kind(&mut events, Stream::CASCADE);
                    write_id(&mut events, self.id(id, false));
                    write_data(&mut events, &cascade)?;
                }
            }
            Update::Cascades(CascadeUpdate::Gap { asked, newest }) => {
                write_gap(&mut events, asked.as_deref(), self.id(newest, false))?;
            }
            Update::Changes(changed) => {
                write_kind(&mut events, Stream::CHANGES);
                write_data(&mut events, &changed)?;
            }
            Update::Orders(OrderEvents::End) => {
                self.ended.orders = true;
                return Ok(None);
            }
            Update::Cascades(CascadeUpdate::End) => {
                self.ended.cascades = true;
                return Ok(None);
            }
        }
        Ok(Some(events.into()))
    }
}

/// Which answers changed since the last event. A tag is opaque and equal while the answers are.
#[derive(Serialize)]
struct Changed {
    /// Tags of the estimates of each coin.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    estimate: BTreeMap<String, String>,
    /// Tag of totals, rankings and orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    realised: Option<String>,
    /// Tag of coverage and gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<String>,
    now: Millis,
}

/// Looks for changes of the market once a second.
struct Changes {
    market: Arc<Market>,
    estimates: BTreeMap<String, u64>,
    realised: Option<u64>,
    record: Option<u64>,
    ticks: Interval,
}

impl Changes {
    fn of(market: &Arc<Market>) -> Self {
        let mut ticks = interval(CHANGES);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            market: Arc::clone(market),
            estimates: BTreeMap::new(),
            realised: None,
            record: None,
            ticks,
        }
    }

    /// Waits until something has changed; the first call returns all tags. Nothing is lost if the future is dropped.
    async fn next(&mut self) -> Result<Changed, Rejection> {
        loop {
            self.ticks.tick().await;
            let observed = self.market.look_at(&Dependency::Observations).await?;
            let record = self
                .market
                .look_at(&Dependency::Record)
                .await?
                .revision
                .number;
            let realised = observed.revision.number;
            if self.realised == Some(realised) && self.record == Some(record) {
                continue;
            }
            let mut changed = Changed {
                estimate: BTreeMap::new(),
                realised: (self.realised != Some(realised)).then(|| format!("{realised:x}")),
                record: (self.record != Some(record)).then(|| format!("{record:x}")),
                now: observed.now,
            };
            let coins = self.market.look(Market::coins).await?;
            let mut estimates = BTreeMap::new();
            for coin in coins {
                let basis = Dependency::Coin(coin.clone());
                let number = self.market.look_at(&basis).await?.revision.number;
                if self.estimates.get(&coin) != Some(&number) {
                    changed.estimate.insert(coin.clone(), format!("{number:x}"));
                }
                estimates.insert(coin, number);
            }
            // There is no await from here on, so a dropped future has not stored what it did not return.
            self.estimates = estimates;
            self.realised = Some(realised);
            self.record = Some(record);
            return Ok(changed);
        }
    }
}

/// Writes a gap event.
fn write_gap(
    events: &mut Vec<u8>,
    asked: Option<&str>,
    newest: impl Display,
) -> Result<(), Rejection> {
    let message = "the requested stream position is no longer known; events between that position and this event are \
                   missing";
    write_kind(events, Stream::GAP);
    write_id(events, newest);
    write_data(events, &Gap { asked, message })
}

/// The events of one reader, with heartbeats between them.
struct EventStream {
    reader: Reader,
    keep_alive: Duration,
    /// Ends when a heartbeat is due.
    silence: Pin<Box<Sleep>>,
}

impl EventStream {
    /// Returns the next events once they arrive, or a heartbeat after the time `keep_alive`.
    async fn next(&mut self) -> Result<Bytes, Rejection> {
        // Moving the end of a sleep costs less than another sleep for every event.
        self.silence
            .as_mut()
            .reset(Instant::now() + self.keep_alive);
        tokio::select! {
            biased;
            next = self.reader.next() => match next? {
                Some(events) => return Ok(events),
                None => self.silence.as_mut().await,
            },
            () = self.silence.as_mut() => {}
        }
        // A heartbeat has the stream position, so that a client that reconnects does not read events again that the filter
        // dropped.
        Ok(position_event(self.reader.position()).into())
    }
}

/// An event that has the stream position, if it is known, and no row.
fn position_event(position: Option<String>) -> String {
    let id = position.map(|position| format!("id: {position}\n"));
    let name = Stream::POSITION;
    format!("event: {name}\n{}data: {{}}\n\n", id.unwrap_or_default())
}
