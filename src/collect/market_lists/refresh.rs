//! Refresh of the market lists: at the start, every hour, and soon after an event of an unknown market.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::time::{Instant, sleep, sleep_until};

use crate::archive::RawLine;
use crate::collect::intake::raw_frames::{keep_markets, market_page};
use crate::collect::lock::locked;
use crate::collect::reference_data::instrument_cache;
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::settings::{millis, span};
use crate::collect::venue_tasks::{RequestFailure, VenueTasks};
use crate::feeds::{Error, Instruments, LastPrice, Listing, RestPage, RestRequest};
use crate::model::Millis;

impl VenueTasks {
    /// On the first call, returns the cached markets of an earlier process. `None` on later calls, or if a list is
    /// missing.
    pub(crate) fn take_cached_markets(&self) -> Option<Markets> {
        let is_first = !std::mem::replace(&mut *locked(&self.is_compared), true);
        let is_whole = is_first && self.cached_lists.iter().all(Option::is_some);
        is_whole.then(|| self.cached_markets())
    }

    /// The cached markets of an earlier process.
    fn cached_markets(&self) -> Markets {
        let lists = self.cached_lists.len();
        Markets::of(vec![None; lists], vec![None; lists]).with_cached(&self.cached_lists)
    }

    /// Stores the lists for the next process, once the gaps of new markets are recorded.
    pub(crate) fn store_lists(&self, markets: &Markets) {
        let stored = instrument_cache::store(
            &self.context.delivery.archive,
            self.context.venue,
            |index| markets.list(index),
        );
        if let Err(fault) = stored {
            self.context
                .trouble(format!("the market lists cannot be stored: {fault}"));
        }
    }

    /// Reads all market lists; returns the error of a list that could not be read.
    ///
    /// A list that could not be read stays unchanged and does not affect the other lists. A list that is reported as
    /// empty or missing also stays unchanged until `delist` seconds of such reports have passed.
    async fn read_markets(&self) -> Result<Option<RequestFailure>, RequestFailure> {
        let known = self.context.markets.load_full();
        let (mut lists, mut read_at) = (known.lists.clone(), known.read.clone());
        let mut empty_lists = known.empty_lists.clone();
        let (mut prices_read, mut gone) = (Vec::new(), None);
        let mut failed = None;
        let after = millis(self.context.settings.pace.delist);
        for (index, request) in self
            .context
            .venue
            .listing_requests()
            .into_iter()
            .enumerate()
        {
            let requested_at = self.context.clock.now();
            let listed = known.lists.get(index).and_then(Option::as_ref);
            let cached = self.cached_lists.get(index).and_then(Option::as_ref);
            let before = listed.or(cached.map(|list| &list.listings));
            let was_listed = before.is_some_and(|list| !list.is_empty());
            let read = match self.read_list(index, request).await {
                Ok((listings, prices, pages)) if !(was_listed && listings.is_empty()) => {
                    empty_lists.remove(&index);
                    prices_read.push((requested_at, prices));
                    if listed != Some(&listings) {
                        keep_markets(&self.context, index, pages);
                    }
                    Some(listings)
                }
                other => {
                    let fault = other.err().unwrap_or(RequestFailure::NoMarkets);
                    let has_none = listed.is_some_and(Vec::is_empty);
                    let is_absent = fault.is_absence();
                    let check =
                        (is_absent && !has_none).then(|| empty_lists.entry(index).or_default());
                    let confirmed = check.and_then(|check| check.confirm(requested_at, after));
                    if let Some(since) = confirmed {
                        self.context
                            .trouble(format!("some markets were delisted: {fault}"));
                        gone = Some(gone.map_or(since, |gone: Millis| gone.min(since)));
                        empty_lists.remove(&index);
                        Some(Vec::new())
                    } else if is_absent && has_none {
                        Some(Vec::new())
                    } else {
                        failed = Some(fault);
                        None
                    }
                }
            };
            let is_read = read.as_ref().map(|_| requested_at);
            match read_at.get_mut(index) {
                Some(at) => *at = is_read.or(*at),
                None => read_at.push(is_read),
            }
            match (lists.get_mut(index), read) {
                (Some(list), Some(read)) => *list = Some(read),
                (None, read) => lists.push(read),
                (Some(_), None) => {}
            }
        }
        let mut markets = Markets::of(lists, read_at).with_cached(&self.cached_lists);
        if markets.listings.is_empty() {
            return Err(failed.unwrap_or(RequestFailure::NoMarkets));
        }
        let before = self.topics();
        let at = self.context.clock.now();
        // Loads the current markets again, because cached lists may have been published during the requests.
        let known = self.context.markets.load_full();
        markets = markets
            .with_closed(&known, at)
            .with_prices(&known, prices_read);
        markets.empty_lists = empty_lists;
        self.publish(markets);
        if let Some(since) = gone {
            self.record_delisted(before, since);
        }
        Ok(failed)
    }

    /// Reads all market lists. If this takes longer than the time limit of a request, the cached lists are used until
    /// then, because a cooldown may last for days.
    async fn read_markets_or_cache(&self) -> Result<Option<RequestFailure>, RequestFailure> {
        let reading = self.read_markets();
        tokio::pin!(reading);
        tokio::select! {
            read = &mut reading => return read,
            () = sleep(span(self.context.settings.pace.request)) => {}
        }
        let cached = self.cached_markets();
        let is_needed = !*self.known.borrow() && !cached.listings.is_empty();
        if let Some(at) = cached.cached_as_of().filter(|_| is_needed) {
            self.publish(cached);
            self.context.trouble(format!(
                "the markets cannot be read yet; the list of {at} is used instead"
            ));
        }
        reading.await
    }

    /// Makes `markets` the current markets of all tasks.
    fn publish(&self, markets: Markets) {
        let is_partial = markets.lists.iter().any(Option::is_none);
        {
            let mut notes = self.context.board.notes();
            notes.unplanned |= notes.unlisted && !is_partial && !self.context.venue.is_polled();
            notes.unlisted = is_partial;
            notes.status.markets_as_of = markets.cached_as_of();
        }
        self.context.markets.store(Arc::new(markets));
        self.known.send_replace(true);
    }

    /// The topics that the current markets require.
    fn topics(&self) -> BTreeSet<String> {
        let lines = self.context.venue.lines(&self.context.wanted());
        lines
            .iter()
            .flat_map(|plan| plan.topics().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Records gaps of delisted topics. Each gap starts when the topic's list was first reported as empty or missing.
    fn record_delisted(&self, before: BTreeSet<String>, since: Millis) {
        let after = self.topics();
        let reason = "the exchange reports the market list of this topic as empty or missing";
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

    /// Reads one market list page by page. Returns its markets and prices, and its raw pages if raw frames are stored.
    async fn read_list(
        &self,
        index: usize,
        request: RestRequest,
    ) -> Result<(Vec<Listing>, Vec<LastPrice>, Vec<RawLine>), RequestFailure> {
        let (mut listings, mut prices) = (Vec::new(), Vec::new());
        let mut pages = Vec::new();
        let mut requests = VecDeque::from([request]);
        while let Some(request) = requests.pop_front() {
            let body = self.rest.get(&request).await?;
            let page = self.read_listings(&request, &body)?;
            if self.context.venue.lists_prices() {
                prices.extend(self.prices_in(&body)?);
            }
            pages.extend(market_page(
                &self.context,
                index,
                pages.len(),
                &request,
                &body,
            ));
            listings.extend(page.rows);
            requests.extend(page.rest);
        }
        Ok((listings, prices, pages))
    }

    /// Reads the prices of the markets, if the exchange has requests for them. Errors are only logged, because orders
    /// can be stored without prices.
    async fn read_prices(&self) {
        for request in self.context.venue.price_requests() {
            let requested_at = self.context.clock.now();
            let read = self.rest.get(&request).await.map_err(RequestFailure::from);
            match read.and_then(|body| Ok(self.prices_in(&body)?)) {
                Ok(prices) => {
                    let known = self.context.markets.load_full();
                    let markets = (*known)
                        .clone()
                        .with_prices(&known, [(requested_at, prices)]);
                    self.context.markets.store(Arc::new(markets));
                }
                Err(fault) => self
                    .context
                    .trouble(format!("the prices cannot be read: {fault}")),
            }
        }
    }

    /// Reads the prices of an exchange without market lists, at the start and every hour.
    async fn run_price_refresh(&self) {
        while !self.context.venue.price_requests().is_empty() {
            self.read_prices().await;
            sleep(span(self.context.settings.pace.instruments)).await;
        }
    }

    fn prices_in(&self, body: &str) -> Result<Vec<LastPrice>, Error> {
        let none = Instruments::default();
        let venue = self.context.venue;
        venue.read_prices(&venue.frame(body, None, &none))
    }

    fn read_listings(&self, request: &RestRequest, body: &str) -> Result<RestPage<Listing>, Error> {
        let faults = RefCell::new(Vec::new());
        let none = Instruments::default();
        let venue = self.context.venue;
        let page =
            venue.read_listings(request, &venue.frame(body, None, &none).keeping(&faults))?;
        // Faults are only logged, because the lists also contain options and other contracts. If a needed market is
        // missing, its first row shows that.
        for fault in faults.take() {
            log::debug!(target: "liqdata::feeds", "{}: a market is skipped: {fault}", self.context.name());
        }
        Ok(page)
    }

    /// Reads the market lists until all were read; without live collection, at most three times. Markets that are
    /// already known are collected in the meantime.
    pub(crate) async fn read_markets_until_known(&self) {
        if self.context.venue.listing_requests().is_empty() {
            return;
        }
        let mut backoff = self.context.settings.pace.backoff();
        let mut attempts = 0;
        loop {
            let fault = match self.read_markets_or_cache().await {
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
                format!("; the list of {at} is used instead")
            });
            self.context
                .trouble(format!("the markets cannot be read: {fault}{instead}"));
            attempts += 1;
            if self.once && attempts >= 3 {
                return;
            }
            // Rows that wait for a market are retried, because the market may be known by now.
            self.intake.retry_pending().await;
            sleep(backoff.next()).await;
        }
    }

    /// Reads the markets at the start, every hour, and soon after an event of an unknown market. Reads prices every
    /// hour.
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
            // A market may trade before it is listed, so the lists are read more often while rows wait for a market.
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
