//! Server-sent events: orders as they arrive, and cascades once they end. Each connection reads at its own pace.
//!
//! axum's `Sse` does not fit: it sends every event in a separate chunk, but here a chunk contains a page of orders. The
//! keep-alive comment of `Sse` cannot contain the stream position of the reader.

use std::fmt::Display;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::api::{Arguments, Stream, StreamEvents};
use crate::market::{CascadeFollower, CascadeUpdate, OrderFollower, OrderUpdate};
use crate::server::answers::query::pairs;
use crate::server::answers::response::EVENTS;
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
    let (market, lane) = (shared.market, shared.stream);
    let follower = match question.events {
        StreamEvents::Orders => Reader::Orders(
            OrderFollower::begin(market, question, PAGE, lane)
                .await?
                .into(),
        ),
        StreamEvents::Cascades => {
            let follower = CascadeFollower::begin(market, question, PAGE, lane).await?;
            Reader::Cascades(follower.into())
        }
    };
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

/// The state of one reader: its stream position among orders or cascades.
enum Reader {
    Orders(Box<OrderFollower>),
    Cascades(Box<CascadeFollower>),
}

impl Reader {
    /// The stream position after the last event, as text.
    fn place(&self) -> Option<String> {
        match self {
            Self::Orders(follower) => follower.place().map(|place| place.to_string()),
            Self::Cascades(follower) => follower.place().map(|place| place.to_string()),
        }
    }

    /// Returns the next events in wire format. `None` if none has arrived since the last call.
    async fn next(&mut self) -> Result<Option<Bytes>, Rejection> {
        let mut events = Vec::new();
        match self {
            Self::Orders(follower) => match follower.next().await? {
                OrderUpdate::Orders(orders) => {
                    for (id, order) in orders {
                        event(&mut events, None, id, &order)?;
                    }
                }
                OrderUpdate::Gap { asked, newest } => gap(&mut events, asked.as_deref(), newest)?,
                OrderUpdate::End => return Ok(None),
            },
            Self::Cascades(follower) => match follower.next().await? {
                CascadeUpdate::Cascades(cascades) => {
                    for (id, cascade) in cascades {
                        event(&mut events, Some(Stream::CASCADE), id, &cascade)?;
                    }
                }
                CascadeUpdate::Gap { asked, newest } => {
                    gap(&mut events, asked.as_deref(), newest)?;
                }
                CascadeUpdate::End => return Ok(None),
            },
        }
        Ok(Some(events.into()))
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
    // The comment contains the stream position. After a reconnect, events that the filter dropped are then not read
    // again.
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
