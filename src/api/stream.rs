//! `/api/liquidations/stream`: the orders as they arrive, as server-sent events; an extension beside the ten.

use super::orders::exchange_filter;
use super::query::pair;
use super::{BadQuery, Query};
use crate::model::{Order, Pair, exchange_name};

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
/// assert_eq!(Stream::new(Some("BTC"), None, None).unwrap_err().parameter, "symbol");
/// # Ok::<(), liqdata::api::BadQuery>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Only this trading pair.
    pub symbol: Option<Pair>,
    /// Only this exchange, lower case.
    pub exchange: Option<String>,
    /// The place to go on from; the newest order's where absent.
    pub last_event_id: Option<String>,
}

impl Stream {
    /// The page's one name in every layer.
    pub const NAME: &'static str = "stream";
    /// Path below the base address.
    pub const PATH: &'static str = "/api/liquidations/stream";
    /// Names of the query parameters.
    pub const PARAMETERS: &'static [&'static str] = &["symbol", "exchange", "last_event_id"];
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
            symbol: symbol.map(pair).transpose()?,
            exchange: exchange.map(exchange_filter).transpose()?,
            last_event_id: last_event_id.map(event_id).transpose()?,
        })
    }

    /// The question a query string asks.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract, and for the parameters of answers about one instant.
    pub fn from_query(query: &Query) -> Result<Self, BadQuery> {
        for name in ["explain", "as_of"] {
            if query.text(name).is_some() {
                return Err(BadQuery::new(
                    name,
                    "is not a parameter of this page",
                    Self::PARAMETERS.join(", "),
                ));
            }
        }
        Self::new(
            query.text("symbol"),
            query.text("exchange"),
            query.text("last_event_id"),
        )
    }

    /// The query string's pairs, apart from the place, which a client names in the header `Last-Event-ID`.
    #[must_use]
    pub fn to_query(&self) -> Vec<(&'static str, String)> {
        let symbol = self
            .symbol
            .as_ref()
            .map(|pair| ("symbol", pair.to_string()));
        let exchange = self.exchange.clone().map(|name| ("exchange", name));
        symbol.into_iter().chain(exchange).collect()
    }

    /// Whether `order` is one of those asked for.
    #[must_use]
    pub fn wants(&self, order: &Order) -> bool {
        self.symbol
            .as_ref()
            .is_none_or(|pair| pair.as_str() == order.symbol)
            && self
                .exchange
                .as_ref()
                .is_none_or(|name| exchange_name(name) == order.exchange)
    }
}

/// An id as a header can carry it.
fn event_id(text: &str) -> Result<String, BadQuery> {
    let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
    if text.is_empty() || !printable || text.len() > Stream::LONGEST_ID {
        return Err(BadQuery::new(
            "last_event_id",
            format!("{text:?} is no id of an event"),
            "the id of an event of the stream, as it was sent",
        ));
    }
    Ok(text.to_owned())
}
