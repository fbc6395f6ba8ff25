//! A supported exchange: decoder, WebSocket connections and REST endpoints.

use std::collections::BTreeSet;
use std::time::Duration;

use rust_decimal::Decimal;

use super::error::Error;
use super::instruments::{Instrument, Instruments, Listing, SizeUnit};
use crate::feeds::decoding::event::{Completeness, PriceKind};
use crate::feeds::decoding::frame::{Frame, Rules};
use crate::feeds::messages::{Decoded, Messages, SocketMessage};
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::LastPrice;
use crate::feeds::rest::request::{
    HourlyTotal, OpenInterestReading, RestPage, RestRequest, RestSeries, VenueBar,
};
use crate::feeds::websocket::control::{ConnectionPlan, FrameKind, Heartbeat, SentSubscriptions};
use crate::feeds::websocket::socket_plan::{ConnectionPlans, KeyAmbiguity, SocketPlan};
use crate::model::{ContractKind, Millis, Symbol};

/// A supported exchange: decoder, connection plan, REST endpoints and liveness rules. No I/O.
#[derive(Debug)]
pub struct Venue {
    pub(crate) rules: Rules,
    pub(crate) price_kinds: &'static [PriceKind],
    /// When the exchange closed; `None` while it trades.
    pub(crate) closed: Option<&'static str>,
    pub(crate) hosts: &'static [(&'static str, &'static str)],
    pub(crate) messages: Messages,
    pub(crate) listen: SocketPlan,
    pub(crate) rest: RestEndpoints,
}

/// Placeholder for a market in a [path](Venue::paths).
pub(crate) const MARKET: &str = "{market}";

impl Venue {
    /// Returns the name of the exchange in lower case, as it is used throughout liqdata.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.rules.name
    }

    /// Returns whether the exchange publishes all of its liquidations.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.rules.completeness
    }

    /// Returns the possible meanings of the exchange's prices, the most common one first.
    #[must_use]
    pub fn price_kinds(&self) -> &'static [PriceKind] {
        self.price_kinds
    }

    /// Returns when the exchange closed, such as `2026-09-23 04:00 UTC`; `None` while it trades.
    ///
    /// A closed exchange cannot be collected. Its past messages and files are decoded.
    #[must_use]
    pub fn closed(&self) -> Option<&'static str> {
        self.closed
    }

    /// Returns the exchange's name of the perpetual contract of `symbol`.
    ///
    /// `None` for a coin, for a contract that is not perpetual, and for a builder's market. Also `None` if base and
    /// quote do not determine the name.
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

    /// Creates a frame from a WebSocket message or a REST body.
    ///
    /// An error in one row rejects the whole frame.
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

    /// Decodes a frame or a REST body.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the exchange does not send such frames.
    pub fn decode(&self, frame: &Frame<'_>) -> Result<Decoded, Error> {
        if is_bare(frame) {
            return Ok(Decoded::default());
        }
        (self.messages.decode)(frame)
    }

    /// Decodes a frame of a connection, with its sequence numbers and its meaning for the connection.
    ///
    /// `awaits_ack` says whether the connection waits for acknowledgements of the subscriptions `sent`.
    #[must_use]
    pub fn read(
        &self,
        frame: &Frame<'_>,
        sent: &SentSubscriptions,
        awaits_ack: bool,
    ) -> SocketMessage {
        if !is_bare(frame) {
            return (self.messages.read)(frame, sent, awaits_ack);
        }
        SocketMessage {
            numbers: Vec::new(),
            decoded: Ok(Decoded::default()),
            kind: match frame.trimmed() {
                "pong" => Ok(FrameKind::Pong),
                _ => Err(frame.unknown()),
            },
        }
    }

    /// Returns the message with which the client must reply to a frame, such as the pong to a ping.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the exchange does not send such frames.
    pub fn answer(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        if is_bare(frame) {
            return Ok(None);
        }
        (self.messages.answer)(frame)
    }

    /// Returns host names and their default addresses; settings may replace each address.
    #[must_use]
    pub fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        self.hosts
    }

    /// Returns the distinct paths of all connections and requests; `{market}` stands for a market.
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

    /// Whether the connections depend on the market list.
    ///
    /// If so, the market list must be requested first.
    #[must_use]
    pub fn listens_by_market(&self) -> bool {
        matches!(self.listen.lines, ConnectionPlans::ByMarket(_))
    }

    /// Whether the exchange has no WebSocket channel, so that REST is polled instead.
    #[must_use]
    pub fn is_polled(&self) -> bool {
        matches!(self.listen.lines, ConnectionPlans::Fixed([]))
    }

    /// Returns the connections to open for these markets; none if the exchange is polled.
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

    /// Returns the messages to send on a new connection before any subscription.
    #[must_use]
    pub fn greeting(&self) -> &'static [&'static str] {
        self.listen.greeting
    }

    /// Returns the message that subscribes to `topics`; `number` identifies the request.
    #[must_use]
    pub fn subscription(&self, number: usize, topics: &[String], now: Millis) -> String {
        (self.listen.subscription)(number, topics, now)
    }

    /// Whether a frame belongs to the control topic.
    ///
    /// Only the beginning of the text is compared.
    #[must_use]
    pub fn is_steady(&self, text: &str) -> bool {
        let mut begins = self.listen.steady_frames.iter();
        begins.any(|begin| text.starts_with(begin))
    }

    /// Whether the exchange acknowledges every valid control topic.
    ///
    /// If so, a missing acknowledgement means that the topic does not exist.
    #[must_use]
    pub fn answers_steady(&self) -> bool {
        self.listen.answers_steady
    }

    /// Returns how event keys of this exchange become keys of stored rows.
    #[must_use]
    pub fn keyed(&self) -> KeyAmbiguity {
        self.listen.keyed
    }

    /// Returns the messages that a live connection must receive, and how often.
    #[must_use]
    pub fn heartbeat(&self) -> Heartbeat {
        self.listen.heartbeat
    }

    /// Returns the duration after which a socket must be replaced, if any.
    #[must_use]
    pub fn rotation(&self) -> Option<Duration> {
        self.listen.rotation
    }

    /// Returns other exchanges with which the feed is compared.
    ///
    /// If they report liquidations while this exchange is silent for long, its feed is considered broken.
    #[must_use]
    pub fn witnesses(&self) -> &'static [&'static str] {
        self.listen.witnesses
    }

    /// Returns the number of redundant sockets: two if gaps cannot be backfilled.
    #[must_use]
    pub fn redundant_connections(&self) -> usize {
        self.listen.redundant_connections
    }

    /// Returns the minimum time between two subscriptions over all sockets.
    ///
    /// Zero if the sockets share no limit.
    #[must_use]
    pub fn between(&self) -> Duration {
        self.listen.between
    }

    /// Returns how long a missing sequence number may still arrive.
    ///
    /// After this time it counts as missed. `None` if there are no sequence numbers.
    #[must_use]
    pub fn numbers_late(&self) -> Option<Duration> {
        self.listen.numbers_late
    }

    /// Returns the requests for the exchange's market list.
    #[must_use]
    pub fn listing_requests(&self) -> Vec<RestRequest> {
        (self.rest.listings)()
    }

    /// Decodes the markets in a reply to a [listing request](Self::listing_requests).
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body does not have the expected format.
    pub fn read_listings(
        &self,
        ask: &RestRequest,
        frame: &Frame<'_>,
    ) -> Result<RestPage<Listing>, Error> {
        (self.rest.read_listings)(ask, frame)
    }

    /// Returns the requests for last prices.
    ///
    /// Empty if the [market lists](Self::listing_requests) contain the prices, or if the exchange publishes none.
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

    /// Decodes the last prices in a reply to a [price request](Self::price_requests).
    ///
    /// The reply may also be a market list. Markets without a price are omitted.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body does not have the expected format.
    pub fn read_prices(&self, frame: &Frame<'_>) -> Result<Vec<LastPrice>, Error> {
        let prices = self.rest.prices.as_ref();
        prices.map_or_else(|| Err(frame.unknown()), |prices| (prices.read)(frame))
    }

    /// Returns the maximum age of liquidations that can be requested, in milliseconds; 0 if none can.
    #[must_use]
    pub fn look_back(&self) -> i64 {
        self.rest.look_back
    }

    /// Returns how long the exchange bans a client that exceeds the rate limit.
    ///
    /// `None` if the duration is not documented or is part of the reply.
    #[must_use]
    pub fn ban(&self) -> Option<Duration> {
        self.rest.ban
    }

    /// Returns the maximum delay in milliseconds until a liquidation appears in REST replies.
    ///
    /// Time ranges that are more recent must be requested again.
    #[must_use]
    pub fn late(&self) -> i64 {
        self.rest.late
    }

    /// Returns the backfill requests for these markets, from `from` until before `until`.
    #[must_use]
    pub fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<RestRequest> {
        (self.rest.missed)(listings, from, until)
    }

    /// Returns the follow-up requests to a reply to a [backfill request](Self::missed).
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body does not have the expected format.
    pub fn go_on(&self, ask: &RestRequest, frame: &Frame<'_>) -> Result<Vec<RestRequest>, Error> {
        (self.rest.go_on)(ask, frame)
    }

    /// Returns the requests for the 1-minute bars of a market, newest first.
    ///
    /// The bars open from `from` until before `until`. Empty if bars of this market are not collected.
    #[must_use]
    pub fn bar_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<RestRequest> {
        requests(self.rest.bars.as_ref(), listing, from, until)
    }

    /// Decodes the closed bars in a reply, in time order.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body does not have the expected format.
    pub fn read_bars(&self, frame: &Frame<'_>) -> Result<Vec<VenueBar>, Error> {
        read(self.rest.bars.as_ref(), frame)
    }

    /// Returns the maximum age of open interest that can be requested, in milliseconds.
    ///
    /// 0 if open interest is not collected.
    #[must_use]
    pub fn open_interest_look_back(&self) -> i64 {
        let series = self.rest.open_interest.as_ref();
        series.map_or(0, |series| series.look_back)
    }

    /// Returns the requests for a market's open interest in intervals of 5 minutes, newest first.
    #[must_use]
    pub fn open_interest_requests(
        &self,
        listing: &Listing,
        from: Millis,
        until: Millis,
    ) -> Vec<RestRequest> {
        requests(self.rest.open_interest.as_ref(), listing, from, until)
    }

    /// Whether the exchange publishes totals of its liquidations.
    #[must_use]
    pub fn has_totals(&self) -> bool {
        self.rest.totals.is_some()
    }

    /// Returns the requests for the hourly liquidation totals of a market.
    #[must_use]
    pub fn total_requests(
        &self,
        listing: &Listing,
        from: Millis,
        until: Millis,
    ) -> Vec<RestRequest> {
        requests(self.rest.totals.as_ref(), listing, from, until)
    }

    /// Decodes the hourly totals in a reply.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body does not have the expected format.
    pub fn read_totals(&self, frame: &Frame<'_>) -> Result<Vec<HourlyTotal>, Error> {
        read(self.rest.totals.as_ref(), frame)
    }

    /// Decodes the open-interest readings in a reply, in time order.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] if the body does not have the expected format.
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

/// Whether a frame is the bare word `ping` or `pong` instead of JSON.
fn is_bare(frame: &Frame<'_>) -> bool {
    matches!(frame.trimmed(), "ping" | "pong")
}
