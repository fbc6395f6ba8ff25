//! Decodes frames and reply bodies with the markets of one exchange. Has no state and takes no lock.

use std::cell::RefCell;

use crate::collect::delivery::dedupe_keys::EventOrigin;
use crate::collect::intake::pending_rows::PendingRow;
use crate::collect::reference_data::markets::Markets;
use crate::collect::venue_context::VenueContext;
use crate::feeds::{
    Error, Event, FrameKind, PositionAnnouncement, RestRequest, SentSubscriptions, SequenceNumber,
};
use crate::model::Millis;

/// A decoded frame of a connection.
pub(crate) struct DecodedFrame {
    /// Sequence numbers of the frame.
    pub(crate) numbers: Vec<SequenceNumber>,
    pub(crate) content: Result<FrameContent, Error>,
}

/// The content of a frame that could be decoded.
pub(crate) struct FrameContent {
    pub(crate) events: Vec<Event>,
    /// Announced liquidations of trading positions.
    pub(crate) announced: Vec<PositionAnnouncement>,
    pub(crate) origin: EventOrigin,
    /// The meaning of the frame for the connection, such as an acknowledgement or a ping.
    pub(crate) control: Result<FrameKind, Error>,
    /// Rows that could not be decoded.
    pub(crate) faults: Vec<Error>,
}

/// A decoded reply body.
pub(crate) struct DecodedBody {
    pub(crate) events: Vec<Event>,
    /// Announced liquidations of trading positions.
    pub(crate) announced: Vec<PositionAnnouncement>,
    /// The requests for the next pages, if any.
    pub(crate) rest: Result<Vec<RestRequest>, Error>,
    /// Rows that could not be decoded.
    pub(crate) faults: Vec<Error>,
}

/// Decodes a frame of a connection. Unless `all_taken`, the connection still waits for acknowledgements of the
/// subscription requests `sent`.
pub(crate) fn decode_frame(
    context: &VenueContext,
    text: &str,
    sent: &SentSubscriptions,
    all_taken: bool,
    now: Millis,
) -> DecodedFrame {
    let venue = context.venue;
    let markets = context.markets.load();
    let faults = RefCell::default();
    let frame = venue.frame(text, Some(now), &markets.instruments);
    let frame = frame.keeping(&faults);
    let message = venue.read(&frame, sent, !all_taken);
    let decoded = message.decoded.map(|decoded| FrameContent {
        origin: if decoded.is_snapshot {
            EventOrigin::Past
        } else {
            EventOrigin::Live
        },
        events: decoded.events,
        announced: decoded.announced,
        control: message.kind,
        faults: faults.take(),
    });
    DecodedFrame {
        numbers: message.numbers,
        content: decoded,
    }
}

/// Decodes the reply to a request.
pub(crate) fn decode_body(
    context: &VenueContext,
    request: &RestRequest,
    body: &str,
    now: Millis,
) -> Result<DecodedBody, Error> {
    let venue = context.venue;
    let markets = context.markets.load();
    let instruments = markets.for_body(request.market.as_deref());
    let faults = RefCell::default();
    let frame = venue.frame(body, Some(now), &instruments);
    let frame = frame.keeping(&faults);
    let decoded = venue.decode(&frame)?;
    Ok(DecodedBody {
        rest: venue.go_on(request, &frame),
        events: decoded.events,
        announced: decoded.announced,
        faults: faults.take(),
    })
}

/// Decodes the frame of a pending row again, with newer markets.
pub(crate) fn decode_again(
    context: &VenueContext,
    row: &PendingRow,
    markets: &Markets,
) -> Vec<Event> {
    let faults = RefCell::default();
    let instruments = markets.for_body(row.market.as_deref());
    let venue = context.venue;
    let frame = venue.frame(&row.frame, Some(row.received_at), &instruments);
    let decoded = venue.decode(&frame.keeping(&faults));
    decoded.unwrap_or_default().events
}
