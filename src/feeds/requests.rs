//! What a venue is asked by REST, as a value.

use std::time::Duration;

use super::ask::{Ask, Bar, Page, Reading, Series, Total};
use super::error::Error;
use super::frame::Frame;
use super::instruments::Listing;
use super::prices::Prices;
use crate::model::Millis;

/// What a venue is asked by REST.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) listings: fn() -> Vec<Ask>,
    pub(super) read_listings: fn(&Ask, &Frame<'_>) -> Result<Page<Listing>, Error>,
    pub(super) prices: Option<Prices>,
    pub(super) look_back: i64,
    pub(super) late: i64,
    pub(super) ban: Option<Duration>,
    pub(super) missed: fn(&[Listing], Millis, Millis) -> Vec<Ask>,
    pub(super) go_on: fn(&Ask, &Frame<'_>) -> Result<Vec<Ask>, Error>,
    pub(super) bars: Option<Series<Bar>>,
    pub(super) open_interest: Option<Series<Reading>>,
    pub(super) totals: Option<Series<Total>>,
    pub(super) proofs: fn(Millis) -> Vec<Ask>,
    pub(super) disproof: fn(&Frame<'_>) -> Result<Option<String>, Error>,
}

/// How late a venue may tell a row that is asked for, where nothing is known of it: its pages are filled behind the socket.
const LATE: i64 = 30_000;

impl Rest {
    /// Nothing.
    pub(super) const NONE: Self = Self {
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
