//! Names: coins, trading pairs and exchanges, and which is which.

use std::fmt;

/// Quotes by which a pair is told from a coin: no coin's own name ends in one of these behind another name.
const PLAIN_QUOTES: [&str; 4] = ["USDT", "USDC", "FDUSD", "BUSD"];

/// Quote currencies in the order in which a pair is split; longer ones before their own endings.
const QUOTES: [&str; 16] = [
    "FDUSD", "USDT", "USDC", "BUSD", "USD1", "USDE", "TUSD", "USD", "EUR", "TRY", "BRL", "GBP",
    "JPY", "KRW", "BTC", "ETH",
];

/// Retired quotes whose first letter is far more often the last of a coin quoted in USD: `BNBUSD`, `DOTUSD`.
const RETIRED_QUOTES: [&str; 2] = ["BUSD", "TUSD"];

/// Bases that venues list in thousands or millions, where the number is no part of the coin's own name.
const SCALED: [&str; 28] = [
    "PEPE", "SHIB", "BONK", "FLOKI", "LUNC", "XEC", "SATS", "RATS", "CAT", "WHY", "CHEEMS", "MOG",
    "X", "LADYS", "BABYDOGE", "TURBO", "NEIROCTO", "NEIRO", "TOSHI", "APU", "COQ", "STARL", "WEN",
    "QUBIC", "BTT", "ELON", "AIDOGE", "PUMP",
];

/// Scale prefixes of listings, longest first.
const SCALES: [(&str, u32); 6] = [
    ("1000000", 1_000_000),
    ("100000", 100_000),
    ("10000", 10_000),
    ("1000", 1000),
    ("1M", 1_000_000),
    ("K", 1000),
];

/// Coins so well known that their bare name is no trading pair.
const WELL_KNOWN: [&str; 40] = [
    "BTC", "ETH", "SOL", "XRP", "BNB", "DOGE", "ADA", "TRX", "LINK", "AVAX", "SUI", "XLM", "HBAR",
    "BCH", "LTC", "DOT", "UNI", "PEPE", "SHIB", "AAVE", "NEAR", "APT", "ICP", "ETC", "ATOM", "FIL",
    "ARB", "OP", "INJ", "TIA", "SEI", "WIF", "BONK", "WLD", "TON", "HYPE", "ENA", "ONDO", "TAO",
    "FARTCOIN",
];

/// A coin symbol, upper case, such as `BTC`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coin(String);

/// A trading pair, upper case, such as `BTCUSDT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair(String);

macro_rules! names {
    ($($type:ident),+) => {$(
        impl $type {
            /// The name `text` in upper case without surrounding blanks; `None` where nothing is left.
            #[must_use]
            pub fn new(text: &str) -> Option<Self> {
                let name = text.trim().to_uppercase();
                (!name.is_empty()).then_some(Self(name))
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

names!(Coin, Pair);

/// The quote currency of a pair, where it is one we know.
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
    QUOTES.into_iter().find(|quote| {
        pair.strip_suffix(quote).is_some_and(|base| {
            !base.is_empty() && (!RETIRED_QUOTES.contains(quote) || is_coin(&coin_of_base(base).0))
        })
    })
}

/// What venues and libraries put between the parts of a symbol.
const SEPARATORS: [char; 4] = ['-', '_', '/', ':'];

/// The coin of a pair and how many of it one listed unit holds: `BTCUSDT` → (`BTC`, 1), `1000PEPEUSDT` → (`PEPE`, 1000).
///
/// Separators and what follows a contract's name are passed over: `BTC-USDT-SWAP`, `BTC/USDT:USDT` and `BTCUSD_PERP` are
/// of `BTC`. A pair without a known quote is its own coin. Digits are stripped only where a venue's scale is known, so `1INCH`
/// stays `1INCH`.
///
/// # Examples
///
/// ```
/// use liqdata::model::coin_of_pair;
///
/// assert_eq!(coin_of_pair("1000PEPEUSDT"), ("PEPE".to_owned(), 1000));
/// assert_eq!(coin_of_pair("1INCHUSDT"), ("1INCH".to_owned(), 1));
/// ```
#[must_use]
pub fn coin_of_pair(pair: &str) -> (String, u32) {
    let mut parts = pair.split(SEPARATORS);
    let head = parts.next().unwrap_or(pair);
    // `BTC-USDT-SWAP` names its quote apart, `BTCUSDT_261225` does not.
    if parts.next().is_some_and(|quote| QUOTES.contains(&quote)) {
        return coin_of_base(head);
    }
    let base = quote_of_pair(head)
        .and_then(|quote| head.strip_suffix(quote))
        .unwrap_or(head);
    coin_of_base(base)
}

/// The coin of a pair's base and how many of it one listed unit holds: `1000PEPE` → (`PEPE`, 1000).
#[must_use]
pub fn coin_of_base(base: &str) -> (String, u32) {
    for (prefix, scale) in SCALES {
        if let Some(rest) = base.strip_prefix(prefix)
            && SCALED.contains(&rest)
        {
            return (rest.to_owned(), scale);
        }
    }
    if let Some(rest) = base.strip_suffix("1000")
        && SCALED.contains(&rest)
    {
        return (rest.to_owned(), 1000);
    }
    (base.to_owned(), 1)
}

/// Whether `name` is a coin so well known that it cannot be meant as a pair.
#[must_use]
pub fn is_coin(name: &str) -> bool {
    WELL_KNOWN.contains(&name)
}

/// The coin to suggest where `name` is plainly a trading pair, else `None`.
#[must_use]
pub fn hint_coin(name: &str) -> Option<String> {
    let coin = coin_of_pair(name).0;
    if name.contains(SEPARATORS) {
        return Some(coin).filter(|coin| !coin.is_empty());
    }
    let quote = quote_of_pair(name)?;
    (PLAIN_QUOTES.contains(&quote) || is_coin(&coin)).then_some(coin)
}

/// The pair to suggest where `name` is plainly a coin, else `None`.
#[must_use]
pub fn hint_pair(name: &str) -> Option<String> {
    is_coin(name).then(|| format!("{name}USDT"))
}

/// The coin of `known` that was likely meant by an unknown name such as a venue's own spelling of a pair, else `None`.
#[must_use]
pub fn likely_coin(name: &str, known: &[String]) -> Option<String> {
    let plain: String = name
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .collect();
    let pair = ["PERP", "SWAP"]
        .into_iter()
        .find_map(|kind| plain.strip_suffix(kind))
        .unwrap_or(&plain);
    let coin = coin_of_pair(pair).0;
    (coin != name && known.contains(&coin)).then_some(coin)
}

/// How a hint is said.
#[must_use]
pub fn did_you_mean(meant: &str) -> String {
    format!("did you mean {meant:?}?")
}

/// Our spelling of an exchange's name: lower case, `gateio` is `gate` and `huobi` is `htx`.
#[must_use]
pub fn exchange_name(text: &str) -> String {
    match text.trim().to_lowercase().as_str() {
        "gateio" | "gate.io" => "gate".to_owned(),
        "huobi" => "htx".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_names_its_coin_without_the_venues_scale() {
        for (pair, coin, scale) in [
            ("BTCUSDT", "BTC", 1),
            ("BTCUSD", "BTC", 1),
            ("1000PEPEUSDT", "PEPE", 1000),
            ("10000LADYSUSDT", "LADYS", 10_000),
            ("1MBABYDOGEUSDT", "BABYDOGE", 1_000_000),
            ("SHIB1000USDT", "SHIB", 1000),
            ("1INCHUSDT", "1INCH", 1),
            ("0GUSDT", "0G", 1),
            ("4USDT", "4", 1),
            ("2ZUSDT", "2Z", 1),
            ("ETHBTC", "ETH", 1),
            ("BTC-USDT", "BTC", 1),
            ("BTC-USDT-SWAP", "BTC", 1),
            ("BTC/USDT:USDT", "BTC", 1),
            ("BTC_USDT", "BTC", 1),
            ("BTCUSD_PERP", "BTC", 1),
            ("BTCUSDT_261225", "BTC", 1),
            ("TUSD-USDT", "TUSD", 1),
            ("USDCUSDT", "USDC", 1),
            ("BNBUSD", "BNB", 1),
            ("DOTUSD", "DOT", 1),
            ("GMTUSD", "GMT", 1),
            ("BNBBUSD", "BNB", 1),
            ("1000SHIBBUSD", "SHIB", 1000),
            ("KAVAUSDT", "KAVA", 1),
            ("NOQUOTE", "NOQUOTE", 1),
        ] {
            assert_eq!(coin_of_pair(pair), (coin.to_owned(), scale), "{pair}");
        }
    }

    #[test]
    fn only_a_plain_mix_up_gets_a_hint() {
        assert_eq!(hint_coin("BTCUSDT").as_deref(), Some("BTC"));
        assert_eq!(hint_coin("BTCUSD").as_deref(), Some("BTC"));
        assert_eq!(hint_coin("BTC/USDT").as_deref(), Some("BTC"));
        assert_eq!(hint_coin("PYUSD"), None);
        assert_eq!(hint_coin("USDC"), None);
        assert_eq!(hint_pair("ETH").as_deref(), Some("ETHUSDT"));
        assert_eq!(hint_pair("BTCUSDT"), None);
        assert_eq!(hint_pair("NOPE"), None);
    }

    #[test]
    fn a_pair_in_a_venues_own_spelling_hints_at_its_coin() {
        let known = ["BTC".to_owned(), "PEPE".to_owned()];
        for (asked, wanted) in [
            ("BTC-USDT-SWAP", Some("BTC")),
            ("BTC_USDT", Some("BTC")),
            ("BTCPERP", Some("BTC")),
            ("1000PEPE", Some("PEPE")),
            ("ETHUSD", None),
            ("NOPE", None),
            ("", None),
        ] {
            assert_eq!(likely_coin(asked, &known).as_deref(), wanted, "{asked}");
        }
    }
}
