//! `/api/liquidations/stream`: orders as they arrive, or cascades as they close, as server-sent events.
//!
//! The stream is an extension of the contract.

use std::fmt;

use rust_decimal::Decimal;

use crate::api::argument::Argument;
use crate::api::arguments::Arguments;
use crate::api::contract::Extension;
use crate::api::endpoint::{EndpointEntry, ReplyShape};
use crate::api::parameter::{EVERYWHERE, Exchange, Parameter, Rule, text_of};
use crate::api::realised::cascades::{CascadeGap, gap_text};
use crate::api::realised::history::{SymbolList, UsdAmount};
use crate::api::refusal::BadQuery;
use crate::model::{Millis, Order, Record, Symbol, Vocabulary, coin_of_pair};

/// The kind of events in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamEvents {
    /// Orders as they arrive.
    #[default]
    Orders,
    /// Cascades as they close.
    Cascades,
}

impl Vocabulary for StreamEvents {
    const ALL: &'static [Self] = &[Self::Orders, Self::Cascades];

    fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Cascades => "cascades",
        }
    }
}

impl fmt::Display for StreamEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Asks for orders as they arrive, or for cascades as they close.
///
/// Each event is one order as in `/api/liquidations`, or one cascade as in `/api/liquidations/cascades`, named
/// `cascade`. The id of an event is the stream position after it. A cascade is sent once the newest event time is later
/// than its end by more than the gap. An event `gap` says that the requested position is no longer known, so that
/// events are missing.
///
/// # Examples
///
/// ```
/// use liqdata::api::Stream;
///
/// let question = Stream::new(Some("btcusdt"), None, None)?;
/// assert_eq!(question.to_query(), [("symbol", "BTCUSDT".to_owned())]);
/// assert_eq!(Stream::new(Some(" "), None, None).unwrap_err().parameter, "symbol");
/// # Ok::<(), liqdata::api::BadQuery>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Trading pairs, or coins for all their pairs; empty for all. A stream of orders takes at most one.
    pub symbols: Vec<Symbol>,
    /// Only this exchange, in lower case.
    pub exchange: Option<String>,
    /// Only orders, or cascades, of at least this many USD.
    pub min_usd: Option<Decimal>,
    /// The kind of events.
    pub events: StreamEvents,
    /// The longest time between two orders of a cascade, in milliseconds.
    pub gap: i64,
    /// The position to resume from; the newest order if absent.
    pub last_event_id: Option<String>,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            symbols: Vec::new(),
            exchange: None,
            min_usd: None,
            events: StreamEvents::Orders,
            gap: Self::GAP_MILLIS,
            last_event_id: None,
        }
    }
}

impl Stream {
    /// Name of the page in every layer.
    pub const NAME: &'static str = "stream";
    /// Path below the base address.
    pub const PATH: &'static str = "/api/liquidations/stream";
    /// Names of the query parameters.
    pub const PARAMETERS: &'static [&'static str] = &[
        "symbol",
        "exchange",
        "events",
        "gap",
        "min_usd",
        "last_event_id",
    ];
    /// The row of the page in the table of endpoints.
    pub const ENTRY: EndpointEntry = EndpointEntry {
        name: Self::NAME,
        path: Self::PATH,
        enveloped: false,
        parameters: &[
            Parameter::new::<Option<Symbol>>(
                "symbol",
                None,
                "trading pair such as BTCUSDT, or coin for all its pairs; of cascades several, such as BTC,ETH",
            ),
            Parameter::new::<Option<Exchange>>("exchange", None, "exchange, such as binance"),
            Parameter::new::<StreamEvents>(
                "events",
                Some("orders"),
                "its rows: orders as they arrive, or cascades as they close",
            )
            .extension(),
            Parameter::new::<Option<CascadeGap>>(
                "gap",
                None,
                "the most time between one order of a cascade and the next; 60s where absent",
            )
            .extension(),
            Parameter::new::<Option<UsdAmount>>(
                "min_usd",
                None,
                "only orders, or cascades, of at least so many USD; of cascades 100000 where absent",
            )
            .extension(),
            Parameter::new::<Option<EventId>>(
                "last_event_id",
                None,
                "the place to go on from; the newest order's where absent",
            ),
        ],
        meaning: "the orders as they arrive, or the cascades as they close",
        reply: ReplyShape::Events(Order::COLUMNS),
        large: false,
    };
    /// Name of the event for a gap; orders have no name.
    pub const GAP: &'static str = "gap";
    /// Name of the event for a cascade.
    pub const CASCADE: &'static str = "cascade";
    /// The response header with the keep-alive interval in seconds.
    pub const KEEP_ALIVE: &'static str = "x-liqdata-keep-alive";
    /// The longest event id in bytes.
    pub const LONGEST_ID: usize = 256;
    /// The default gap of cascades, as in [`Cascades`](crate::api::Cascades).
    const GAP_MILLIS: i64 = Millis::MINUTE;
    /// The default least USD of cascades.
    const LEAST: i64 = 100_000;

    /// The query of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(
        symbol: Option<&str>,
        exchange: Option<&str>,
        last_event_id: Option<&str>,
    ) -> Result<Self, BadQuery> {
        Ok(Self {
            symbols: Option::<Symbol>::check("symbol", symbol)?
                .into_iter()
                .collect(),
            exchange: Option::<Exchange>::check("exchange", exchange)?,
            last_event_id: Option::<EventId>::check("last_event_id", last_event_id)?,
            ..Self::default()
        })
    }

    /// The query of these arguments.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract, for `as_of` and `explain`, and for parameters of the other kind
    /// of events.
    pub fn from_arguments(query: &Arguments) -> Result<Self, BadQuery> {
        for Parameter { name, .. } in EVERYWHERE {
            if query.text(name).is_some() {
                return Err(BadQuery::new(
                    name,
                    "is not a parameter of this page",
                    Self::PARAMETERS.join(", "),
                ));
            }
        }
        let events =
            Option::<StreamEvents>::check("events", query.text("events"))?.unwrap_or_default();
        let symbol = query.text("symbol");
        let (one, several) = match events {
            StreamEvents::Orders => (symbol, None),
            StreamEvents::Cascades => (None, Option::<SymbolList>::check("symbol", symbol)?),
        };
        let mut asked = Self::new(one, query.text("exchange"), query.text("last_event_id"))?;
        asked.symbols.extend(several.unwrap_or_default());
        let gap = Option::<CascadeGap>::check("gap", query.text("gap"))?;
        match events {
            StreamEvents::Orders if gap.is_some() => {
                let problem = "is not asked of a stream of orders";
                return Err(BadQuery::new("gap", problem, "with events=cascades"));
            }
            StreamEvents::Cascades if asked.exchange.is_some() => {
                let problem = "a cascade has orders of all exchanges";
                return Err(BadQuery::new("exchange", problem, "with events=orders"));
            }
            _ => {}
        }
        Ok(Self {
            min_usd: Option::<UsdAmount>::check("min_usd", query.text("min_usd"))?,
            events,
            gap: gap.unwrap_or(Self::GAP_MILLIS),
            ..asked
        })
    }

    /// The least USD of cascades.
    #[must_use]
    pub fn least(&self) -> Decimal {
        self.min_usd.unwrap_or_else(|| Self::LEAST.into())
    }

    /// The pairs of the query string; the position is sent in the header `Last-Event-ID`.
    #[must_use]
    pub fn to_query(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        if !self.symbols.is_empty() {
            let names: Vec<String> = self.symbols.iter().map(ToString::to_string).collect();
            pairs.push(("symbol", names.join(",")));
        }
        if let Some(exchange) = &self.exchange {
            pairs.push(("exchange", exchange.clone()));
        }
        if let Some(least) = &self.min_usd {
            pairs.push(("min_usd", least.to_string()));
        }
        if self.events == StreamEvents::Cascades {
            pairs.push(("events", self.events.to_string()));
            pairs.push(("gap", gap_text(self.gap)));
        }
        pairs
    }

    /// The parts of the query that only some services support.
    #[must_use]
    pub fn beyond(&self) -> Vec<Extension> {
        Self::ENTRY.beyond(&self.to_query())
    }

    /// Whether `order` matches.
    #[must_use]
    pub fn wants(&self, order: &Order) -> bool {
        let means = |symbol: &Symbol| {
            symbol.name() == order.symbol
                || symbol.means(&order.symbol, &coin_of_pair(&order.symbol).0)
        };
        (self.symbols.is_empty() || self.symbols.iter().any(means))
            && self
                .exchange
                .as_ref()
                .is_none_or(|name| *name == order.exchange)
            && self.min_usd.is_none_or(|least| order.value_usd >= least)
    }
}

/// The rule of an event id, which must fit in a header.
struct EventId;

impl Rule for EventId {
    type Value = String;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "the id of an event of the stream, as it was sent".to_owned()
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<String, BadQuery> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !printable || text.len() > Stream::LONGEST_ID {
            return Err(BadQuery::new(
                name,
                format!("{text:?} is no id of an event"),
                Self::allowed(),
            ));
        }
        Ok(text.to_owned())
    }

    fn text(_: &String) -> Option<String> {
        None
    }
}
