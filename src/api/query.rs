//! Reading parameters: one rule per kind of parameter, used by every endpoint.

use super::BadQuery;
use crate::model::{Coin, Pair, Vocabulary, did_you_mean, hint_coin, hint_pair};

/// Parameters that our server understands beside the contract's own.
const EXTENSIONS: [&str; 2] = ["explain", "as_of"];

/// The decoded pairs of a query string.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query of an endpoint that knows `parameters`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a name the endpoint does not know or that is given twice.
    pub fn new(pairs: Vec<(String, String)>, parameters: &[&str]) -> Result<Self, BadQuery> {
        for (i, (name, value)) in pairs.iter().enumerate() {
            if !parameters.contains(&name.as_str()) && !EXTENSIONS.contains(&name.as_str()) {
                let known = if parameters.is_empty() {
                    "no parameters".to_owned()
                } else {
                    parameters.join(", ")
                };
                return Err(BadQuery::new(
                    name.clone(),
                    "is not a parameter of this endpoint",
                    known,
                ));
            }
            if pairs.iter().take(i).any(|(earlier, _)| earlier == name) {
                return Err(BadQuery::new(
                    name.clone(),
                    format!("is given twice, again as {value:?}"),
                    "one value",
                ));
            }
        }
        Ok(Self(pairs))
    }

    /// The text of `name`, if given.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// The whole number of `name`, or `default`.
    pub(super) fn number(
        &self,
        name: &'static str,
        default: i128,
        allowed: &str,
    ) -> Result<i128, BadQuery> {
        self.text(name).map_or(Ok(default), |text| {
            text.parse().map_err(|_| {
                BadQuery::new(name, format!("{text:?} is not a whole number"), allowed)
            })
        })
    }
}

/// A member of a closed vocabulary.
pub(super) fn member<V: Vocabulary>(name: &'static str, text: &str) -> Result<V, BadQuery> {
    V::parse(text)
        .ok_or_else(|| BadQuery::new(name, format!("{text:?} is not allowed"), V::spellings()))
}

/// A page size from 1 to `max`.
pub(super) fn limit(value: i128, max: u16) -> Result<u16, BadQuery> {
    u16::try_from(value)
        .ok()
        .filter(|limit| (1..=max).contains(limit))
        .ok_or_else(|| BadQuery::new("limit", format!("{value} is out of bounds"), limits(max)))
}

/// The sentence that lists what [`limit`] takes.
pub(super) fn limits(max: u16) -> String {
    format!("a whole number from 1 to {max}")
}

/// A coin symbol; what is plainly a pair is refused with the coin it means.
pub(super) fn coin(text: &str) -> Result<Coin, BadQuery> {
    const ALLOWED: &str = r#"a coin symbol such as "BTC""#;
    let coin = Coin::new(text)
        .ok_or_else(|| BadQuery::new("symbol", format!("{text:?} is blank"), ALLOWED))?;
    match hint_coin(coin.as_str()) {
        Some(hint) => Err(BadQuery::new(
            "symbol",
            format!(
                "{:?} is a trading pair and a coin is meant here; {}",
                coin.as_str(),
                did_you_mean(&hint)
            ),
            ALLOWED,
        )),
        None => Ok(coin),
    }
}

/// A trading pair; what is plainly a coin is refused with a pair of it.
pub(super) fn pair(text: &str) -> Result<Pair, BadQuery> {
    const ALLOWED: &str = r#"a trading pair such as "BTCUSDT""#;
    let pair = Pair::new(text)
        .ok_or_else(|| BadQuery::new("symbol", format!("{text:?} is blank"), ALLOWED))?;
    match hint_pair(pair.as_str()) {
        Some(hint) => Err(BadQuery::new(
            "symbol",
            format!(
                "{:?} is a coin and a trading pair is meant here; {}",
                pair.as_str(),
                did_you_mean(&hint)
            ),
            ALLOWED,
        )),
        None => Ok(pair),
    }
}
