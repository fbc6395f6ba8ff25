//! Quote currencies, and the split of a pair without a separator into base and quote.

use crate::model::symbols::names::{is_coin, own_name};
use crate::model::symbols::scales::unscaled_base;

/// The condition on the base of a pair without a separator. Coins such as `WBTC` and `PYUSD` also end in a quote.
#[derive(Clone, Copy)]
enum BaseRule {
    /// Any base, because no coin has a name that ends in the quote.
    Any,
    /// A base of at least this many letters. If the name is certainly a pair, its base may be shorter.
    Letters(usize),
    /// Only a well-known coin, because other names often end in the letters of the quote.
    Known,
}

use BaseRule::{Any, Known, Letters};

/// Quotes that count as USD one to one: USD, and stablecoins with a stable peg.
///
/// `UST` (Terra) lost its peg and is not in the list. A quote comes before any quote that it ends in: `FDUSD` before
/// `USD`.
const USD_QUOTES: &[(&str, BaseRule)] = &[
    ("USDT", Any),
    ("USDC", Any),
    ("FDUSD", Any),
    // The first letter of these quotes usually belongs to the coin: `BNBUSD` is `BNB` in `USD`, not `BN` in `BUSD`.
    ("BUSD", Known),
    ("TUSD", Known),
    ("PYUSD", Known),
    ("RLUSD", Known),
    ("GUSD", Known),
    ("USDT0", Any),
    ("USD1", Letters(3)),
    ("USDE", Letters(3)),
    ("USDD", Letters(3)),
    ("USDP", Letters(3)),
    ("USDG", Letters(3)),
    ("USDS", Letters(3)),
    ("USDH", Letters(3)),
    ("DAI", Known),
    ("USD", Letters(2)),
];

/// Quotes that do not count as USD.
const OTHER_QUOTES: &[(&str, BaseRule)] = &[
    ("AEUR", Known),
    ("EURC", Letters(2)),
    ("EURI", Letters(2)),
    ("EURT", Letters(2)),
    ("EURS", Letters(2)),
    ("EURR", Letters(2)),
    ("EURQ", Letters(2)),
    ("EUR", Letters(2)),
    ("KRW", Letters(2)),
    ("JPY", Letters(2)),
    ("JPYC", Letters(2)),
    ("GBP", Letters(2)),
    ("TRY", Letters(2)),
    ("TRYB", Letters(2)),
    ("BRL", Letters(2)),
    ("INR", Letters(2)),
    ("BIDR", Known),
    ("IDR", Letters(2)),
    ("IDRT", Letters(2)),
    ("AUD", Letters(2)),
    ("PLN", Letters(2)),
    ("MXN", Letters(2)),
    ("UAH", Letters(2)),
    ("ZAR", Letters(2)),
    ("CHF", Letters(2)),
    ("CZK", Letters(2)),
    ("NGN", Letters(2)),
    ("THB", Letters(2)),
    ("VND", Letters(2)),
    ("HKD", Letters(2)),
    ("SGD", Letters(2)),
    ("CNY", Letters(2)),
    ("RUB", Known),
    ("CAD", Known),
    ("RON", Known),
    ("ARS", Known),
    ("COP", Known),
    ("CLP", Known),
    ("PEN", Known),
    ("PHP", Known),
    ("AED", Known),
    ("SAR", Known),
    ("NZD", Known),
    ("SEK", Known),
    ("NOK", Known),
    ("DKK", Known),
    ("HUF", Known),
    ("ILS", Known),
    ("TWD", Known),
    ("MYR", Known),
    ("KZT", Known),
    ("CNH", Known),
    ("GEL", Known),
    ("EGP", Known),
    ("PKR", Known),
    ("KES", Known),
    ("XAU", Known),
    ("XAUT", Known),
    ("PAXG", Known),
    ("BTC", Letters(3)),
    ("XBT", Letters(3)),
    ("ETH", Letters(3)),
    ("BNB", Letters(3)),
    ("SOL", Known),
    ("TRX", Known),
    ("XRP", Known),
    ("DOGE", Known),
    ("LTC", Known),
    ("BCH", Known),
    ("OKB", Known),
    ("KCS", Known),
    ("VAI", Known),
    ("UST", Known),
];

/// Coins with names that look like a pair: the name of another coin followed by a quote.
const LIKE_PAIRS: &[&str] = &[
    "WSTETH", "FRXETH", "SFRXETH", "ANKRETH", "PUFETH", "NEIROETH", "SOLVBTC", "PUMPBTC", "UNIBTC",
    "RENBTC", "ENZOBTC", "SLISBNB", "ANKRBNB", "CRVUSD", "SCRVUSD", "FRXUSD", "LISUSD", "DEUSD",
    "AVUSD", "BFUSD", "RWUSD",
];

fn quotes() -> impl Iterator<Item = (&'static str, BaseRule)> {
    USD_QUOTES.iter().chain(OTHER_QUOTES).copied()
}

/// Whether a quote currency counts as USD.
#[must_use]
pub fn is_dollar(quote: &str) -> bool {
    USD_QUOTES.iter().any(|(usd, _)| *usd == quote)
}

/// Whether `name` is a known quote currency.
pub fn is_quote(name: &str) -> bool {
    quotes().any(|(quote, _)| quote == name)
}

/// Whether a base is a well-known coin, with or without a scale.
pub fn is_known_base(base: &str) -> bool {
    is_coin(own_name(unscaled_base(base).0))
}

/// The quote currency of a name that is certainly a pair; `None` if it is not known.
///
/// # Examples
///
/// ```
/// use liqdata::model::quote_of_pair;
///
/// assert_eq!(quote_of_pair("BNBUSD"), Some("USD"));
/// assert_eq!(quote_of_pair("BTCBUSD"), Some("BUSD"));
/// assert_eq!(quote_of_pair("USDT"), None);
/// ```
#[must_use]
pub fn quote_of_pair(pair: &str) -> Option<&'static str> {
    let found = quotes().find(|(quote, rule)| {
        pair.strip_suffix(quote).is_some_and(|base| match rule {
            Any | Letters(_) => !base.is_empty(),
            Known => is_known_base(base),
        })
    });
    found.map(|(quote, _)| quote)
}

/// Splits a name into base and quote; `None` if the name is a coin. The name may be either.
pub fn split_pair(name: &str) -> Option<(&str, &'static str)> {
    if is_quote(name) || is_coin(name) || LIKE_PAIRS.contains(&name) {
        return None;
    }
    quotes().find_map(|(quote, rule)| {
        // Remove a separator that no other rule handles, such as the dot of `BTC.USDT`.
        let base = name.strip_suffix(quote)?;
        let base = base.trim_end_matches(|sign: char| !sign.is_alphanumeric());
        let is_pair = match rule {
            Any => !base.is_empty(),
            Letters(least) => base.len() >= least || is_known_base(base),
            Known => is_known_base(base),
        };
        is_pair.then_some((base, quote))
    })
}

/// The common name of a currency of the exchange Bitfinex, which calls `USDT` by the name `UST`.
pub fn bitfinex_currency(name: &str) -> &str {
    match name.strip_suffix("F0").unwrap_or(name) {
        "UST" => "USDT",
        "UDC" => "USDC",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use crate::model::symbols::quotes::*;

    #[test]
    fn a_joined_pair_is_split_at_its_quote() {
        for (name, base, quote) in [
            ("BTCKRW", "BTC", "KRW"),
            ("WEMIXKRW", "WEMIX", "KRW"),
            ("FARTTRY", "FART", "TRY"),
            ("BTCEURC", "BTC", "EURC"),
            ("ETHBTC", "ETH", "BTC"),
            ("LDOBTC", "LDO", "BTC"),
            ("BNBETH", "BNB", "ETH"),
            ("SOLBNB", "SOL", "BNB"),
            ("ETHSOL", "ETH", "SOL"),
            ("XBTUSD", "XBT", "USD"),
            ("BTC.USDT", "BTC", "USDT"),
            ("SOL|EUR", "SOL", "EUR"),
            ("USDTTRY", "USDT", "TRY"),
            ("EURUSDT", "EUR", "USDT"),
            ("BTCUSD1", "BTC", "USD1"),
            ("BTCRLUSD", "BTC", "RLUSD"),
            ("BTCDAI", "BTC", "DAI"),
            ("GMTUSD", "GMT", "USD"),
            ("DOTUSD", "DOT", "USD"),
            ("BNBUSD", "BNB", "USD"),
            ("PEPETUSD", "PEPE", "TUSD"),
            ("ZKUSD", "ZK", "USD"),
            ("1000BONKEUR", "1000BONK", "EUR"),
        ] {
            assert_eq!(split_pair(name), Some((base, quote)), "{name}");
            assert_eq!(quote_of_pair(name), Some(quote), "{name}");
        }
    }

    #[test]
    fn a_coin_that_ends_in_a_quote_stays_a_coin() {
        for name in [
            "BTC", "USDT", "FDUSD", "PYUSD", "RLUSD", "USDE", "SUSDE", "EURC", "WBTC", "CBBTC",
            "STBTC", "TBTC", "STETH", "WSTETH", "WBETH", "BNSOL", "JITOSOL", "WBNB", "BABYDOGE",
            "BTCDOM", "BTCST", "NEIROETH", "TRON", "STARS", "NEURON", "XSGD", "SUSD", "SHRUB",
        ] {
            assert_eq!(split_pair(name), None, "{name}");
        }
    }

    #[test]
    fn only_pegged_quotes_count_as_usd() {
        for quote in [
            "USD", "USDT", "USDC", "FDUSD", "USD1", "USDH", "USDE", "DAI",
        ] {
            assert!(is_dollar(quote), "{quote}");
        }
        for quote in ["EUR", "KRW", "BTC", "UST", "XAUT", ""] {
            assert!(!is_dollar(quote), "{quote}");
        }
    }
}
