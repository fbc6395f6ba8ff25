//! The REST endpoints of an exchange and the decoders of their replies.

use std::time::Duration;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::rest::prices::PriceEndpoints;
use crate::feeds::rest::request::{
    HourlyTotal, OpenInterestReading, RestPage, RestRequest, RestSeries, VenueBar,
};
use crate::model::Millis;

/// The REST endpoints of an exchange and the decoders of their replies.
#[derive(Debug)]
pub(crate) struct RestEndpoints {
    pub(crate) listings: fn() -> Vec<RestRequest>,
    pub(crate) read_listings: fn(&RestRequest, &Frame<'_>) -> Result<RestPage<Listing>, Error>,
    pub(crate) prices: Option<PriceEndpoints>,
    pub(crate) look_back: i64,
    pub(crate) late: i64,
    pub(crate) ban: Option<Duration>,
    pub(crate) missed: fn(&[Listing], Millis, Millis) -> Vec<RestRequest>,
    pub(crate) go_on: fn(&RestRequest, &Frame<'_>) -> Result<Vec<RestRequest>, Error>,
    pub(crate) bars: Option<RestSeries<VenueBar>>,
    pub(crate) open_interest: Option<RestSeries<OpenInterestReading>>,
    pub(crate) totals: Option<RestSeries<HourlyTotal>>,
}

/// Default maximum delay of a row in REST replies, in milliseconds.
///
/// REST replies lag behind the socket.
const LATE: i64 = 30_000;

impl RestEndpoints {
    /// An exchange without REST endpoints.
    pub(crate) const NONE: Self = Self {
        listings: Vec::new,
        read_listings: |_, frame| Err(frame.unknown()),
        prices: None,
        look_back: 0,
        late: LATE,
        ban: None,
        missed: |_, _, _| Vec::new(),
        go_on: |_, _| Ok(Vec::new()),
        bars: None,
        open_interest: None,
        totals: None,
    };
}
