//! The decoder and connection plan of an exchange, as a value.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rust_decimal::Decimal;

use super::error::Error;
use super::instruments::{Instrument, Instruments, Listing, SizeUnit};
use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Frame, Rules};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::LastPrice;
use crate::feeds::rest::request::{
    HourlyTotal, OpenInterestReading, RestPage, RestRequest, RestSeries, VenueBar,
};
use crate::feeds::websocket::control::{
    ConnectionPlan, FrameKind, Heartbeat, SentSubscriptions, SequenceNumber,
};
use crate::feeds::websocket::socket_plan::{
    ConnectionPlans, KeyAmbiguity, PositionAnnouncement, SocketPlan,
};
use crate::model::{ContractKind, Millis, Symbol};

/// An exchange: its decoder, sockets, REST endpoints and signs of life. No I/O.
#[derive(Debug)]
pub struct Venue {
    pub(crate) rules: Rules,
    pub(crate) price_kinds: &'static [PriceKind],
    pub(crate) hosts: &'static [(&'static str, &'static str)],
    pub(crate) decode: fn(&Frame<'_>) -> Result<Vec<Event>, Error>,
    pub(crate) listen: SocketPlan,
    pub(crate) rest: RestEndpoints,
}

/// The placeholder for a market in a [path](Venue::paths).
pub(crate) const MARKET: &str = "{market}";

impl Venue {
    /// The normalized name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.rules.name
    }

    /// How many of its liquidations it publishes.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.rules.completeness
    }

    /// The meanings of its prices, the usual one first.
    #[must_use]
    pub fn price_kinds(&self) -> &'static [PriceKind] {
        self.price_kinds
    }

    /// The exchange's name of the perpetual contract of `symbol`.
    ///
    /// `None` for a coin, for a contract that is not perpetual, for a builder's market, and if base and quote do not determine the name.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::feeds::venue;
    /// use liqdata::model::Symbol;
    ///
    /// let symbol = Symbol::read("BTCUSDT").unwrap();
    /// assert_eq!(venue("okx")?.native_id(&symbol).as_deref(), Some("BTC-USDT-SWAP"));
    /// # Ok::<(), liqdata::feeds::Error>(())
    /// ```
    #[must_use]
    pub fn native_id(&self, symbol: &Symbol) -> Option<String> {
        let quote = symbol.quote()?;
        let base = symbol.name().strip_suffix(quote)?;
        if symbol.kind() != ContractKind::Perpetual || symbol.namespace().is_some() {
            return None;
        }
        (self.rules.native)(base, quote)
    }

    /// A frame or REST body with its context. An error in one row rejects the whole frame.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::feeds::{Instruments, venue};
    ///
    /// let body = r#"[{"symbol":"BTCUSDT","sumOpenInterest":"20403.637","timestamp":1790000000000}]"#;
    /// let none = Instruments::default();
    /// let binance = venue("binance")?;
    /// let readings = binance.read_open_interest(&binance.frame(body, None, &none))?;
    /// assert_eq!(readings[0].open_interest.to_string(), "20403.637");
    /// # Ok::<(), liqdata::feeds::Error>(())
    /// ```
    #[must_use]
    pub fn frame<'a>(
        &'a self,
        text: &'a str,
        received_at: Option<Millis>,
        instruments: &'a Instruments,
    ) -> Frame<'a> {
        Frame::new(&self.rules, text, received_at, instruments)
    }

    /// Decodes the events of a frame in order; equal rows of one frame get distinct keys.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the exchange does not send such frames.
    pub fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        if is_bare(frame) {
            return Ok(Vec::new());
        }
        let mut events = (self.decode)(frame)?;
        number_equal_rows(&mut events);
        Ok(events)
    }

    /// The reply that the exchange expects, such as the pong to a ping message.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the exchange does not send such frames.
    pub fn answer(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        if is_bare(frame) {
            return Ok(None);
        }
        (self.listen.answer)(frame)
    }

    /// Host names with their addresses; settings may replace each address.
    #[must_use]
    pub fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        self.hosts
    }

    /// Its distinct paths; `{market}` stands for a market.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let kinds = [
            ("USDT", SizeUnit::Linear),
            ("USDC", SizeUnit::Linear),
            ("USD", SizeUnit::Inverse),
        ];
        let of = |(quote, kind), perpetual| Listing {
            native_id: MARKET.to_owned(),
            instrument: Instrument {
                base: "BTC".to_owned(),
                quote: String::from(quote),
                kind,
                contract_size: Decimal::ONE,
            },
            perpetual,
            trading: true,
        };
        let listings: Vec<Listing> = kinds
            .into_iter()
            .flat_map(|kind| [of(kind, true), of(kind, false)])
            .collect();
        let (from, until) = (Millis(0), Millis(60_000));
        let mut asks = self.listing_requests();
        asks.extend(self.price_requests());
        asks.extend(self.proofs(until));
        asks.extend(self.missed(&listings, from, until));
        for listing in &listings {
            asks.extend(self.bar_requests(listing, from, until));
            asks.extend(self.open_interest_requests(listing, from, until));
            asks.extend(self.total_requests(listing, from, until));
        }
        let lines = self.lines(&listings).into_iter().map(|line| line.path);
        let all: BTreeSet<String> = asks.into_iter().map(|ask| ask.path).chain(lines).collect();
        all.into_iter().collect()
    }

    /// Whether the market list is needed before connecting.
    #[must_use]
    pub fn listens_by_market(&self) -> bool {
        matches!(self.listen.lines, ConnectionPlans::ByMarket(_))
    }

    /// Whether it has no channel and is polled.
    #[must_use]
    pub fn is_polled(&self) -> bool {
        matches!(self.listen.lines, ConnectionPlans::Fixed([]))
    }

    /// The connections to open for these markets; none if the exchange is polled.
    #[must_use]
    pub fn lines(&self, listings: &[Listing]) -> Vec<ConnectionPlan> {
        let mut lines = match self.listen.lines {
            ConnectionPlans::Fixed(lines) => lines
                .iter()
                .map(|(name, path, topics)| ConnectionPlan::new(name, path, topics))
                .collect(),
            ConnectionPlans::ByMarket(lines) => lines(listings),
        };
        for line in &mut lines {
            line.headers = self.listen.headers;
        }
        let controlled = |line: ConnectionPlan| {
            let control = (self.listen.steady)(&line.name);
            line.controlled(control)
        };
        lines.into_iter().map(controlled).collect()
    }

    /// Messages to send before any subscription.
    #[must_use]
    pub fn greeting(&self) -> &'static [&'static str] {
        self.listen.greeting
    }

    /// The message that subscribes to `topics` as request `number`.
    #[must_use]
    pub fn subscription(&self, number: usize, topics: &[String], now: Millis) -> String {
        (self.listen.subscription)(number, topics, now)
    }

    /// Classifies a frame without events.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the exchange does not send such frames.
    pub fn control(
        &self,
        frame: &Frame<'_>,
        asked: &SentSubscriptions,
    ) -> Result<FrameKind, Error> {
        if frame.trimmed() == "pong" {
            return Ok(FrameKind::Pong);
        }
        (self.listen.control)(frame, asked)
    }

    /// Whether a frame belongs to the control topic, by its prefix. Its content is not read.
    #[must_use]
    pub fn is_steady(&self, text: &str) -> bool {
        let mut begins = self.listen.steady_frames.iter();
        begins.any(|begin| text.starts_with(begin))
    }

    /// Whether the control topic is always acknowledged, so that a missing acknowledgement means that it does not
    /// exist.
    #[must_use]
    pub fn answers_steady(&self) -> bool {
        self.listen.answers_steady
    }

    /// Whether a frame contains events from before the subscription, possibly much older.
    #[must_use]
    pub fn recalls(&self, frame: &Frame<'_>) -> bool {
        (self.listen.recalls)(frame)
    }

    /// How the keys of its decoded events become the keys of stored rows.
    #[must_use]
    pub fn keyed(&self) -> KeyAmbiguity {
        self.listen.keyed
    }

    /// The positions that a frame announces as liquidated; empty if there are none or if the frame is unreadable.
    #[must_use]
    pub fn announced(&self, frame: &Frame<'_>) -> Vec<PositionAnnouncement> {
        (self.listen.announced)(frame)
    }

    /// The signs of life that the connection needs.
    #[must_use]
    pub fn heartbeat(&self) -> Heartbeat {
        self.listen.heartbeat
    }

    /// Longest lifetime of a socket.
    #[must_use]
    pub fn rotation(&self) -> Option<Duration> {
        self.listen.rotation
    }

    /// Exchanges for comparison: if they report while this one is silent for long, its feed is mute.
    #[must_use]
    pub fn witnesses(&self) -> &'static [&'static str] {
        self.listen.witnesses
    }

    /// Number of redundant sockets: two if gaps cannot be backfilled.
    #[must_use]
    pub fn redundant_connections(&self) -> usize {
        self.listen.redundant_connections
    }

    /// Least time between two subscriptions over all sockets; zero if sockets share no limit.
    #[must_use]
    pub fn between(&self) -> Duration {
        self.listen.between
    }

    /// How late a sequence number may arrive after later ones; `None` if there are no sequence numbers.
    #[must_use]
    pub fn numbers_late(&self) -> Option<Duration> {
        self.listen.numbers.map(|numbers| numbers.late)
    }

    /// The sequence numbers in a frame. A missing number is a gap.
    #[must_use]
    pub fn numbers(&self, frame: &Frame<'_>) -> Vec<SequenceNumber> {
        match self.listen.numbers {
            Some(numbers) if !is_bare(frame) => (numbers.read)(frame),
            _ => Vec::new(),
        }
    }

    /// The requests for its market list.
    #[must_use]
    pub fn listing_requests(&self) -> Vec<RestRequest> {
        (self.rest.listings)()
    }

    /// The markets in a reply to a [listing request](Self::listing_requests).
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape.
    pub fn read_listings(
        &self,
        ask: &RestRequest,
        frame: &Frame<'_>,
    ) -> Result<RestPage<Listing>, Error> {
        (self.rest.read_listings)(ask, frame)
    }

    /// The requests for last prices; empty if the [market lists](Self::listing_requests) contain them or there are
    /// none.
    #[must_use]
    pub fn price_requests(&self) -> Vec<RestRequest> {
        let prices = self.rest.prices.as_ref();
        prices.map_or_else(Vec::new, |prices| (prices.asks)())
    }

    /// Whether market lists contain last prices.
    #[must_use]
    pub fn lists_prices(&self) -> bool {
        self.rest.prices.is_some() && self.price_requests().is_empty()
    }

    /// The last prices in a reply to a [price request](Self::price_requests), or in a market list. Markets without a
    /// price are omitted.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape.
    pub fn read_prices(&self, frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
        let prices = self.rest.prices.as_ref();
        prices.map_or_else(|| Err(frame.unknown()), |prices| (prices.read)(frame))
    }

    /// Requests that verify the side convention, at the start and every hour; empty if it is certain.
    #[must_use]
    pub fn proofs(&self, now: Millis) -> Vec<RestRequest> {
        (self.rest.proofs)(now)
    }

    /// The contradiction between a reply to a [proof](Self::proofs) and the side convention, if any. Events must not
    /// be stored then.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape, which proves nothing.
    pub fn disproof(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        (self.rest.disproof)(frame)
    }

    /// How far back liquidations can be requested, in milliseconds; 0 if they cannot.
    #[must_use]
    pub fn look_back(&self) -> i64 {
        self.rest.look_back
    }

    /// How long it bans a client that exceeds the rate limit with 403, if documented and not in the reply.
    #[must_use]
    pub fn ban(&self) -> Option<Duration> {
        self.rest.ban
    }

    /// How late a liquidation may first appear in REST, in milliseconds: recent ranges must be requested again.
    #[must_use]
    pub fn late(&self) -> i64 {
        self.rest.late
    }

    /// The backfill requests for these markets from `from` until before `until`.
    #[must_use]
    pub fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
        (self.rest.missed)(listings, from, until)
    }

    /// The follow-up requests to a reply to a [backfill request](Self::missed).
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape.
    pub fn go_on(&self, ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
        (self.rest.go_on)(ask, frame)
    }

    /// The requests for 1-minute bars of a market that open from `from` until before `until`, newest first; empty if
    /// its bars are not collected.
    #[must_use]
    pub fn bar_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<RestRequest> {
        requests(self.rest.bars.as_ref(), listing, from, until)
    }

    /// The closed bars in a reply, in time order.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape.
    pub fn read_bars(&self, frame: &Frame<'_>) -> Result<Vec<VenueBar>, Error> {
        read(self.rest.bars.as_ref(), frame)
    }

    /// How far back open interest can be requested, in milliseconds; 0 if it is not collected.
    #[must_use]
    pub fn open_interest_look_back(&self) -> i64 {
        let series = self.rest.open_interest.as_ref();
        series.map_or(0, |series| series.look_back)
    }

    /// The requests for a market's open interest every 5 minutes, newest first.
    #[must_use]
    pub fn open_interest_requests(
        &self,
        listing: &Listing,
        from: Millis,
        until: Millis,
    ) -> Vec<RestRequest> {
        requests(self.rest.open_interest.as_ref(), listing, from, until)
    }

    /// Whether it publishes its own liquidation totals.
    #[must_use]
    pub fn has_totals(&self) -> bool {
        self.rest.totals.is_some()
    }

    /// The requests for its hourly liquidation totals of a market.
    #[must_use]
    pub fn total_requests(
        &self,
        listing: &Listing,
        from: Millis,
        until: Millis,
    ) -> Vec<RestRequest> {
        requests(self.rest.totals.as_ref(), listing, from, until)
    }

    /// The hourly totals in a reply.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape.
    pub fn read_totals(&self, frame: &Frame<'_>) -> Result<Vec<HourlyTotal>, Error> {
        read(self.rest.totals.as_ref(), frame)
    }

    /// The readings of open interest in a reply, in time order.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body has another shape.
    pub fn read_open_interest(&self, frame: &Frame<'_>) -> Result<Vec<OpenInterestReading>, Error> {
        read(self.rest.open_interest.as_ref(), frame)
    }
}

fn requests<T>(
    series: Option<&RestSeries<T>>,
    listing: &Listing,
    from: Millis,
    until: Millis,
) -> Vec<RestRequest> {
    series.map_or_else(Vec::new, |series| {
        series.requests(&listing.native_id, from, until)
    })
}

fn read<T>(series: Option<&RestSeries<T>>, frame: &Frame<'_>) -> Result<Vec<T>, Error> {
    series.map_or_else(|| Err(frame.unknown()), |series| (series.read)(frame))
}

/// Whether a frame is a bare word, such as a ping or pong, not JSON.
fn is_bare(frame: &Frame<'_>) -> bool {
    matches!(frame.trimmed(), "ping" | "pong")
}

/// Gives equal rows of one frame distinct keys, because they are distinct events.
fn number_equal_rows(events: &mut [Event]) {
    if events.len() < 2 {
        return;
    }
    let mut seen: HashMap<String, u32> = HashMap::with_capacity(events.len());
    for event in events {
        let times = seen.entry(event.dedupe_key.clone()).or_default();
        *times += 1;
        if *times > 1 {
            event.dedupe_key = format!("{}|{times}", event.dedupe_key);
        }
    }
}
