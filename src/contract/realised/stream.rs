//! `/api/liquidations/stream`: server-sent events with new orders, finished cascades, and what has changed.
//!
//! The stream is an extension of the contract.

use std::fmt;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::contract::argument::Argument;
use crate::contract::arguments::Arguments;
use crate::contract::endpoint::EndpointEntry;
use crate::contract::extension::Extension;
use crate::contract::parameter::{EVERYWHERE, Exchange, Parameter, Rule, text_of};
use crate::contract::realised::cascades::{CascadeGap, gap_text};
use crate::contract::realised::history::{SymbolList, UsdAmount};
use crate::contract::refusal::BadQuery;
use crate::contract::reply::{ReplyShape, RowShape};
use crate::model::{Millis, Order, Symbol, coin_of_pair};

/// What the events of a stream contain: at least one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvents {
    /// Each order, when it arrives.
    pub orders: bool,
    /// Each cascade, when it is finished.
    pub cascades: bool,
    /// Which answers are no longer current, at most once a second.
    pub changes: bool,
}

impl StreamEvents {
    /// Orders alone.
    pub const ORDERS: Self = Self {
        orders: true,
        cascades: false,
        changes: false,
    };
    /// Cascades alone.
    pub const CASCADES: Self = Self {
        orders: false,
        cascades: true,
        changes: false,
    };
    /// No events.
    pub const NONE: Self = Self {
        orders: false,
        cascades: false,
        changes: false,
    };
    const NAMES: [&'static str; 3] = ["orders", "cascades", "changes"];
}

impl fmt::Display for StreamEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = [self.orders, self.cascades, self.changes];
        let names = Self::NAMES.iter().zip(chosen);
        let names: Vec<&str> = names
            .filter_map(|(name, chosen)| chosen.then_some(*name))
            .collect();
        f.write_str(&names.join(","))
    }
}

/// Rule for a list of distinct kinds of events.
struct EventKinds;

impl Rule for EventKinds {
    type Value = StreamEvents;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "orders, cascades and changes, one or several with commas between them".to_owned()
    }

    fn schema() -> Value {
        json!({
            "type": "string",
            "pattern": r"^(?!.*\b(\w+)\b.*,\1(,|$))(orders|cascades|changes)(,(orders|cascades|changes)){0,2}$",
        })
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<StreamEvents, BadQuery> {
        let mut events = StreamEvents::NONE;
        let refused = || BadQuery::new(name, format!("{text:?} is not allowed"), Self::allowed());
        for kind in text.split(',') {
            let chosen = match kind.trim() {
                "orders" => &mut events.orders,
                "cascades" => &mut events.cascades,
                "changes" => &mut events.changes,
                _ => return Err(refused()),
            };
            if std::mem::replace(chosen, true) {
                return Err(refused());
            }
        }
        Ok(events)
    }

    fn text(events: &StreamEvents) -> Option<String> {
        Some(events.to_string())
    }
}

/// Asks for a stream of orders, or of cascades.
///
/// An order event has the fields of a row of `/api/liquidations`. An event `cascade` has those of a row of
/// `/api/liquidations/cascades`. The id of an event is the stream position directly after it. A cascade is sent once
/// the newest event time is later than the end of the cascade by more than `gap`. An event `gap` says that the service
/// no longer has the requested stream position, so events are missing.
///
/// # Examples
///
/// ```
/// use liqdata::contract::Stream;
///
/// let question = Stream::new(Some("btcusdt"), None, None)?;
/// assert_eq!(question.to_query(), [("symbol", "BTCUSDT".to_owned())]);
/// assert_eq!(Stream::new(Some(" "), None, None).unwrap_err().parameter, "symbol");
/// # Ok::<(), liqdata::contract::BadQuery>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Trading pairs, or coins for all pairs of a coin; an empty list selects all.
    ///
    /// A stream of orders accepts at most one.
    pub symbols: Vec<Symbol>,
    /// Exchange to which the orders are restricted, in lower case.
    pub exchange: Option<String>,
    /// Minimum value of an order or cascade, in USD.
    pub min_usd: Option<Decimal>,
    /// Which events the stream contains.
    pub events: StreamEvents,
    /// Maximum time between consecutive orders of a cascade, in milliseconds.
    pub gap: i64,
    /// Stream position to resume from; if absent, the stream starts after the newest order.
    pub last_event_id: Option<String>,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            symbols: Vec::new(),
            exchange: None,
            min_usd: None,
            events: StreamEvents::ORDERS,
            gap: Self::GAP_MILLIS,
            last_event_id: None,
        }
    }
}

impl Stream {
    /// Name of the endpoint in URLs, clients and the command line.
    pub const NAME: &'static str = "stream";
    /// Path after the base URL of the service.
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
    /// Entry of the stream in the table of endpoints.
    pub const ENTRY: EndpointEntry = EndpointEntry {
        name: Self::NAME,
        path: Self::PATH,
        enveloped: false,
        parameters: &[
            Parameter::new::<Option<Symbol>>(
                "symbol",
                None,
                "trading pair such as BTCUSDT, or coin for all its pairs; for cascades also several, such as BTC,ETH",
            ),
            Parameter::new::<Option<Exchange>>("exchange", None, "exchange, such as binance"),
            Parameter::new::<EventKinds>(
                "events",
                Some("orders"),
                "events of the stream: orders as they arrive, cascades as they close, and changes, which say which answers \
                 are no longer current",
            )
            .extension(),
            Parameter::new::<Option<CascadeGap>>(
                "gap",
                None,
                "maximum time between two consecutive orders of a cascade; if absent, 60s",
            )
            .extension(),
            Parameter::new::<Option<UsdAmount>>(
                "min_usd",
                None,
                "minimum value in USD of an order or cascade; the default for cascades is 100000",
            )
            .extension(),
            Parameter::new::<Option<EventId>>(
                "last_event_id",
                None,
                "event id after which the stream continues; if absent, that of the newest order",
            ),
        ],
        meaning: "the orders as they arrive, or the cascades as they close",
        reply: ReplyShape::Events(RowShape::of::<Order>()),
        large: false,
    };
    /// Name of the event that reports missing events; order events have no name.
    pub const GAP: &'static str = "gap";
    /// Name of an event that says which answers are no longer current.
    pub const CHANGES: &'static str = "changes";
    /// Name of an event that has only a position: the first event, and heartbeats.
    ///
    /// Several readers forget the id of an event without data, and others return such an event as an empty row.
    pub const POSITION: &'static str = "position";
    /// Name of an event that contains a cascade.
    pub const CASCADE: &'static str = "cascade";
    /// Response header with the keep-alive interval of the stream in seconds.
    pub const KEEP_ALIVE: &'static str = "x-liqdata-keep-alive";
    /// Maximum length of an event id, in bytes.
    pub const LONGEST_ID: usize = 256;
    /// Default `gap` of cascades in milliseconds, the same as for [`Cascades`](crate::contract::Cascades).
    const GAP_MILLIS: i64 = Millis::MINUTE;
    /// Default minimum value of a cascade, in USD.
    const LEAST: i64 = 100_000;

    /// Creates a query for a stream of orders.
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

    /// Creates a query from named arguments.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract and for the parameters `as_of` and `explain`. Also for `gap` with
    /// a stream of orders, and for `exchange` with a stream of cascades.
    pub fn from_arguments(query: &Arguments) -> Result<Self, BadQuery> {
        for Parameter { name, .. } in EVERYWHERE {
            if query.text(name).is_some() {
                return Err(BadQuery::new(
                    name,
                    "is not a parameter of this endpoint",
                    Self::PARAMETERS.join(", "),
                ));
            }
        }
        let events = Option::<EventKinds>::check("events", query.text("events"))?
            .unwrap_or(StreamEvents::ORDERS);
        let symbol = query.text("symbol");
        let (one, several) = if events.orders {
            (symbol, None)
        } else {
            (None, Option::<SymbolList>::check("symbol", symbol)?)
        };
        let mut asked = Self::new(one, query.text("exchange"), query.text("last_event_id"))?;
        asked.symbols.extend(several.unwrap_or_default());
        let gap = Option::<CascadeGap>::check("gap", query.text("gap"))?;
        if !events.cascades && gap.is_some() {
            let problem = "is not allowed for a stream without cascades";
            return Err(BadQuery::new("gap", problem, "with events=cascades"));
        }
        if events.cascades && asked.exchange.is_some() {
            let problem = "a cascade covers all exchanges";
            return Err(BadQuery::new("exchange", problem, "with events=orders"));
        }
        Ok(Self {
            min_usd: Option::<UsdAmount>::check("min_usd", query.text("min_usd"))?,
            events,
            gap: gap.unwrap_or(Self::GAP_MILLIS),
            ..asked
        })
    }

    /// Minimum value of a cascade in USD: `min_usd` or the default.
    #[must_use]
    pub fn least(&self) -> Decimal {
        self.min_usd.unwrap_or_else(|| Self::LEAST.into())
    }

    /// Returns the query string as pairs. The stream position is not included; the header `Last-Event-ID` has it.
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
        if self.events != StreamEvents::ORDERS {
            pairs.push(("events", self.events.to_string()));
        }
        if self.events.cascades {
            pairs.push(("gap", gap_text(self.gap)));
        }
        pairs
    }

    /// Returns the parameters and values of the query that only some services support.
    #[must_use]
    pub fn beyond(&self) -> Vec<Extension> {
        Self::ENTRY.beyond(&self.to_query())
    }

    /// Whether `order` matches the symbols, the exchange and the minimum value.
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

/// Rule for an event id: printable ASCII that fits in a header.
struct EventId;

impl Rule for EventId {
    type Value = String;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "the id of an event that the stream has sent".to_owned()
    }

    fn schema() -> Value {
        json!({"type": "string", "pattern": format!("^[!-~]{{1,{}}}$", Stream::LONGEST_ID)})
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<String, BadQuery> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !printable || text.len() > Stream::LONGEST_ID {
            return Err(BadQuery::new(
                name,
                format!("{text:?} is not an event id"),
                Self::allowed(),
            ));
        }
        Ok(text.to_owned())
    }

    fn text(_: &String) -> Option<String> {
        None
    }
}
