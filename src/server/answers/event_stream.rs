//! Server-sent events: orders as they arrive, cascades once they end, and what has changed. Each connection reads at its own pace.
//!
//! axum's `Sse` does not fit: it sends every event in a separate chunk, but here a chunk contains a page of orders. The
//! keep-alive comment of `Sse` cannot contain the stream position of the reader.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout_at};

use crate::contract::{Arguments, Stream, StreamEvents};
use crate::market::{
    CascadeFollower, CascadeUpdate, Dependency, Market, OrderFollower, OrderUpdate,
};
use crate::model::Millis;
use crate::server::answers::query::pairs;
use crate::server::answers::response::{EVENTS, encoded};
use crate::server::reject::Rejection;
use crate::server::shared::PageState;

/// Maximum number of orders per read from the market.
const PAGE: usize = 256;

/// The announced keep-alive interval in seconds. Comments come more often, but a reader on a slow network
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
    let follower = Reader::begin(&shared, question).await?;
    let opening = match follower.place().filter(|_| !named) {
        Some(newest) => format!("{RETRY}id: {newest}\n\n"),
        None => format!("{RETRY}\n"),
    };
    let keep_alive = shared.keep_alive;
    let events = unfold(
        (follower, Some(opening)),
        move |(mut follower, opening)| async move {
            let chunk = match opening {
                Some(opening) => Ok(opening.into()),
                None => next(&mut follower, keep_alive).await,
            };
            match chunk {
                Ok(chunk) => Some((Ok::<Bytes, Rejection>(chunk), (follower, None))),
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
    orders: Option<Box<OrderFollower>>,
    cascades: Option<Box<CascadeFollower>>,
    changes: Option<Changes>,
    /// Which of them will tell nothing more, because the market does not grow.
    ended: StreamEvents,
}

/// What happened next.
enum Update {
    Orders(OrderUpdate),
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
        let (market, lane) = (&shared.market, &shared.stream);
        let begin = || (Arc::clone(market), PAGE, Arc::clone(lane));
        let mut reader = Self {
            orders: None,
            cascades: None,
            changes: changes.then(|| Changes::of(market)),
            ended: StreamEvents::NONE,
        };
        if orders {
            let (market, page, lane) = begin();
            let question = of(parts.map(|(orders, _)| orders));
            reader.orders = Some(
                OrderFollower::begin(market, question, page, lane)
                    .await?
                    .into(),
            );
        }
        if cascades {
            let (market, page, lane) = begin();
            let question = of(parts.map(|(_, cascades)| cascades));
            reader.cascades = Some(
                CascadeFollower::begin(market, question, page, lane)
                    .await?
                    .into(),
            );
        }
        Ok(reader)
    }

    /// The stream position after the last event, as text.
    fn place(&self) -> Option<String> {
        let orders = self.orders.as_ref().map(|orders| orders.place());
        let cascades = self.cascades.as_ref().map(|cascades| cascades.place());
        match (orders, cascades) {
            (Some(orders), None) => orders.map(|place| place.to_string()),
            (None, Some(cascades)) => cascades.map(|place| place.to_string()),
            (Some(orders), Some(cascades)) => Some(format!("{}{BETWEEN}{}", orders?, cascades?)),
            (None, None) => None,
        }
    }

    /// The id of an event: its own position, and that of the other kind of rows.
    fn id(&self, own: impl Display, of_orders: bool) -> String {
        match (&self.orders, &self.cascades) {
            (Some(_), Some(cascades)) if of_orders => {
                let other = cascades.place().map(|place| place.to_string());
                format!("{own}{BETWEEN}{}", other.unwrap_or_default())
            }
            (Some(orders), Some(_)) => {
                let other = orders.place().map(|place| place.to_string());
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
            Update::Orders(OrderUpdate::Orders(orders)) => {
                for (id, order) in orders {
                    event(&mut events, None, self.id(id, true), &order)?;
                }
            }
            Update::Orders(OrderUpdate::Gap { asked, newest }) => {
                gap(&mut events, asked.as_deref(), self.id(newest, true))?;
            }
            Update::Cascades(CascadeUpdate::Cascades(cascades)) => {
                for (id, cascade) in cascades {
                    let id = self.id(id, false);
                    event(&mut events, Some(Stream::CASCADE), id, &cascade)?;
                }
            }
            Update::Cascades(CascadeUpdate::Gap { asked, newest }) => {
                gap(&mut events, asked.as_deref(), self.id(newest, false))?;
            }
            Update::Changes(changed) => {
                let text = encoded(&changed)?;
                events.extend_from_slice(b"event: changes\ndata: ");
                events.extend_from_slice(&text);
                events.extend_from_slice(b"\n\n");
            }
            Update::Orders(OrderUpdate::End) => {
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
fn gap(events: &mut Vec<u8>, asked: Option<&str>, newest: impl Display) -> Result<(), Rejection> {
    let gap = Gap {
        asked,
        message: "the requested stream position is no longer known; events between that position and this event are \
                  missing",
    };
    event(events, Some(Stream::GAP), newest, &gap)
}

/// Returns the next events once they arrive, or a keep-alive comment after the time `keep_alive`.
async fn next(follower: &mut Reader, keep_alive: Duration) -> Result<Bytes, Rejection> {
    let silence = Instant::now() + keep_alive;
    if let Ok(next) = timeout_at(silence, follower.next()).await {
        match next? {
            Some(events) => return Ok(events),
            None => sleep_until(silence).await,
        }
    }
    // A heartbeat: a comment line, and an `id` line with the stream position, so that a client that reconnects does not
    // read events again that the filter dropped.
    let place = follower.place().map(|place| format!("id: {place}\n"));
    Ok(format!(": here\n{}\n", place.unwrap_or_default()).into())
}

/// Writes one event. The JSON has no line breaks, so one data line is enough.
fn event<T: Serialize>(
    events: &mut Vec<u8>,
    kind: Option<&str>,
    id: impl Display,
    data: &T,
) -> Result<(), Rejection> {
    if let Some(kind) = kind {
        events.extend_from_slice(format!("event: {kind}\n").as_bytes());
    }
    events.extend_from_slice(format!("id: {id}\ndata: ").as_bytes());
    serde_json::to_writer(&mut *events, data).map_err(|failure| {
        log::error!("an event could not be encoded: {failure}");
        Rejection::Defect
    })?;
    events.extend_from_slice(b"\n\n");
    Ok(())
}
