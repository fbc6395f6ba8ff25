//! A venue as a value: how its frames and REST bodies are told apart and read, which sockets to open, what to say on them,
//! what proves that they live, what can be asked for again.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rust_decimal::Decimal;

use super::error::Error;
use super::instruments::{Instrument, Instruments, Kind, Listing};
use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::decoding::frame::{Frame, Rules};
use crate::feeds::rest::endpoints::Rest;
use crate::feeds::rest::prices::Quoted;
use crate::feeds::rest::request::{Ask, Bar, Page, Reading, Series, Total};
use crate::feeds::websocket::control::{Asked, Heard, Heartbeat, Line, Numbered};
use crate::feeds::websocket::socket_plan::{Announced, Keyed, Lines, Listen};
use crate::model::{ContractKind, Millis, Symbol};

/// An exchange whose public frames can be read, and what listening to it takes. Nothing here does any input or output.
#[derive(Debug)]
pub struct Venue {
    pub(crate) rules: Rules,
    pub(crate) price_kinds: &'static [PriceKind],
    pub(crate) hosts: &'static [(&'static str, &'static str)],
    pub(crate) decode: fn(&Frame<'_>) -> Result<Vec<Event>, Error>,
    pub(crate) listen: Listen,
    pub(crate) rest: Rest,
}

/// What stands for a market in a [path](Venue::paths).
pub(crate) const MARKET: &str = "{market}";

impl Venue {
    /// Our name of it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.rules.name
    }

    /// How much of what happens it publishes.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.rules.completeness
    }

    /// What its prices mean, the usual one first.
    #[must_use]
    pub fn price_kinds(&self) -> &'static [PriceKind] {
        self.price_kinds
    }

    /// Its name of the perpetual contract that `symbol` means; `None` of a coin, of a dated contract, and where the name does
    /// not follow from base and quote.
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
        if symbol.kind() != ContractKind::Perpetual {
            return None;
        }
        (self.rules.native)(base, quote)
    }

    /// A frame or a REST body of it, for what it reads; one fault in it is the whole frame's.
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

    /// The events of a frame, in its order; equal rows of one frame are told apart.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the frame is not what the venue sends.
    pub fn decode(&self, frame: &Frame<'_>) -> Result<Vec<Event>, Error> {
        if is_bare(frame) {
            return Ok(Vec::new());
        }
        let mut events = (self.decode)(frame)?;
        number_equal_rows(&mut events);
        Ok(events)
    }

    /// What the venue wants to hear in return: the pong to a ping, where that is a message of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the frame is not what the venue sends.
    pub fn answer(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        if is_bare(frame) {
            return Ok(None);
        }
        (self.listen.answer)(frame)
    }

    /// Where it is reached: the names of its hosts with their addresses, each of which a setting may replace.
    #[must_use]
    pub fn hosts(&self) -> &'static [(&'static str, &'static str)] {
        self.hosts
    }

    /// The paths that it is reached by, each once; where one names a market, `{market}` stands there.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let kinds = [
            ("USDT", Kind::Linear),
            ("USDC", Kind::Linear),
            ("USD", Kind::Inverse),
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

    /// Whether its markets have to be known before a socket can be opened.
    #[must_use]
    pub fn listens_by_market(&self) -> bool {
        matches!(self.listen.lines, Lines::ByMarket(_))
    }

    /// Whether it has no channel, and is asked again and again instead.
    #[must_use]
    pub fn is_polled(&self) -> bool {
        matches!(self.listen.lines, Lines::Fixed([]))
    }

    /// The sockets to open for these markets; none where there is no channel and the venue is polled.
    #[must_use]
    pub fn lines(&self, listings: &[Listing]) -> Vec<Line> {
        let mut lines = match self.listen.lines {
            Lines::Fixed(lines) => lines
                .iter()
                .map(|(name, path, topics)| Line::new(name, path, topics))
                .collect(),
            Lines::ByMarket(lines) => lines(listings),
        };
        for line in &mut lines {
            line.headers = self.listen.headers;
        }
        let controlled = |line: Line| {
            let control = (self.listen.steady)(&line.name);
            line.controlled(control)
        };
        lines.into_iter().map(controlled).collect()
    }

    /// What is said on a fresh socket before anything is subscribed to.
    #[must_use]
    pub fn greeting(&self) -> &'static [&'static str] {
        self.listen.greeting
    }

    /// The message by which request `number` subscribes to `topics`.
    #[must_use]
    pub fn subscription(&self, number: usize, topics: &[String], now: Millis) -> String {
        (self.listen.subscription)(number, topics, now)
    }

    /// What a frame without events is.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the frame is not what the venue sends.
    pub fn control(&self, frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
        if frame.trimmed() == "pong" {
            return Ok(Heard::Pong);
        }
        (self.listen.control)(frame, asked)
    }

    /// Whether a frame is one of a topic that is never silent, by how it begins; what it tells is not looked at then.
    #[must_use]
    pub fn is_steady(&self, text: &str) -> bool {
        let mut begins = self.listen.steady_frames.iter();
        begins.any(|begin| text.starts_with(begin))
    }

    /// Whether a topic that is never silent is acknowledged for certain, so that one of which nothing is said is none.
    #[must_use]
    pub fn answers_steady(&self) -> bool {
        self.listen.answers_steady
    }

    /// Whether a frame of a socket tells what happened before it was subscribed to, which may be long ago.
    #[must_use]
    pub fn recalls(&self, frame: &Frame<'_>) -> bool {
        (self.listen.recalls)(frame)
    }

    /// What the keys of its events do not tell apart.
    #[must_use]
    pub fn keyed(&self) -> Keyed {
        self.listen.keyed
    }

    /// The positions whose liquidation a frame announces. None where the venue announces nothing, or the frame cannot be
    /// read.
    #[must_use]
    pub fn announced(&self, frame: &Frame<'_>) -> Vec<Announced> {
        (self.listen.announced)(frame)
    }

    /// How the life of a connection is proved.
    #[must_use]
    pub fn heartbeat(&self) -> Heartbeat {
        self.listen.heartbeat
    }

    /// After how long a socket is to be replaced by a fresh one.
    #[must_use]
    pub fn rotation(&self) -> Option<Duration> {
        self.listen.rotation
    }

    /// The venues that tell whether this one is mute: while any of them reports, a long silence here is no calm.
    #[must_use]
    pub fn witnesses(&self) -> &'static [&'static str] {
        self.listen.witnesses
    }

    /// How many sockets are to listen to the same: two where what nobody heard cannot be asked for again.
    #[must_use]
    pub fn ears(&self) -> usize {
        self.listen.ears
    }

    /// Least time between two subscriptions of all of its sockets together; zero where a socket has nothing to share.
    #[must_use]
    pub fn between(&self) -> Duration {
        self.listen.between
    }

    /// How much later than those behind it a number of the venue's own may come; `None` where it numbers nothing.
    #[must_use]
    pub fn numbers_late(&self) -> Option<Duration> {
        self.listen.numbers.map(|numbers| numbers.late)
    }

    /// The venue's own numbers in a frame of a socket: where one is missing, something was not heard.
    #[must_use]
    pub fn numbers(&self, frame: &Frame<'_>) -> Vec<Numbered> {
        match self.listen.numbers {
            Some(numbers) if !is_bare(frame) => (numbers.read)(frame),
            _ => Vec::new(),
        }
    }

    /// The requests that list its markets.
    #[must_use]
    pub fn listing_requests(&self) -> Vec<Ask> {
        (self.rest.listings)()
    }

    /// The markets in the reply to one of the [listing requests](Self::listing_requests).
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    pub fn read_listings(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
        (self.rest.read_listings)(ask, frame)
    }

    /// The requests that tell the last price of its markets; none where the [lists of markets](Self::listing_requests) do, or
    /// where nothing is known to.
    #[must_use]
    pub fn price_requests(&self) -> Vec<Ask> {
        let prices = self.rest.prices.as_ref();
        prices.map_or_else(Vec::new, |prices| (prices.asks)())
    }

    /// Whether its lists of markets tell the last price of each.
    #[must_use]
    pub fn lists_prices(&self) -> bool {
        self.rest.prices.is_some() && self.price_requests().is_empty()
    }

    /// The last prices in the reply to one of the [price requests](Self::price_requests), or in a list of markets. A market of
    /// which none is told is left out.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    pub fn read_prices(&self, frame: &Frame<'_>) -> Result<Vec<Quoted>, Error> {
        let prices = self.rest.prices.as_ref();
        prices.map_or_else(|| Err(frame.unknown()), |prices| (prices.read)(frame))
    }

    /// The requests by whose replies it shows, at the start and every hour, whether the venue's rows still mean what they
    /// are taken for; none where nothing is in doubt.
    #[must_use]
    pub fn proofs(&self, now: Millis) -> Vec<Ask> {
        (self.rest.proofs)(now)
    }

    /// What in the reply to one of the [proofs](Self::proofs) disproves how its rows are read, if anything does: what
    /// the venue tells must not be kept then.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends, which proves nothing.
    pub fn disproof(&self, frame: &Frame<'_>) -> Result<Option<String>, Error> {
        (self.rest.disproof)(frame)
    }

    /// How far back its liquidations can be asked for, in milliseconds; 0 where they cannot.
    #[must_use]
    pub fn look_back(&self) -> i64 {
        self.rest.look_back
    }

    /// How long it turns away with 403 who asked too often, where its documents say that and its replies do not.
    #[must_use]
    pub fn ban(&self) -> Option<Duration> {
        self.rest.ban
    }

    /// How long after it happened a liquidation may be told for the first time, in milliseconds: what was asked for earlier
    /// is to be asked for once more.
    #[must_use]
    pub fn late(&self) -> i64 {
        self.rest.late
    }

    /// The requests for the liquidations of these markets from `from` until before `until`.
    #[must_use]
    pub fn missed(&self, listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
        (self.rest.missed)(listings, from, until)
    }

    /// The requests that go on where the reply to one of the [missed](Self::missed) ends.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    pub fn go_on(&self, ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
        (self.rest.go_on)(ask, frame)
    }

    /// The requests for a market's 1-minute bars that open from `from` until before `until`, the newest first; none
    /// where this venue's bars are not collected.
    #[must_use]
    pub fn bar_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        requests(self.rest.bars.as_ref(), listing, from, until)
    }

    /// The closed bars in a reply, by time.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    pub fn read_bars(&self, frame: &Frame<'_>) -> Result<Vec<Bar>, Error> {
        read(self.rest.bars.as_ref(), frame)
    }

    /// How far back its open interest can be asked for, in milliseconds; 0 where it is not collected.
    #[must_use]
    pub fn open_interest_look_back(&self) -> i64 {
        let series = self.rest.open_interest.as_ref();
        series.map_or(0, |series| series.look_back)
    }

    /// The requests for a market's open interest each 5 minutes, the newest first.
    #[must_use]
    pub fn open_interest_requests(
        &self,
        listing: &Listing,
        from: Millis,
        until: Millis,
    ) -> Vec<Ask> {
        requests(self.rest.open_interest.as_ref(), listing, from, until)
    }

    /// Whether it tells itself how much it liquidated.
    #[must_use]
    pub fn tells_totals(&self) -> bool {
        self.rest.totals.is_some()
    }

    /// The requests for what it says it liquidated of a market, hour by hour.
    #[must_use]
    pub fn total_requests(&self, listing: &Listing, from: Millis, until: Millis) -> Vec<Ask> {
        requests(self.rest.totals.as_ref(), listing, from, until)
    }

    /// What a reply says was liquidated, by hour.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    pub fn read_totals(&self, frame: &Frame<'_>) -> Result<Vec<Total>, Error> {
        read(self.rest.totals.as_ref(), frame)
    }

    /// The readings of open interest in a reply, by time.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`] where the body is not what the venue sends.
    pub fn read_open_interest(&self, frame: &Frame<'_>) -> Result<Vec<Reading>, Error> {
        read(self.rest.open_interest.as_ref(), frame)
    }
}

fn requests<T>(
    series: Option<&Series<T>>,
    listing: &Listing,
    from: Millis,
    until: Millis,
) -> Vec<Ask> {
    series.map_or_else(Vec::new, |series| {
        series.requests(&listing.native_id, from, until)
    })
}

fn read<T>(series: Option<&Series<T>>, frame: &Frame<'_>) -> Result<Vec<T>, Error> {
    series.map_or_else(|| Err(frame.unknown()), |series| (series.read)(frame))
}

/// Pings and pongs that are a bare word, not JSON.
fn is_bare(frame: &Frame<'_>) -> bool {
    matches!(frame.trimmed(), "ping" | "pong")
}

/// Tells equal rows of one frame apart: they are distinct events.
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
