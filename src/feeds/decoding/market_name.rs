//! Splitting of contract names into base and quote.
//!
//! Dated and perpetual contracts of a pair share one symbol, so dates and suffixes are dropped. A scale such as in
//! `1000PEPE` is part of the symbol but not of the coin. If a name is not recognized, the base is the whole name and
//! the quote is empty.

use std::borrow::Cow;

use crate::model::{coin_of_base, is_dollar, own_name, quote_of_pair};

/// Normalized base and quote of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarketName<'a> {
    pub(crate) base: Cow<'a, str>,
    pub(crate) quote: Cow<'a, str>,
}

impl<'a> MarketName<'a> {
    pub(crate) fn new(base: &'a str, quote: &'a str) -> Self {
        Self {
            base: plain(base),
            quote: plain(quote),
        }
    }

    /// Creates the name of a market of which base and quote are unknown.
    pub(crate) fn unnamed(native_id: &'a str) -> Self {
        Self {
            base: Cow::Borrowed(native_id),
            quote: Cow::Borrowed(""),
        }
    }

    /// Splits a pair without a separator.
    pub(crate) fn joined(pair: &'a str) -> Self {
        let quote = quote_of_pair(pair).unwrap_or_default();
        Self {
            base: plain(pair.strip_suffix(quote).unwrap_or(pair)),
            quote: Cow::Borrowed(quote),
        }
    }

    pub(crate) fn symbol(&self) -> String {
        [&*self.base, &*self.quote].concat()
    }

    pub(crate) fn coin(&self) -> String {
        coin_of_base(&self.base).0
    }

    /// Whether the quote currency counts as USD.
    pub(crate) fn is_in_dollars(&self) -> bool {
        is_dollar(&self.quote)
    }
}

/// Returns a currency in upper case; other names of `BTC` and `DOGE` are replaced by these.
fn plain(name: &str) -> Cow<'_, str> {
    match name {
        _ if own_name(name) != name => Cow::Borrowed(own_name(name)),
        _ if name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) =>
        {
            Cow::Borrowed(name)
        }
        _ if name.chars().any(char::is_lowercase) => Cow::Owned(name.to_uppercase()),
        _ => Cow::Borrowed(name),
    }
}

/// Returns the part of `text` before the first byte `at`, or all of `text`.
pub(crate) fn before(text: &str, at: u8) -> &str {
    let place = text.bytes().position(|byte| byte == at);
    place.and_then(|place| text.get(..place)).unwrap_or(text)
}

/// Splits names such as `BTCUSDT` and `BTCUSD`; the quote of `BTCPERP` is USDC.
pub(crate) fn perpetual(native_id: &str) -> MarketName<'_> {
    match native_id.strip_suffix("PERP") {
        Some(base) if !base.is_empty() => MarketName::new(base, "USDC"),
        _ => MarketName::joined(native_id),
    }
}

/// Splits names such as `BTC-USDT-SWAP`, `BTC-USD-261225`, `BTC-USD_UM_XPERP-310404` and `BTC-USD`.
pub(crate) fn dashed(native_id: &str) -> MarketName<'_> {
    let mut parts = native_id.split('-');
    match (parts.next(), parts.next()) {
        (Some(base), Some(quote)) => MarketName::new(base, before(quote, b'_')),
        _ => MarketName::joined(native_id),
    }
}

/// Joins base and quote without a separator.
#[expect(
    clippy::unnecessary_wraps,
    reason = "not every exchange has such a name"
)]
pub(crate) fn joined(base: &str, quote: &str) -> Option<String> {
    Some([base, quote].concat())
}

/// Joins base and quote without a separator; contracts in USDC are named like `BTCPERP`.
pub(crate) fn joined_perpetual(base: &str, quote: &str) -> Option<String> {
    match quote {
        "USDC" => Some(format!("{base}PERP")),
        _ => joined(base, quote),
    }
}

#[cfg(test)]
mod tests {
    use crate::feeds::decoding::market_name::*;

    /// Checks rows of native id, expected symbol and expected coin.
    fn come_down(rule: for<'a> fn(&'a str) -> MarketName<'a>, names: &[[&str; 3]]) {
        for [native_id, symbol, coin] in names {
            let market = rule(native_id);
            assert_eq!(market.symbol(), *symbol, "{native_id}");
            assert_eq!(market.coin(), *coin, "{native_id}");
        }
    }

    #[test]
    fn names_come_down_to_symbol_and_coin() {
        come_down(
            perpetual,
            &[
                ["BTCUSDT", "BTCUSDT", "BTC"],
                ["BTCPERP", "BTCUSDC", "BTC"],
                ["BTCUSD", "BTCUSD", "BTC"],
            ],
        );
        come_down(
            dashed,
            &[
                ["BTC-USDT-SWAP", "BTCUSDT", "BTC"],
                ["BTC-USD-SWAP", "BTCUSD", "BTC"],
                ["BTC-USD-261225", "BTCUSD", "BTC"],
                ["BTC-USD_UM_XPERP-310404", "BTCUSD", "BTC"],
                ["DOT-USD-SWAP", "DOTUSD", "DOT"],
                ["BTC-USD", "BTCUSD", "BTC"],
            ],
        );
        come_down(
            |name| MarketName::joined(name),
            &[["BTCUSDT", "BTCUSDT", "BTC"]],
        );
        come_down(|name| MarketName::unnamed(name), &[["1", "1", "1"]]);
    }

    #[test]
    fn only_dollars_count_as_dollars() {
        assert!(MarketName::new("BTC", "USDC").is_in_dollars());
        assert!(!MarketName::new("ETH", "BTC").is_in_dollars());
        assert!(!MarketName::new("BTC", "EUR").is_in_dollars());
        assert!(!MarketName::unnamed("1").is_in_dollars());
    }

    #[test]
    fn lower_case_names_become_upper_case() {
        assert_eq!(MarketName::new("kPEPE", "USD").symbol(), "KPEPEUSD");
        assert_eq!(MarketName::new("kPEPE", "USD").coin(), "PEPE");
    }
}
