//! Records raw messages: frames and replies with rows, messages that could not be decoded, and market lists.
//!
//! Heartbeats, control messages, ordinary trades and duplicates are not recorded.

use crate::archive::{RawLine, RawLineKind};
use crate::collect::venue_context::VenueContext;
use crate::feeds::RestRequest;
use crate::model::Millis;

/// The path and query of a request, in the form that is recorded.
pub(crate) fn path_and_query(request: &RestRequest) -> String {
    let query = request.query.iter();
    let query: Vec<String> = query
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{}?{}", request.path, query.join("&"))
}

/// Records a frame of a connection.
pub(crate) fn keep_frame(context: &VenueContext, text: &str, now: Millis) {
    if context.delivery.raw.is_on() {
        context.delivery.raw.offer(RawLine {
            frame: text.to_owned(),
            ..RawLine::new(context.name(), now, RawLineKind::Socket)
        });
    }
}

/// Records the body of a reply.
pub(crate) fn keep_body(context: &VenueContext, request: &RestRequest, body: &str, now: Millis) {
    if context.delivery.raw.is_on() {
        context.delivery.raw.offer(RawLine {
            market: request.market.clone(),
            from: Some(request.from),
            until: Some(request.until),
            frame: body.to_owned(),
            ..RawLine::new(context.name(), now, RawLineKind::Request)
        });
    }
}

/// The recorded form of a page of a market list; `None` if raw frames are not stored.
pub(crate) fn market_page(
    context: &VenueContext,
    list: usize,
    page: usize,
    request: &RestRequest,
    body: &str,
) -> Option<RawLine> {
    let number = |number: usize| u32::try_from(number).ok();
    context.delivery.raw.is_on().then(|| RawLine {
        list: number(list),
        page: number(page),
        request: Some(path_and_query(request)),
        frame: body.to_owned(),
        ..RawLine::new(context.name(), context.clock.now(), RawLineKind::Markets)
    })
}

/// Records a list of markets that has changed.
pub(crate) fn keep_markets(context: &VenueContext, list: usize, pages: Vec<RawLine>) {
    if let Ok(list) = u32::try_from(list)
        && !pages.is_empty()
    {
        context.delivery.raw.markets(context.name(), list, pages);
    }
}
