//! `/api/liquidations/stream`: the orders as they arrive, as server-sent events; an extension beside the ten.

use rust_decimal::Decimal;

use super::endpoint::{Entry, Shape};
use super::history::Usd;
use super::parameter::{EVERYWHERE, Exchange, Parameter, Rule};
use super::query::Query;
use super::refusal::BadQuery;
use crate::model::{Order, Record, Symbol, coin_of_pair};

/// Asks for the orders as they arrive.
///
/// Each event is one order as `/api/liquidations` lists it, and its id names the place behind it. An event `gap` says
/// that the place to go on from is no longer known: what arrived since is not in the stream.
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
    /// Only this trading pair, or the pairs of this coin.
    pub symbol: Option<Symbol>,
    /// Only this exchange, in our spelling.
    pub exchange: Option<String>,
    /// Only orders of at least so many USD.
    pub min_usd: Option<Decimal>,
    /// The place to go on from; the newest order's where absent.
    pub last_event_id: Option<String>,
}

impl Stream {
    /// The page's one name in every layer.
    pub const NAME: &'static str = "stream";
    /// Path below the base address.
    pub const PATH: &'static str = "/api/liquidations/stream";
    /// Names of the query parameters.
    pub const PARAMETERS: &'static [&'static str] =
        &["symbol", "exchange", "min_usd", "last_event_id"];
    /// All there is to say of it.
    pub const ENTRY: Entry = Entry {
        name: Self::NAME,
        path: Self::PATH,
        enveloped: false,
        parameters: &[
            Parameter::new::<Option<Symbol>>(
                "symbol",
                None,
                "trading pair such as BTCUSDT, or coin for all its pairs",
            ),
            Parameter::new::<Option<Exchange>>("exchange", None, "exchange, such as binance"),
            Parameter::new::<Option<Usd>>("min_usd", None, "only orders of at least so many USD")
                .beside(),
            Parameter::new::<Option<EventId>>(
                "last_event_id",
                None,
                "the place to go on from; the newest order's where absent",
            ),
        ],
        meaning: "the orders as they arrive",
        reply: Shape::Events(Order::COLUMNS),
        large: false,
    };
    /// The event that tells of a gap; orders come under no name.
    pub const GAP: &'static str = "gap";
    /// The response header that says after how many seconds without an order the service gives a sign of life.
    pub const KEEP_ALIVE: &'static str = "x-liqdata-keep-alive";
    /// The longest id, in bytes.
    pub const LONGEST_ID: usize = 256;

    /// The question of these parameters.
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
            symbol: Option::<Symbol>::check("symbol", symbol)?,
            exchange: Option::<Exchange>::check("exchange", exchange)?,
            min_usd: None,
            last_event_id: Option::<EventId>::check("last_event_id", last_event_id)?,
        })
    }

    /// The question a query string asks.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract, and for the parameters of answers about one instant.
    pub fn from_query(query: &Query) -> Result<Self, BadQuery> {
        for Parameter { name, .. } in EVERYWHERE {
            if query.text(name).is_some() {
                return Err(BadQuery::new(
                    name,
                    "is not a parameter of this page",
                    Self::PARAMETERS.join(", "),
                ));
            }
        }
        let asked = Self::new(
            query.text("symbol"),
            query.text("exchange"),
            query.text("last_event_id"),
        )?;
        Ok(Self {
            min_usd: Option::<Usd>::check("min_usd", query.text("min_usd"))?,
            ..asked
        })
    }

    /// The query string's pairs, apart from the place, which a client names in the header `Last-Event-ID`.
    #[must_use]
    pub fn to_query(&self) -> Vec<(&'static str, String)> {
        let symbol = self
            .symbol
            .as_ref()
            .map(|pair| ("symbol", pair.to_string()));
        let exchange = self.exchange.clone().map(|name| ("exchange", name));
        let min_usd = self.min_usd.map(|usd| ("min_usd", usd.to_string()));
        symbol.into_iter().chain(exchange).chain(min_usd).collect()
    }

    /// The parameters that are asked for and that not every service with such a stream has.
    #[must_use]
    pub fn beside(&self) -> Vec<&'static str> {
        let asked = self.to_query();
        let beside = Self::ENTRY.parameters.iter().filter(|known| known.beside);
        beside
            .map(|known| known.name)
            .filter(|name| asked.iter().any(|(given, _)| given == name))
            .collect()
    }

    /// Whether `order` is one of those asked for.
    #[must_use]
    pub fn wants(&self, order: &Order) -> bool {
        self.symbol.as_ref().is_none_or(|symbol| {
            symbol.name() == order.symbol
                || symbol.means(&order.symbol, &coin_of_pair(&order.symbol).0)
        }) && self
            .exchange
            .as_ref()
            .is_none_or(|name| *name == order.exchange)
            && self.min_usd.is_none_or(|least| order.value_usd >= least)
    }
}

/// An id as a header can carry it.
struct EventId;

impl Rule for EventId {
    type Value = String;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "the id of an event of the stream, as it was sent".to_owned()
    }

    fn raw<'a>(_: &'static str, text: Option<&'a str>) -> Result<&'a str, BadQuery> {
        Ok(text.unwrap_or_default())
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
