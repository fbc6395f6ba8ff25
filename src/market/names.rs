//! The names of symbols, coins and exchanges that a market has observed.
//!
//! A query with an unknown name is refused, because an empty reply to a misspelled name would look like a market
//! without liquidations.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::BadQuery;
use crate::market::refusal::Refusal;
use crate::model::{ALIKE, EXCHANGES, Symbol, did_you_mean, is_coin, nearest};

/// Number of coins that a message lists if none is similar.
const LISTED: usize = 20;

/// All names that the market has observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownNames {
    /// Observed symbols, each with its coins.
    pub(crate) listings: BTreeMap<String, BTreeSet<String>>,
    /// Coins with listings or bars.
    pub(crate) coins: BTreeSet<String>,
    /// Observed exchanges in lower case.
    pub(crate) exchanges: BTreeSet<String>,
}

impl KnownNames {
    /// Whether nothing has been observed yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.coins.is_empty()
    }

    /// Adds a listing: the symbol under which an exchange trades a coin.
    pub(crate) fn note(&mut self, exchange: &str, symbol: &str, coin: &str) {
        if !self.exchanges.contains(exchange) {
            self.exchanges.insert(exchange.to_owned());
        }
        let known = self.listings.get(symbol);
        if !known.is_some_and(|coins| coins.contains(coin)) {
            let coins = self.listings.entry(symbol.to_owned()).or_default();
            coins.insert(coin.to_owned());
            self.coins.insert(coin.to_owned());
        }
    }

    /// Adds all names of `other`.
    pub(crate) fn join(&mut self, other: Self) {
        for (symbol, coins) in other.listings {
            self.listings.entry(symbol).or_default().extend(coins);
        }
        self.coins.extend(other.coins);
        self.exchanges.extend(other.exchanges);
    }

    /// Refuses a symbol that was never observed and is not well known; the refusal suggests similar names.
    ///
    /// Nothing is refused before the first observation.
    pub(crate) fn check_symbol(&self, symbol: &Symbol) -> Result<(), Refusal> {
        if let Some(listed) = self.in_another_scale(symbol) {
            let message = format!(
                "{:?} was never observed here; the same pair is listed with another scale as {listed:?}",
                symbol.name()
            );
            let allowed = format!("{listed:?}, or {:?} for all its pairs", symbol.coin());
            return Err(BadQuery::new("symbol", message, allowed).into());
        }
        let means = |(listed, coins): &(&String, &BTreeSet<String>)| {
            coins.iter().any(|coin| symbol.means(listed, coin))
        };
        if let Some(pairs) = self.other_pairs(symbol)
            && !self.listings.iter().any(|listing| means(&listing))
        {
            let coin = symbol.coin();
            let message = format!(
                "{:?} was never observed here; {coin} is listed as {pairs}",
                symbol.name()
            );
            let allowed = format!("{pairs}, or {coin:?} for all its pairs");
            return Err(BadQuery::new("symbol", message, allowed).into());
        }
        let known = self.coins.is_empty()
            || is_coin(symbol.coin())
            || self.coins.contains(symbol.name())
            || self.coins.contains(symbol.coin())
            || self.listings.iter().any(|listing| means(&listing));
        if known {
            return Ok(());
        }
        let listed = self.listings.keys().map(String::as_str);
        let coins = self.coins.iter().map(String::as_str);
        let nearest = match symbol.quote() {
            Some(_) => nearest(symbol.name(), listed, ALIKE),
            None => nearest(symbol.name(), coins.chain(listed), ALIKE),
        };
        Err(unknown("symbol", symbol.name(), &nearest, || {
            let some: Vec<&str> = self.coins.iter().take(LISTED).map(String::as_str).collect();
            let more = self.coins.len().saturating_sub(LISTED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!(
                "an observed coin ({}{more}) or one of its pairs",
                some.join(", ")
            )
        }))
    }

    /// The observed pairs of the coin of a pair, as text; `None` for a coin, and if there are none.
    fn other_pairs(&self, symbol: &Symbol) -> Option<String> {
        symbol.quote()?;
        let listings = self.listings.iter();
        let pairs: Vec<String> = listings
            .filter(|(listed, coins)| {
                coins.contains(symbol.coin())
                    && Symbol::read(listed).is_some_and(|listed| listed.quote().is_some())
            })
            .map(|(listed, _)| format!("{listed:?}"))
            .take(LISTED)
            .collect();
        (!pairs.is_empty()).then(|| pairs.join(", "))
    }

    /// The observed listing of the same pair with another scale, such as `1000PEPEUSDT` for `PEPEUSDT`. `None` if
    /// `symbol` itself was observed.
    fn in_another_scale(&self, symbol: &Symbol) -> Option<&str> {
        let mut found = None;
        for listed in self.listings.keys() {
            let Some(read) = Symbol::read(listed) else {
                continue;
            };
            if read.name() == symbol.name() {
                return None;
            }
            if symbol.is_scaled(&read) {
                found = Some(listed.as_str());
            }
        }
        found
    }

    /// Refuses an exchange that was never observed and that this package does not support.
    pub(crate) fn check_exchange(&self, exchange: &str) -> Result<(), Refusal> {
        if is_exchange(exchange) || self.exchanges.contains(exchange) {
            return Ok(());
        }
        let observed = self.exchanges.iter().map(String::as_str);
        let all: BTreeSet<&str> = EXCHANGES.into_iter().chain(observed).collect();
        let nearest = nearest(exchange, all.iter().copied(), ALIKE);
        let all: Vec<&str> = all.into_iter().collect();
        Err(unknown("exchange", exchange, &nearest, || all.join(", ")))
    }
}

/// Whether the coin of a symbol is well known, so that an empty reply is plausible.
pub(crate) fn is_well_known(symbol: &Symbol) -> bool {
    is_coin(symbol.coin()) && symbol.quote().is_none()
}

/// Whether this package supports an exchange.
pub(crate) fn is_exchange(exchange: &str) -> bool {
    EXCHANGES.contains(&exchange)
}

fn unknown(
    parameter: &'static str,
    name: &str,
    nearest: &[&str],
    otherwise: impl FnOnce() -> String,
) -> Refusal {
    let offered: Vec<String> = nearest.iter().map(|name| format!("{name:?}")).collect();
    let mut message = format!("{name:?} is unknown: it was never observed here");
    if let Some(first) = nearest.first() {
        message = format!("{message}; {}", did_you_mean(first));
    }
    let allowed = match offered.as_slice() {
        [] => otherwise(),
        offered => format!("an observed name; the most similar: {}", offered.join(", ")),
    };
    BadQuery::new(parameter, message, allowed).into()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::market::names::*;

    fn names() -> KnownNames {
        let mut names = KnownNames::default();
        for (exchange, symbol, coin) in [
            ("binance", "BTCUSDT", "BTC"),
            ("nowhere", "FARTUSDT", "FART"),
            ("binance", "1000PEPEUSDT", "PEPE"),
            ("hyperliquid", "XYZ:TSLA", "XYZ:TSLA"),
        ] {
            names.note(exchange, symbol, coin);
        }
        names
    }

    #[test]
    fn what_was_observed_is_known_in_every_spelling() {
        for symbol in [
            "FART",
            "fart-usdt-swap",
            "1000PEPE-USDT",
            "kPEPE",
            "XBT",
            "xyz:TSLA",
            "XYZ-TSLA/USDC:USDC",
        ] {
            names()
                .check_symbol(&Symbol::read(symbol).unwrap())
                .unwrap();
        }
        for exchange in ["binance", "nowhere", "okx"] {
            names().check_exchange(exchange).unwrap();
        }
        KnownNames::default()
            .check_symbol(&Symbol::read("NOPE").unwrap())
            .unwrap();
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let refusal = names()
            .check_symbol(&Symbol::read("BTCSUDT").unwrap())
            .unwrap_err();
        assert!(refusal.message.contains("\"BTCUSDT\""), "{refusal}");
        let other = Symbol::read("BTC-USD").unwrap();
        let refusal = names().check_symbol(&other).unwrap_err();
        assert!(refusal.message.contains("\"BTCUSDT\""), "{refusal}");
        let scaled = Symbol::read("PEPEUSDT").unwrap();
        let refusal = names().check_symbol(&scaled).unwrap_err();
        assert!(refusal.message.contains("\"1000PEPEUSDT\""), "{refusal}");
        for other in ["TSLA", "XYZ", "xyz:NVDA"] {
            let other = Symbol::read(other).unwrap();
            names().check_symbol(&other).unwrap_err();
        }
        let refusal = names().check_exchange("bnance").unwrap_err();
        assert!(refusal.message.contains("\"binance\""), "{refusal}");
        assert_eq!(refusal.parameter.as_deref(), Some("exchange"));
        let refusal = names()
            .check_symbol(&Symbol::read("QQQQ").unwrap())
            .unwrap_err();
        assert!(!refusal.message.contains("did you mean"), "{refusal}");
    }
}
