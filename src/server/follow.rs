//! The stream of orders as they arrive: server-sent events, each reader at its own pace.
//!
//! Nothing is kept for a reader but its place in the order of arrival. What it has not read yet is read from the market
//! when the connection has room again, so a slow reader costs no memory; one who is so slow that its place is forgotten
//! is told of the gap.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::Rejection;
use super::desk::{Desk, Lane};
use super::question::pairs;
use crate::api::{Query, Stream};
use crate::market::Market;
use crate::market::{ArrivalId, Arrivals};

/// The content type by which a stream is known.
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Signs of life come after so long without an order.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Orders read from the market at a time.
const PAGE: usize = 256;

/// When a reader that lost its connection should come back, in milliseconds.
const RETRY: &str = "retry: 1000\n";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const ANNOUNCED: HeaderName = HeaderName::from_static(Stream::KEEP_ALIVE);
/// Proxies that know it pass events on at once.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The page of the stream.
pub(super) async fn follow(
    State(desk): State<Desk>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Rejection> {
    let query = pairs(uri.query().unwrap_or_default())?;
    let mut question = Stream::from_query(&Query::new(query, Stream::PARAMETERS)?)?;
    // A browser that comes back asks the address it asked before: the header is newer.
    if let Some(id) = headers.get(LAST_EVENT_ID) {
        question.last_event_id = Some(String::from_utf8_lossy(id.as_bytes()).into_owned());
    }
    let (opening, place) = if let Some(id) = &question.last_event_id {
        (format!("{RETRY}\n"), id.parse().ok())
    } else {
        let newest = desk.compute(Lane::Stream, Market::newest).await?;
        (format!("{RETRY}id: {newest}\n\n"), Some(newest))
    };
    let keep_alive = desk.keep_alive;
    let follower = Follower {
        desk,
        question,
        place,
        opening: Some(opening.into()),
    };
    let events = unfold(follower, |mut follower| async move {
        match follower.next().await {
            Ok(chunk) => Some((Ok::<Bytes, Rejection>(chunk), follower)),
            Err(rejection) => {
                log::warn!("a stream ended: {rejection}");
                None
            }
        }
    });
    let mut response = Body::from_stream(events).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(UNBUFFERED, HeaderValue::from_static("no"));
    if let Ok(seconds) = HeaderValue::try_from(keep_alive.as_secs_f64().to_string()) {
        headers.insert(ANNOUNCED, seconds);
    }
    Ok(response)
}

/// What the event of a gap says.
#[derive(Serialize)]
struct Gap<'a> {
    asked: Option<&'a str>,
    message: &'static str,
}

/// One reader.
struct Follower {
    desk: Desk,
    question: Stream,
    /// The place behind the last order read; `None` where the one asked for makes no sense.
    place: Option<ArrivalId>,
    opening: Option<Bytes>,
}

impl Follower {
    /// The next events, as soon as there are any; a sign of life where there are none for long.
    async fn next(&mut self) -> Result<Bytes, Rejection> {
        if let Some(opening) = self.opening.take() {
            return Ok(opening);
        }
        let silence = Instant::now() + self.desk.keep_alive;
        loop {
            let Some(place) = self.place else {
                return self.gap().await;
            };
            // Asked first, so that what comes meanwhile is a change.
            let read =
                move |market: &Market| Ok((market.revision(), market.arrivals(Some(place), PAGE)?));
            let (seen, arrivals) = self.desk.compute(Lane::Stream, read).await?;
            let orders = match arrivals {
                Arrivals::Known(orders) => orders,
                Arrivals::Gone => return self.gap().await,
            };
            if let Some((last, _)) = orders.last() {
                self.place = Some(*last);
                let mut events = Vec::new();
                for (id, order) in orders {
                    if self.question.wants(&order) {
                        event(&mut events, None, id, &order)?;
                    }
                }
                if !events.is_empty() {
                    return Ok(events.into());
                }
                if Instant::now() < silence {
                    continue;
                }
            } else {
                let changed = self.desk.market.changed(seen);
                if timeout_at(silence, changed).await.is_ok() {
                    continue;
                }
            }
            // Who comes back need not be shown again what was left out for it.
            let place = self.place.unwrap_or(place);
            return Ok(format!(": here\nid: {place}\n\n").into());
        }
    }

    /// Tells that orders are missing, and goes on with the newest.
    async fn gap(&mut self) -> Result<Bytes, Rejection> {
        let newest = self.desk.compute(Lane::Stream, Market::newest).await?;
        let place = self.place.replace(newest).map(|place| place.to_string());
        let gap = Gap {
            asked: place.as_deref().or(self.question.last_event_id.as_deref()),
            message: "the place to go on from is no longer known; \
                      what arrived between it and this event is not in the stream",
        };
        let mut events = Vec::new();
        event(&mut events, Some(Stream::GAP), newest, &gap)?;
        Ok(events.into())
    }
}

/// Writes one event. JSON has no line breaks of its own here, so one line holds it.
fn event<T: Serialize>(
    events: &mut Vec<u8>,
    kind: Option<&str>,
    id: ArrivalId,
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
