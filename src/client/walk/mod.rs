//! Walks over a list of orders that grows while it is read.
//!
//! The order feed of a service lists the newest row first, and clients read it by offset. Every new row (an *arrival*)
//! increases the offsets of all older rows by one.
//!
//! [`GrowingFeed`] performs no I/O. It decides which pages to request, and finds the position of each page among the
//! rows that are already known. For that purpose, pages overlap. The overlap, compared as a sequence of rows, shows how
//! many rows have arrived and which rows of the page are new to the walk. [`Walk`] sends the requests through a
//! [`Client`]. It requests pages before they are needed.
//!
//! Positions of a walk count from the newest row of the first page. That row has position 0, and rows that arrive later
//! have negative positions. After `shift` arrivals, the row at position `p` has offset `p + shift`.
//!
//! A feed contains only the orders of the last 24 hours. [`Behind`] requests older rows by time range, if the service
//! announces that extension. It performs no I/O either.

pub(super) mod by_time;
mod feed;
pub(super) mod in_flight;

use std::sync::{Arc, OnceLock};

use super::error::Error;
use crate::client::call::attempts::Remarks;
use crate::client::client::Client;
use crate::client::extensions::parameters::ExtraParameters;
use crate::contract::{BadQuery, Endpoint, Extension, Orders};
use crate::model::{Millis, OrderColumns, TimeBound, TimeUnit};

use by_time::{Behind, Oldest};
use feed::{FLIGHT, FeedWalkError, GrowingFeed, LARGEST, PageOutcome};
use in_flight::Flight;

/// The time range of a walk. By default, it covers the feed and all older rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkBounds {
    /// Only orders from this instant on.
    pub start: Option<Millis>,
    /// Only orders before this instant.
    pub end: Option<Millis>,
    /// Only orders that were received at or before this instant.
    pub as_of: Option<Millis>,
}

/// How a walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The walk returned all requested rows.
    Complete,
    /// Older rows may exist that the walk could not request, for this reason.
    Incomplete(String),
}

/// The phase of a walk.
#[derive(Debug)]
enum Stage {
    /// The walk reads the feed, by offset.
    Feed,
    /// The walk requests rows by time range, because they are older than the feed or the walk has bounds.
    Behind(Behind),
    Ended,
}

/// Walks over orders from newest to oldest, while the feed grows.
///
/// Every row that exists at the start is returned exactly once. Two equal orders are returned as two rows. Rows older
/// than the feed are requested by time range, if the service announces that extension.
#[derive(Debug)]
pub struct Walk {
    client: Client,
    first: Orders,
    page: usize,
    /// Number of rows that the walk may still return.
    wanted: u64,
    bounds: WalkBounds,
    stage: Stage,
    feed: GrowingFeed,
    flight: Flight,
    oldest: Oldest,
    end: Arc<OnceLock<End>>,
    time_unit: Arc<OnceLock<TimeUnit>>,
}

impl Walk {
    /// Creates a walk over all rows of `symbol` and `exchange`, or over the newest `max_rows` of them.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a `page_size` outside 1 to 1000, a `max_rows` below 1, or an unknown symbol or exchange.
    pub fn new(
        client: Client,
        symbol: Option<&str>,
        exchange: Option<&str>,
        page_size: i128,
        max_rows: Option<i128>,
    ) -> Result<Self, BadQuery> {
        let orders = Orders::new(symbol, exchange, 1, 0)?;
        Self::over(client, orders, page_size, max_rows)
    }

    /// Creates a walk over all rows that `orders` selects, or over the newest `max_rows` of them. Limit and offset of
    /// `orders` are ignored.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a `page_size` outside 1 to 1000 and a `max_rows` below 1.
    pub fn over(
        client: Client,
        orders: Orders,
        page_size: i128,
        max_rows: Option<i128>,
    ) -> Result<Self, BadQuery> {
        let page = usize::try_from(page_size)
            .ok()
            .filter(|page| (1..=LARGEST).contains(page))
            .ok_or_else(|| {
                BadQuery::new(
                    "page_size",
                    format!("{page_size} is out of bounds"),
                    "a whole number from 1 to 1000",
                )
            })?;
        let wanted = match max_rows {
            None => u64::MAX,
            Some(rows) if rows >= 1 => u64::try_from(rows).unwrap_or(u64::MAX),
            Some(rows) => {
                return Err(BadQuery::new(
                    "max_rows",
                    format!("{rows} is out of bounds"),
                    "a whole number of at least 1, or none for all rows",
                ));
            }
        };
        Ok(Self {
            client,
            first: orders,
            page,
            wanted,
            bounds: WalkBounds::default(),
            stage: Stage::Feed,
            feed: GrowingFeed::new(page, wanted),
            flight: Flight::new(),
            oldest: Oldest::default(),
            end: Arc::default(),
            time_unit: Arc::default(),
        })
    }

    /// Restricts the walk to `bounds`. Call it before the first page.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] if the end is not after the start.
    pub fn within(mut self, bounds: WalkBounds) -> Result<Self, BadQuery> {
        if bounds == WalkBounds::default() {
            return Ok(self);
        }
        let WalkBounds { start, end, .. } = bounds;
        if let (Some(start), Some(end)) = (start, end)
            && end <= start
        {
            let message = format!("{end} is not after the start, {start}");
            return Err(BadQuery::new("end", message, "a later instant"));
        }
        self.bounds = bounds;
        self.stage = Stage::Behind(Behind::new(self.page, self.wanted, (start, end)));
        Ok(self)
    }

    /// Contains how the walk ended, once it has ended.
    #[must_use]
    pub fn end(&self) -> Arc<OnceLock<End>> {
        Arc::clone(&self.end)
    }

    /// Contains the unit of the service's instants, once a page had another unit than milliseconds. The instants of the
    /// rows are converted.
    #[must_use]
    pub fn time_unit(&self) -> Arc<OnceLock<TimeUnit>> {
        Arc::clone(&self.time_unit)
    }

    /// Waits for the next rows. Returns at least one row, or `None` at the end.
    ///
    /// Needs a Tokio runtime that exists between calls, because pages are requested ahead. Cancel-safe: no row is lost.
    ///
    /// # Errors
    ///
    /// [`Error`] of the failed page; [`Error::UnexpectedReply`] if a sequence of equal rows is longer than a page, if
    /// an instant has more rows than a page, or if rows arrive faster than pages can be read; [`Error::BadQuery`] if
    /// the service does not announce queries by time range.
    pub async fn next(&mut self) -> Result<Option<OrderColumns>, Error> {
        loop {
            let found = match &mut self.stage {
                Stage::Feed => self.of_feed().await?,
                Stage::Behind(_) => self.of_behind().await?,
                Stage::Ended => return Ok(None),
            };
            let Some(fresh) = found else { continue };
            self.wanted = self.wanted.saturating_sub(fresh.len() as u64);
            return Ok(Some(fresh));
        }
    }

    /// Marks the walk as ended.
    fn ends(&mut self, end: End) {
        // `set` fails after the first call, so the first end is the one reported.
        let _ = self.end.set(end);
        self.stage = Stage::Ended;
    }

    /// Ends the walk as incomplete, because the service cannot return older rows.
    fn is_all_there_is(&mut self, reason: &str) {
        let service = self.client.config().service_name();
        self.ends(End::Incomplete(format!(
            "the feed of {service} contains only the last 24 hours, and older orders cannot be requested: {reason}"
        )));
    }

    /// Returns the next rows of the feed. At the end of the feed, returns `None` and prepares the walk by time range.
    async fn of_feed(&mut self) -> Result<Option<OrderColumns>, Error> {
        if let Some(fresh) = self.next_of_feed().await? {
            self.oldest.note(&fresh);
            return Ok(Some(fresh));
        }
        if self.wanted == 0 {
            self.ends(End::Complete);
            return Ok(None);
        }
        let bounds = ["start", "end"].map(Extension::parameter);
        match self.client.takes(Orders::NAME, &bounds).await {
            Ok(true) => {
                let oldest = std::mem::take(&mut self.oldest);
                self.stage = Stage::Behind(Behind::after(self.page, self.wanted, oldest));
            }
            Ok(false) => {
                self.is_all_there_is(
                    "it does not announce the parameters start and end for orders",
                );
            }
            // A client error for `GET /api` means that the service has no list of extensions.
            Err(Error::Refused {
                status: status @ (300..=400 | 402..=499),
                ..
            }) => self.is_all_there_is(&format!("it answers {status} to GET /api")),
            Err(error) => return Err(self.client.config().secrets().redact(error)),
        }
        Ok(None)
    }

    /// Returns the next rows by time range. `None` at the end.
    async fn of_behind(&mut self) -> Result<Option<OrderColumns>, Error> {
        let Stage::Behind(behind) = &mut self.stage else {
            return Ok(None);
        };
        let Some(ask) = behind.ask() else {
            self.ends(End::Complete);
            return Ok(None);
        };
        let question = Orders {
            limit: u16::try_from(ask.limit).unwrap_or(Orders::MAX),
            start: ask.start.map(TimeBound::At),
            end: ask.end.map(TimeBound::At),
            ..self.first.clone()
        };
        let extra = ExtraParameters {
            as_of: self.bounds.as_of,
            ..ExtraParameters::default()
        };
        let fetched = self.client.fetch_with(&question, extra).await;
        match fetched {
            Ok((page, remarks)) => {
                note(&self.time_unit, &remarks);
                let fresh = behind.take(ask, &page)?;
                Ok((!fresh.is_empty()).then_some(fresh))
            }
            // A server may announce queries by time range but refuse them, because it answers no historical queries.
            Err(error @ (Error::BadQuery(_) | Error::Refused { status: 400, .. }))
                if self.bounds == WalkBounds::default() =>
            {
                self.ends(End::Incomplete(error.to_string()));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn next_of_feed(&mut self) -> Result<Option<OrderColumns>, Error> {
        self.flight.forget_after_fork();
        let mut fresh = OrderColumns::default();
        let mut pages = 0;
        // Waits only for the oldest requested page. Further pages are used if they have already arrived.
        while pages < FLIGHT {
            if self.flight.is_stray() {
                if !fresh.is_empty() {
                    break;
                }
                self.flight.settle().await;
            }
            let landed = match self.ask() {
                Ok(()) if fresh.is_empty() => self.flight.first().await,
                Ok(()) => self.flight.arrived(),
                Err(_) if !fresh.is_empty() => break,
                Err(lost) => return Err(lost.into()),
            };
            let Some((ask, page)) = landed else { break };
            let taken = page.and_then(|page| Ok((self.feed.take(&ask, &page)?, page)));
            match taken {
                Ok((PageOutcome::Rows(rows), page)) => {
                    fresh.append(&page, rows);
                    pages += usize::from(!fresh.is_empty());
                }
                Ok((PageOutcome::Astray, _)) => self.flight.give_up(),
                Err(error) => {
                    self.flight.give_up();
                    if fresh.is_empty() {
                        return Err(error);
                    }
                    // The rows read so far are returned. If the failure persists, the next call returns the error.
                    break;
                }
            }
        }
        Ok((!fresh.is_empty()).then_some(fresh))
    }

    /// Requests further pages, up to the maximum number in flight.
    fn ask(&mut self) -> Result<(), FeedWalkError> {
        while let Some(ask) = self.feed.ask(self.flight.len(), self.flight.last())? {
            let question = Orders {
                limit: u16::try_from(ask.limit).unwrap_or(Orders::MAX),
                offset: ask.offset,
                ..self.first.clone()
            };
            let client = self.client.clone();
            let time_unit = self.time_unit();
            self.flight.send(ask, async move {
                let (page, remarks) = client.fetch(&question).await?;
                note(&time_unit, &remarks);
                Ok(page)
            });
        }
        Ok(())
    }
}

/// Stores the unit of a page's instants in `time_unit`, if it is not milliseconds.
fn note(time_unit: &OnceLock<TimeUnit>, remarks: &Remarks) {
    if let Some(unit) = remarks.time_unit {
        // `set` fails if a unit is stored, so the unit of the first such page is reported.
        let _ = time_unit.set(unit);
    }
}
