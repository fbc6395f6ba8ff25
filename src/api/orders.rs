//! `/api/liquidations`: the order feed, newest first, in pages.

use super::query::{limit, limits, pair};
use super::{BadQuery, Endpoint, Query};
use crate::model::{Order, Pair};

/// Asks for one page of the order feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// Only this trading pair.
    pub symbol: Option<Pair>,
    /// Only this exchange, lower case.
    pub exchange: Option<String>,
    /// Most rows wanted, 1 to 1000.
    pub limit: u16,
    /// Rows to skip from the newest.
    pub offset: u64,
}

impl Orders {
    /// The largest `limit`.
    pub const MAX: u16 = 1000;
    /// What an `offset` may be, as a sentence.
    pub const OFFSETS: &'static str = "a whole number from 0 to 9223372036854775807";

    /// The question of these parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    pub fn new(
        symbol: Option<&str>,
        exchange: Option<&str>,
        limit_: i128,
        offset: i128,
    ) -> Result<Self, BadQuery> {
        Ok(Self {
            symbol: symbol.map(pair).transpose()?,
            exchange: exchange.map(exchange_filter).transpose()?,
            limit: limit(limit_, Self::MAX)?,
            offset: i64::try_from(offset)
                .ok()
                .and_then(|offset| u64::try_from(offset).ok())
                .ok_or_else(|| {
                    BadQuery::new(
                        "offset",
                        format!("{offset} is out of bounds"),
                        Self::OFFSETS,
                    )
                })?,
        })
    }
}

pub(super) fn exchange_filter(text: &str) -> Result<String, BadQuery> {
    let name = text.trim().to_lowercase();
    if name.is_empty() {
        return Err(BadQuery::new(
            "exchange",
            format!("{text:?} is blank"),
            r#"an exchange's name such as "binance""#,
        ));
    }
    Ok(name)
}

impl Endpoint for Orders {
    const NAME: &'static str = "orders";
    const PATH: &'static str = "/api/liquidations";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &["symbol", "exchange", "limit", "offset"];
    type Reply = Vec<Order>;

    fn from_query(query: &Query) -> Result<Self, BadQuery> {
        Self::new(
            query.text("symbol"),
            query.text("exchange"),
            query.number("limit", 50, &limits(Self::MAX))?,
            query.number("offset", 0, Self::OFFSETS)?,
        )
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::with_capacity(4);
        pairs.extend(
            self.symbol
                .as_ref()
                .map(|symbol| ("symbol", symbol.to_string())),
        );
        pairs.extend(
            self.exchange
                .as_ref()
                .map(|exchange| ("exchange", exchange.clone())),
        );
        pairs.push(("limit", self.limit.to_string()));
        pairs.push(("offset", self.offset.to_string()));
        pairs
    }
}
