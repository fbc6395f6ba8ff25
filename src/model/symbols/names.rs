//! Names of coins and exchanges.

/// Well-known coins. A bare name from this list is never parsed as a trading pair.
const WELL_KNOWN: [&str; 40] = [
    "BTC", "ETH", "SOL", "XRP", "BNB", "DOGE", "ADA", "TRX", "LINK", "AVAX", "SUI", "XLM", "HBAR",
    "BCH", "LTC", "DOT", "UNI", "PEPE", "SHIB", "AAVE", "NEAR", "APT", "ICP", "ETC", "ATOM", "FIL",
    "ARB", "OP", "INJ", "TIA", "SEI", "WIF", "BONK", "WLD", "TON", "HYPE", "ENA", "ONDO", "TAO",
    "FARTCOIN",
];

/// The well-known coins, which every market accepts in queries.
pub fn well_known() -> impl Iterator<Item = &'static str> {
    WELL_KNOWN.into_iter()
}

/// Whether `name` is a well-known coin, and therefore not a trading pair.
#[must_use]
pub fn is_coin(name: &str) -> bool {
    WELL_KNOWN.contains(&name)
}

/// A suggestion for an error message.
#[must_use]
pub fn did_you_mean(meant: &str) -> String {
    format!("did you mean {meant:?}?")
}

/// The common name of a currency that some exchanges name differently: `XBT` is `BTC`, `XDG` is `DOGE`.
#[must_use]
pub fn own_name(currency: &str) -> &str {
    match currency {
        "XBT" => "BTC",
        "XDG" => "DOGE",
        name => name,
    }
}

/// The exchange of totals that are sums over all exchanges.
pub const ALL_EXCHANGES: &str = "all";

/// The supported exchanges, those with the largest feeds first. The last one publishes account positions only.
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

/// Alternative names of exchanges. `myokx` is OKX in the EEA; OKX lists its perpetual contracts too.
const OTHER_NAMES: [(&str, &str); 25] = [
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
    ("gate_io", "gate"),
    ("binance-delivery", "binance"),
    ("binance_delivery", "binance"),
    ("gate-io", "gate"),
    ("gate-io-futures", "gate"),
    ("huobi", "htx"),
    ("huobi-dm-swap", "htx"),
    ("krakenfutures", "kraken"),
    ("cryptofacilities", "kraken"),
    ("lighter-rh", "lighter_rh"),
    ("myokx", "okx"),
    ("okex", "okx"),
];

/// Regional exchanges without a feed here. Each has listings of its own, all but `bybitid` only spot markets, so they are
/// not other names of the exchanges that run them.
const REGIONAL: [&str; 5] = ["binanceus", "bybiteu", "bybitid", "gateeu", "okxus"];

/// Exchanges that charting sites use as a prefix, as in `KUCOIN:BTCUSDT`, but that this package does not support.
const CHARTED: [&str; 15] = [
    "bingx",
    "bitflyer",
    "bithumb",
    "bitmart",
    "bitstamp",
    "blofin",
    "coinbase",
    "crypto.com",
    "gemini",
    "kucoin",
    "mexc",
    "phemex",
    "poloniex",
    "upbit",
    "whitebit",
];

/// Words that programs add to the name of an exchange, as in `binance_perpetual` (Hummingbot) and `BINANCEFTS`
/// (CoinAPI).
const MARKETS: [&str; 9] = [
    "_perpetual",
    "-perpetual",
    "_futures",
    "-futures",
    "_swap",
    "-swap",
    "ftsc",
    "fts",
    "futures",
];

/// Normalizes an exchange name: lower case, `gateio` is `gate`, `huobi` is `htx` and `okex` is `okx`.
#[must_use]
pub fn exchange_name(text: &str) -> String {
    let name = text.trim().to_lowercase();
    if EXCHANGES.contains(&name.as_str()) {
        return name;
    }
    let other = |name: &str| {
        let own = OTHER_NAMES.iter().find(|(other, _)| *other == name);
        own.map(|(_, own)| *own)
    };
    if let Some(own) = other(&name) {
        return own.to_owned();
    }
    let exchange = MARKETS.iter().find_map(|market| name.strip_suffix(market));
    let known = exchange.and_then(|exchange| {
        let own = EXCHANGES.into_iter().find(|own| *own == exchange);
        own.or_else(|| other(exchange))
    });
    known.map_or(name, str::to_owned)
}

/// The supported exchange that `text` names; `None` if it is not supported.
#[must_use]
pub fn known_exchange(text: &str) -> Option<&'static str> {
    let name = exchange_name(text);
    EXCHANGES.into_iter().find(|known| *known == name)
}

/// The exchange that `text` names: a supported one, or a regional one without a feed.
#[must_use]
pub fn named_exchange(text: &str) -> Option<&'static str> {
    let name = exchange_name(text);
    let mut all = EXCHANGES.into_iter().chain(REGIONAL);
    all.find(|known| *known == name)
}

/// The exchange that the part of a symbol before the colon names, supported or only used by other programs.
pub fn prefixed_exchange(text: &str) -> Option<&'static str> {
    let name = exchange_name(text);
    named_exchange(&name).or_else(|| CHARTED.into_iter().find(|charted| *charted == name))
}
