//! Names of coins, quote currencies and exchanges.

/// Quotes that prove a pair: no coin has a name that is another name followed by one of these.
pub(crate) const PLAIN_QUOTES: [&str; 4] = ["USDT", "USDC", "FDUSD", "BUSD"];

/// Quote currencies in the order in which a pair is split; longer ones precede their own suffixes.
pub(crate) const QUOTES: [&str; 16] = [
    "FDUSD", "USDT", "USDC", "BUSD", "USD1", "USDE", "TUSD", "USD", "EUR", "TRY", "BRL", "GBP",
    "JPY", "KRW", "BTC", "ETH",
];

/// Retired quotes. Their first letter usually belongs to a coin quoted in USD: `BNBUSD`, `DOTUSD`.
const RETIRED_QUOTES: [&str; 2] = ["BUSD", "TUSD"];

/// Bases listed by the thousand or million, where the number is not part of the coin's name.
const SCALED: [&str; 28] = [
    "PEPE", "SHIB", "BONK", "FLOKI", "LUNC", "XEC", "SATS", "RATS", "CAT", "WHY", "CHEEMS", "MOG",
    "X", "LADYS", "BABYDOGE", "TURBO", "NEIROCTO", "NEIRO", "TOSHI", "APU", "COQ", "STARL", "WEN",
    "QUBIC", "BTT", "ELON", "AIDOGE", "PUMP",
];

/// Scale prefixes, longest first.
const SCALES: [(&str, u32); 6] = [
    ("1000000", 1_000_000),
    ("100000", 100_000),
    ("10000", 10_000),
    ("1000", 1000),
    ("1M", 1_000_000),
    ("K", 1000),
];

/// Well-known coins: their bare name is never a trading pair.
const WELL_KNOWN: [&str; 40] = [
    "BTC", "ETH", "SOL", "XRP", "BNB", "DOGE", "ADA", "TRX", "LINK", "AVAX", "SUI", "XLM", "HBAR",
    "BCH", "LTC", "DOT", "UNI", "PEPE", "SHIB", "AAVE", "NEAR", "APT", "ICP", "ETC", "ATOM", "FIL",
    "ARB", "OP", "INJ", "TIA", "SEI", "WIF", "BONK", "WLD", "TON", "HYPE", "ENA", "ONDO", "TAO",
    "FARTCOIN",
];

/// The quote currency of a pair, if known.
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

/// Whether some exchanges list the coin by the thousand or million.
#[must_use]
pub fn may_be_scaled(coin: &str) -> bool {
    SCALED.contains(&coin)
}

/// The well-known coins, which every market has.
pub fn well_known() -> impl Iterator<Item = &'static str> {
    WELL_KNOWN.into_iter()
}

/// Whether `name` is a well-known coin, so that it cannot mean a pair.
#[must_use]
pub fn is_coin(name: &str) -> bool {
    WELL_KNOWN.contains(&name)
}

/// A suggestion for an error message.
#[must_use]
pub fn did_you_mean(meant: &str) -> String {
    format!("did you mean {meant:?}?")
}

/// The common name of a currency with an exchange-specific name: `XBT` is `BTC`, `XDG` is `DOGE`.
#[must_use]
pub fn own_name(currency: &str) -> &str {
    match currency {
        "XBT" => "BTC",
        "XDG" => "DOGE",
        name => name,
    }
}

/// The supported exchanges, largest feeds first; the last one publishes positions only.
pub const EXCHANGES: [&str; 19] = [
    "binance",
    "bybit",
    "okx",
    "gate",
    "bitget",
    "htx",
    "aster",
    "deribit",
    "kraken",
    "bitmex",
    "bitfinex",
    "dydx",
    "coinex",
    "lighter",
    "lighter_rh",
    "pacifica",
    "extended",
    "orderly",
    "hyperliquid",
];

/// Alternative names of exchanges.
const OTHER_NAMES: [(&str, &str); 21] = [
    ("binanceusdm", "binance"),
    ("binancecoinm", "binance"),
    ("binance-futures", "binance"),
    ("binance_futures", "binance"),
    ("bitfinex2", "bitfinex"),
    ("bitfinex-derivatives", "bitfinex"),
    ("bitget-futures", "bitget"),
    ("crypto-com", "crypto.com"),
    ("cryptocom", "crypto.com"),
    ("dydx-v4", "dydx"),
    ("dydx_v4", "dydx"),
    ("gateio", "gate"),
    ("gate.io", "gate"),
    ("gate-io", "gate"),
    ("gate-io-futures", "gate"),
    ("huobi", "htx"),
    ("huobi-dm-swap", "htx"),
    ("krakenfutures", "kraken"),
    ("cryptofacilities", "kraken"),
    ("lighter-rh", "lighter_rh"),
    ("okex", "okx"),
];

/// Normalizes an exchange name: lower case, `gateio` is `gate`, `huobi` is `htx` and `okex` is `okx`.
#[must_use]
pub fn exchange_name(text: &str) -> String {
    let name = text.trim().to_lowercase();
    let own = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    own.map_or(name, |(_, own)| (*own).to_owned())
}

/// The supported exchange that `text` names.
#[must_use]
pub fn known_exchange(text: &str) -> Option<&'static str> {
    let name = exchange_name(text);
    EXCHANGES.into_iter().find(|known| *known == name)
}
