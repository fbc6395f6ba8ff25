//! Reading which markets a venue has: at the start, every hour, and soon after an unknown one turned up.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::time::{Instant, sleep, sleep_until};

use crate::archive::RawLine;
use crate::collect::intake::raw_frames::{keep_markets, market_page};
use crate::collect::lock::locked;
use crate::collect::reference_data::instrument_cache;
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::{millis, span};
use crate::collect::venue_tasks::{Failure, VenueTasks};
use crate::feeds::{Ask, Error, Instruments, Listing, Page, Quoted};
use crate::model::Millis;

impl VenueTasks {
    /// All markets as a process before knew them last, the first time that is asked; absent where one of its lists is.
    pub(crate) fn take_known_before(&self) -> Option<Markets> {
        let is_first = !std::mem::replace(&mut *locked(&self.is_compared), true);
        let is_whole = is_first && self.recalled.iter().all(Option::is_some);
        is_whole.then(|| self.known_before())
    }

    /// The markets as a process before knew them last.
    fn known_before(&self) -> Markets {
        let lists = self.recalled.len();
        Markets::of(vec![None; lists], vec![None; lists]).recalling(&self.recalled)
    }

    /// Keeps the lists, once it is written down what is new in them.
    pub(crate) fn keep_lists(&self, markets: &Markets) {
        let kept = instrument_cache::keep(
            &self.context.delivery.archive,
            self.context.venue,
            |place| markets.list(place),
        );
        if let Err(fault) = kept {
            self.context
                .trouble(format!("the lists of markets cannot be kept: {fault}"));
        }
    }

    /// Reads the markets, list by list. A list of which a page cannot be read stays as it was, whole, and costs the others
    /// nothing; gives why, where that happened. Nor does a list that is told as empty, or as not there, end the listening to
    /// what it had: that is believed once it has been told for long enough.
    async fn read_markets(&self) -> Result<Option<Failure>, Failure> {
        let known = self.context.markets.load_full();
        let (mut lists, mut read_at) = (known.lists.clone(), known.read.clone());
        let mut doubts = known.doubts.clone();
        let (mut told, mut gone) = (Vec::new(), None);
        let mut failed = None;
        let after = millis(self.context.settings.pace.gone);
        for (place, ask) in self
            .context
            .venue
            .listing_requests()
            .into_iter()
            .enumerate()
        {
            let asked = self.context.clock.now();
            let listed = known.lists.get(place).and_then(Option::as_ref);
            let recalled = self.recalled.get(place).and_then(Option::as_ref);
            let before = listed.or(recalled.map(|list| &list.listings));
            let was_listed = before.is_some_and(|list| !list.is_empty());
            let read = match self.read_list(place, ask).await {
                Ok((listings, prices, pages)) if !(was_listed && listings.is_empty()) => {
                    doubts.remove(&place);
                    told.push((asked, prices));
                    if listed != Some(&listings) {
                        keep_markets(&self.context, place, pages);
                    }
                    Some(listings)
                }
                other => {
                    let fault = other.err().unwrap_or(Failure::NoMarkets);
                    let has_none = listed.is_some_and(Vec::is_empty);
                    let is_absent = fault.is_absence();
                    let doubt = (is_absent && !has_none).then(|| doubts.entry(place).or_default());
                    let believed = doubt.and_then(|doubt| doubt.is_believed(asked, after));
                    if let Some(since) = believed {
                        self.context
                            .trouble(format!("some markets are gone: {fault}"));
                        gone = Some(gone.map_or(since, |gone: Millis| gone.min(since)));
                        doubts.remove(&place);
                        Some(Vec::new())
                    } else if is_absent && has_none {
                        Some(Vec::new())
                    } else {
                        failed = Some(fault);
                        None
                    }
                }
            };
            let is_read = read.as_ref().map(|_| asked);
            match read_at.get_mut(place) {
                Some(at) => *at = is_read.or(*at),
                None => read_at.push(is_read),
            }
            match (lists.get_mut(place), read) {
                (Some(list), Some(read)) => *list = Some(read),
                (None, read) => lists.push(read),
                (Some(_), None) => {}
            }
        }
        let mut markets = Markets::of(lists, read_at).recalling(&self.recalled);
        if markets.listings.is_empty() {
            return Err(failed.unwrap_or(Failure::NoMarkets));
        }
        let before = self.topics();
        let at = self.context.clock.now();
        // Those of a process before may stand there by now.
        let known = self.context.markets.load_full();
        markets = markets.closing(&known, at).priced(&known, told);
        markets.doubts = doubts;
        self.publish(markets);
        if let Some(since) = gone {
            self.note_unlisted(before, since);
        }
        Ok(failed)
    }

    /// The same; where that takes longer than one answer may, the markets as a process before knew them stand in meanwhile:
    /// an exchange may want to be left alone for long.
    async fn read_or_recall_markets(&self) -> Result<Option<Failure>, Failure> {
        let reading = self.read_markets();
        tokio::pin!(reading);
        tokio::select! {
            read = &mut reading => return read,
            () = sleep(span(self.context.settings.pace.request)) => {}
        }
        let before_us = self.known_before();
        let is_needed = !*self.known.borrow() && !before_us.listings.is_empty();
        if let Some(at) = before_us.recalled_as_of().filter(|_| is_needed) {
            self.publish(before_us);
            self.context.trouble(format!(
                "the markets are not told yet; those of {at} stand in for them"
            ));
        }
        reading.await
    }

    /// Lets everybody go by these markets.
    fn publish(&self, markets: Markets) {
        let is_partial = markets.lists.iter().any(Option::is_none);
        {
            let mut notes = self.context.board.notes();
            notes.unplanned |= notes.unlisted && !is_partial && !self.context.venue.is_polled();
            notes.unlisted = is_partial;
            notes.status.markets_as_of = markets.recalled_as_of();
        }
        self.context.markets.store(Arc::new(markets));
        self.known.send_replace(true);
    }

    /// The topics that the markets ask for.
    fn topics(&self) -> BTreeSet<String> {
        let lines = self.context.venue.lines(&self.context.wanted());
        lines
            .iter()
            .flat_map(|line| line.topics().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Writes down that topics whose list is believed to be gone may have been told of since that was told first.
    fn note_unlisted(&self, before: BTreeSet<String>, since: Millis) {
        let after = self.topics();
        let reason = "its list of markets is told as empty or as not there";
        let lost = before.into_iter().filter(|topic| !after.contains(topic));
        let lost: BTreeMap<_, _> = lost
            .map(|topic| (topic, (since, reason.to_owned())))
            .collect();
        if !lost.is_empty() {
            self.intake
                .coverage
                .topic_gaps(&lost, self.context.clock.now());
        }
    }

    /// Reads one list of markets, page by page; gives the prices in it and the pages, too, where they are kept.
    async fn read_list(
        &self,
        place: usize,
        ask: Ask,
    ) -> Result<(Vec<Listing>, Vec<Quoted>, Vec<RawLine>), Failure> {
        let (mut listings, mut prices) = (Vec::new(), Vec::new());
        let mut pages = Vec::new();
        let mut asks = VecDeque::from([ask]);
        while let Some(ask) = asks.pop_front() {
            let body = self.rest.get(&ask).await?;
            let page = self.read_listings(&ask, &body)?;
            if self.context.venue.lists_prices() {
                prices.extend(self.prices_in(&body)?);
            }
            pages.extend(market_page(&self.context, place, pages.len(), &ask, &body));
            listings.extend(page.rows);
            asks.extend(page.rest);
        }
        Ok((listings, prices, pages))
    }

    /// Reads the prices of the markets, where they are asked for by themselves. Orders can be kept without them, so what
    /// cannot be read is said and no more.
    async fn read_prices(&self) {
        for ask in self.context.venue.price_requests() {
            let asked = self.context.clock.now();
            let read = self.rest.get(&ask).await.map_err(Failure::from);
            match read.and_then(|body| Ok(self.prices_in(&body)?)) {
                Ok(prices) => {
                    let known = self.context.markets.load_full();
                    let markets = (*known).clone().priced(&known, [(asked, prices)]);
                    self.context.markets.store(Arc::new(markets));
                }
                Err(fault) => self
                    .context
                    .trouble(format!("the prices cannot be read: {fault}")),
            }
        }
    }

    /// The same of a venue of which no list of markets is read, at the start and every hour.
    async fn run_price_refresh(&self) {
        while !self.context.venue.price_requests().is_empty() {
            self.read_prices().await;
            sleep(span(self.context.settings.pace.instruments)).await;
        }
    }

    fn prices_in(&self, body: &str) -> Result<Vec<Quoted>, Error> {
        let none = Instruments::default();
        let venue = self.context.venue;
        venue.read_prices(&venue.frame(body, None, &none))
    }

    fn read_listings(&self, ask: &Ask, body: &str) -> Result<Page<Listing>, Error> {
        let faults = RefCell::new(Vec::new());
        let none = Instruments::default();
        let venue = self.context.venue;
        let page = venue.read_listings(ask, &venue.frame(body, None, &none).keeping(&faults))?;
        // Options and other kinds of contract stand in these lists as well; what a market lacks shows when a row needs it.
        for fault in faults.take() {
            log::debug!(target: "liqdata::feeds", "{}: a market is passed over: {fault}", self.context.name());
        }
        Ok(page)
    }

    /// Reads the markets until all of them are known, or three times where only the past is asked for. What is known is
    /// listened to meanwhile.
    pub(crate) async fn read_markets_until_known(&self) {
        if self.context.venue.listing_requests().is_empty() {
            return;
        }
        let mut backoff = self.context.settings.pace.backoff();
        let mut attempts = 0;
        loop {
            let fault = match self.read_or_recall_markets().await {
                Ok(None) => return,
                Ok(Some(fault)) if !self.context.board.notes().unlisted => {
                    return self
                        .context
                        .trouble(format!("some markets cannot be read: {fault}"));
                }
                Ok(Some(fault)) | Err(fault) => fault,
            };
            let as_of = self.context.board.notes().status.markets_as_of;
            let instead = as_of.map_or_else(String::new, |at| {
                format!("; those of {at} stand in for them")
            });
            self.context
                .trouble(format!("the markets cannot be read: {fault}{instead}"));
            attempts += 1;
            if self.once && attempts >= 3 {
                return;
            }
            // What waits for a market that is known by now is not held up by one that is not.
            self.intake.retry_pending().await;
            sleep(backoff.next()).await;
        }
    }

    /// Reads the markets at the start, every hour, and soon after an unknown one turned up; their prices, where these are
    /// asked for by themselves, at the start and every hour.
    pub(crate) async fn run_market_refresh(&self) {
        if self.context.venue.listing_requests().is_empty() {
            return self.run_price_refresh().await;
        }
        self.read_markets_until_known().await;
        let pace = &self.context.settings.pace;
        let mut priced: Option<Instant> = None;
        loop {
            if priced.is_none_or(|at| at.elapsed() >= span(pace.instruments)) {
                priced = Some(Instant::now());
                self.read_prices().await;
            }
            self.intake.retry_pending().await;
            let read = Instant::now();
            // A market may be traded before it is listed, so it is looked for as long as rows wait for it.
            let seconds = match self.intake.pending.len() {
                0 => pace.instruments,
                _ => pace.instruments.min(pace.instruments_least),
            };
            tokio::select! {
                () = sleep(span(seconds)) => {}
                () = self.intake.pending.added() => {
                    sleep_until(read + span(pace.instruments_least)).await;
                }
            }
            self.read_markets_until_known().await;
        }
    }
}
