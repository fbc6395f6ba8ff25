//! The REST endpoints of an exchange.

use std::time::Duration;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::error::Error;
use crate::feeds::instruments::Listing;
use crate::feeds::rest::prices::Prices;
use crate::feeds::rest::request::{Ask, Bar, Page, Reading, Series, Total};
use crate::model::Millis;

/// The REST endpoints of an exchange.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) listings: fn() -> Vec<Ask>,
    pub(crate) read_listings: fn(&Ask, &Frame<'_>) -> Result<Page<Listing>, Error>,
    pub(crate) prices: Option<Prices>,
    pub(crate) look_back: i64,
    pub(crate) late: i64,
    pub(crate) ban: Option<Duration>,
    pub(crate) missed: fn(&[Listing], Millis, Millis) -> Vec<Ask>,
    pub(crate) go_on: fn(&Ask, &Frame<'_>) -> Result<Vec<Ask>, Error>,
    pub(crate) bars: Option<Series<Bar>>,
    pub(crate) open_interest: Option<Series<Reading>>,
    pub(crate) totals: Option<Series<Total>>,
    pub(crate) proofs: fn(Millis) -> Vec<Ask>,
    pub(crate) disproof: fn(&Frame<'_>) -> Result<Option<String>, Error>,
}

/// Default delay with which an exchange may add a row: its pages lag behind the socket.
const LATE: i64 = 30_000;

impl Rest {
    /// No endpoints.
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
        proofs: |_| Vec::new(),
        disproof: |_| Ok(None),
    };
}
