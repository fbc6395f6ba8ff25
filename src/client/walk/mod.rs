//! Walking a feed that grows while it is read.
//!
//! The order feed lists the newest row first and is read by offset, so every row that arrives pushes all others to
//! higher offsets. [`Feed`] is the pure half: it says which pages to ask for and lines each one up with the rows that
//! are known. Pages overlap; the overlap, compared as a sequence, tells by how much the feed has moved, and so which
//! rows of a page are new to us. [`Walk`] is the thin half that asks a [`Client`], and keeps the next pages in flight.
//!
//! Positions are counted from the newest row at the first read: row 0 is that row, rows that arrived later have
//! negative positions. After `shift` arrivals the row at position `p` stands at offset `p + shift`.
//!
//! A feed holds the last day. [`Behind`] is the pure half of what comes then: the service is asked for what is older, by
//! time, where it announces that it can be.

pub(super) mod by_time;
mod feed;
pub(super) mod in_flight;

use std::sync::{Arc, OnceLock};

use super::error::Error;
use crate::api::{BadQuery, Endpoint, Extension, Orders};
use crate::client::client::Client;
use crate::client::extensions::parameters::Beside;
use crate::model::{Millis, OrderColumns};

use by_time::{Behind, Oldest};
use feed::{FLIGHT, Feed, LARGEST, Lost, Taken};
use in_flight::Flight;

/// Which orders of all times a walk is about; what the feed has and all that is older where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Only orders from then on.
    pub start: Option<Millis>,
    /// Only orders before then.
    pub end: Option<Millis>,
    /// Only orders received by then.
    pub as_of: Option<Millis>,
}

/// How a walk has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All that was asked for has been given.
    Complete,
    /// There may be older rows, for this reason.
    Incomplete(String),
}

/// Where a walk stands.
#[derive(Debug)]
enum Stage {
    /// In the feed.
    Feed,
    /// Behind it, or in a stretch of time.
    Behind(Behind),
    Ended,
}

/// A walk through the orders from the newest row to the oldest, exact while the feed grows.
///
/// Nothing that was there at the start is lost and nothing comes twice; rows that look the same but are two orders stay
/// two. What is older than the feed is asked for by time, where the service announces that it has it.
#[derive(Debug)]
pub struct Walk {
    client: Client,
    first: Orders,
    page: usize,
    /// Rows still to hand out.
    wanted: u64,
    stretch: Stretch,
    stage: Stage,
    feed: Feed,
    flight: Flight,
    oldest: Oldest,
    end: Arc<OnceLock<End>>,
}

impl Walk {
    /// A walk over the rows of `symbol` and `exchange`, all of them or the newest `max_rows`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a `page_size` outside 1 to 1000, a `max_rows` below 1, or a symbol or exchange that is none.
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

    /// A walk over the rows that `orders` asks for, whatever page of them, all of them or the newest `max_rows`.
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
            stretch: Stretch::default(),
            stage: Stage::Feed,
            feed: Feed::new(page, wanted),
            flight: Flight::new(),
            oldest: Oldest::default(),
            end: Arc::default(),
        })
    }

    /// The same walk over the orders of `stretch` alone; to be said before it is begun.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for an end that is not after the start.
    pub fn within(mut self, stretch: Stretch) -> Result<Self, BadQuery> {
        if stretch == Stretch::default() {
            return Ok(self);
        }
        let Stretch { start, end, .. } = stretch;
        if let (Some(start), Some(end)) = (start, end)
            && end <= start
        {
            let message = format!("{end} is not after the start, {start}");
            return Err(BadQuery::new("end", message, "a later instant"));
        }
        self.stretch = stretch;
        self.stage = Stage::Behind(Behind::new(self.page, self.wanted, (start, end)));
        Ok(self)
    }

    /// How the walk has ended, once it has.
    #[must_use]
    pub fn end(&self) -> Arc<OnceLock<End>> {
        Arc::clone(&self.end)
    }

    /// The next rows, at least one; none at the end.
    ///
    /// Pages are asked for ahead: it needs a runtime that lives on between calls. May be dropped while it waits and
    /// called again: no row is lost.
    ///
    /// # Errors
    ///
    /// [`Error`] of the page that failed, [`Error::UnexpectedReply`] where a run of equal rows is longer than a page, one
    /// instant has more rows than a page or the feed moves faster than it can be read, and [`Error::BadQuery`] where the
    /// service does not announce that it can be asked for a stretch.
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

    /// Nothing more comes.
    fn ends(&mut self, end: End) {
        // It ends once.
        let _ = self.end.set(end);
        self.stage = Stage::Ended;
    }

    /// What is older than the feed cannot be asked for.
    fn is_all_there_is(&mut self, reason: &str) {
        let place = self.client.config().place();
        self.ends(End::Incomplete(format!(
            "{place} gives what its feed holds, by the contract the last 24 hours only, and what is older cannot be asked \
             for: {reason}"
        )));
    }

    /// The next rows of the feed; none where it has no more, and the walk is elsewhere then.
    async fn of_feed(&mut self) -> Result<Option<OrderColumns>, Error> {
        if let Some(fresh) = self.next_of_feed().await? {
            self.oldest.note(&fresh);
            return Ok(Some(fresh));
        }
        if self.wanted == 0 {
            self.ends(End::Complete);
            return Ok(None);
        }
        let stretch = ["start", "end"].map(Extension::parameter);
        match self.client.takes(Orders::NAME, &stretch).await {
            Ok(true) => {
                let oldest = std::mem::take(&mut self.oldest);
                self.stage = Stage::Behind(Behind::after(self.page, self.wanted, oldest));
            }
            Ok(false) => self.is_all_there_is("it does not announce start and end of orders"),
            // A service that has no list, whichever way it says so.
            Err(Error::Refused {
                status: status @ (300..=400 | 402..=499),
                ..
            }) => self.is_all_there_is(&format!("it answers {status} to GET /api")),
            Err(error) => return Err(self.client.config().secrets().kept_from(error)),
        }
        Ok(None)
    }

    /// The next rows behind the feed or of a stretch; none at the end.
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
            start: ask.start,
            end: ask.end,
            ..self.first.clone()
        };
        let beside = Beside {
            as_of: self.stretch.as_of,
            ..Beside::default()
        };
        let fetched = self.client.fetch_beside(&question, beside).await;
        match fetched {
            Ok((page, _)) => {
                let fresh = behind.take(ask, &page)?;
                Ok((!fresh.is_empty()).then_some(fresh))
            }
            // It is said to answer that, and does not: such as a server of ours that answers nothing about the past.
            Err(error @ (Error::BadQuery(_) | Error::Refused { status: 400, .. }))
                if self.stretch == Stretch::default() =>
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
        // What has arrived is handed out together; only for the first rows is it waited.
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
                Ok((Taken::Rows(rows), page)) => {
                    fresh.append(&page, rows);
                    pages += usize::from(!fresh.is_empty());
                }
                Ok((Taken::Astray, _)) => self.flight.give_up(),
                Err(error) => {
                    self.flight.give_up();
                    if fresh.is_empty() {
                        return Err(error);
                    }
                    // The rows before it are good; the failure comes again if it lasts.
                    break;
                }
            }
        }
        Ok((!fresh.is_empty()).then_some(fresh))
    }

    /// Sends for as many pages as may be in flight.
    fn ask(&mut self) -> Result<(), Lost> {
        while let Some(ask) = self.feed.ask(self.flight.len(), self.flight.last())? {
            let question = Orders {
                limit: u16::try_from(ask.limit).unwrap_or(Orders::MAX),
                offset: ask.offset,
                ..self.first.clone()
            };
            let client = self.client.clone();
            self.flight.send(ask, async move {
                client.fetch(&question).await.map(|(page, _)| page)
            });
        }
        Ok(())
    }
}
