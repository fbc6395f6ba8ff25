//! Walking a feed that grows while it is read.
//!
//! The order feed lists the newest row first and is read by offset, so every row that arrives pushes all others to
//! higher offsets. [`Feed`] is the pure half: it says which pages to ask for and lines each one up with the rows that
//! are known. Pages overlap; the overlap, compared as a sequence, tells by how much the feed has moved, and so which
//! rows of a page are new to us. [`Walk`] is the thin half that asks a [`Client`], and keeps the next pages in flight.
//!
//! Positions are counted from the newest row at the first read: row 0 is that row, rows that arrived later have
//! negative positions. After `shift` arrivals the row at position `p` stands at offset `p + shift`.

mod feed;
mod flight;

use super::error::Error;
use super::service::Client;
use crate::api::{BadQuery, Orders};
use crate::model::OrderColumns;

use feed::{FLIGHT, Feed, LARGEST, Lost, Taken};
use flight::Flight;

/// A walk through the order feed from the newest row to the oldest, exact while the feed grows.
///
/// Nothing that was in the feed at the start is lost and nothing comes twice; rows that look the same but are two
/// orders stay two.
#[derive(Debug)]
pub struct Walk {
    client: Client,
    first: Orders,
    feed: Feed,
    flight: Flight,
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
            feed: Feed::new(page, wanted),
            flight: Flight::new(),
        })
    }

    /// The next rows, at least one; none at the end.
    ///
    /// Pages are asked for ahead: it needs a runtime that lives on between calls. May be dropped while it waits and
    /// called again: no row is lost.
    ///
    /// # Errors
    ///
    /// [`Error`] of the page that failed, and [`Error::UnexpectedReply`] where a run of equal rows is longer than a
    /// page or the feed moves faster than it can be read.
    pub async fn next(&mut self) -> Result<Option<OrderColumns>, Error> {
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
