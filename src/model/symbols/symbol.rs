//! Parsing of symbols in the spellings of exchanges, libraries and charting sites.
//!
//! One parser reads `BTC`, `BTCUSDT`, `BTC-USDT-SWAP`, `BTC/USDT:USDT`, `PF_XBTUSD` and `BINANCE:BTCUSDT.P`. Perpetual
//! and dated contracts of a pair share its name, and so do their orders.

use std::fmt;

use crate::model::symbols::names::{
    PLAIN_QUOTES, QUOTES, coin_of_base, is_coin, known_exchange, own_name, quote_of_pair,
};

/// Suffixes of perpetual contracts.
const PERPETUAL: [&str; 7] = [
    "SWAP",
    "PERP",
    "PERPETUAL",
    "XPERP",
    "UMCBL",
    "DMCBL",
    "CMCBL",
];

/// Prefixes of contracts: two of perpetual ones, then two of dated ones.
const PREFIXES: [&str; 4] = ["PF_", "PI_", "FI_", "FF_"];

/// Spellings of a quote with a margin suffix; `USDTM` is not a quote of its own.
const WITH_M: [(&str, &str); 3] = [("USDTM", "USDT"), ("USDCM", "USDC"), ("USDM", "USD")];

/// Delivery month letters, January to December.
const MONTH_LETTERS: &str = "FGHJKMNQUVXZ";

/// Month names, as in `27NOV26`.
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];

/// The kind of contract that a spelling names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContractKind {
    /// Without expiry; the default.
    #[default]
    Perpetual,
    /// With a delivery date.
    Dated,
    /// Spot: the coin itself.
    Spot,
}

impl ContractKind {
    /// The name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Perpetual => "perpetual",
            Self::Dated => "dated",
            Self::Spot => "spot",
        }
    }
}

/// A parsed coin or trading pair.
///
/// # Examples
///
/// ```
/// use liqdata::model::Symbol;
///
/// let symbol = Symbol::read("BTC/USDT:USDT").unwrap();
/// assert_eq!((symbol.name(), symbol.coin(), symbol.quote()), ("BTCUSDT", "BTC", Some("USDT")));
/// assert_eq!(Symbol::read("xbt").unwrap().name(), "BTC");
/// assert!(Symbol::read("PEPE").unwrap().means("1000PEPEUSDT", "PEPE"));
/// assert_eq!(Symbol::read(" "), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    name: String,
    coin: String,
    scale: u32,
    quote: Option<String>,
    kind: ContractKind,
    exchange: Option<&'static str>,
}

impl Symbol {
    /// Parses `text`; `None` if it is blank.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (exchange, rest) = match text.split_once(':') {
            Some((left, rest)) if !rest.trim().is_empty() => match known_exchange(left) {
                Some(exchange) => (Some(exchange), rest.trim()),
                None => (None, text),
            },
            _ => (None, text),
        };
        let whole = rest.to_uppercase();
        let parts = Parts::of(&whole)?;
        let base = own_name(parts.base);
        let (coin, scale) = coin_of_base(base);
        let quote = parts.quote.map(str::to_owned);
        let name = quote
            .as_ref()
            .map_or_else(|| coin.clone(), |quote| [base, quote].concat());
        Some(Self {
            name,
            coin,
            scale,
            quote,
            kind: parts.kind,
            exchange,
        })
    }

    /// The normalized name: `BTC` for a coin, `BTCUSDT` for a pair. A pair keeps its scale prefix.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The coin.
    #[must_use]
    pub fn coin(&self) -> &str {
        &self.coin
    }

    /// Coins per listed unit: 1000 for `1000PEPEUSDT`.
    #[must_use]
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The quote currency of a pair; `None` for a coin.
    #[must_use]
    pub fn quote(&self) -> Option<&str> {
        self.quote.as_deref()
    }

    /// The kind of contract.
    #[must_use]
    pub fn kind(&self) -> ContractKind {
        self.kind
    }

    /// The exchange prefix, normalized.
    #[must_use]
    pub fn exchange(&self) -> Option<&'static str> {
        self.exchange
    }

    /// Whether this symbol includes the listing `symbol` of the coin `coin`.
    ///
    /// A pair includes its own name in any spelling, a coin all its pairs. A scaled listing is a pair of its own, so
    /// sums over pairs count nothing twice.
    #[must_use]
    pub fn means(&self, symbol: &str, coin: &str) -> bool {
        self.name == symbol
            || self.quote.is_none() && self.coin == coin
            || Self::read(symbol).is_some_and(|listed| listed.name == self.name)
    }

    /// Whether `other` is the same pair with another scale: `PEPEUSDT` and `1000PEPEUSDT`.
    #[must_use]
    pub fn is_scaled(&self, other: &Self) -> bool {
        self.quote.is_some()
            && (&self.coin, &self.quote) == (&other.coin, &other.quote)
            && self.scale != other.scale
    }
}

/// The coin of a pair and the coins per listed unit: `BTCUSDT` → (`BTC`, 1), `1000PEPEUSDT` → (`PEPE`, 1000).
///
/// Parses like [`Symbol::read`], except that the text must be a pair: `BTC-USDT-SWAP`, `BTC/USDT:USDT`, `XBTUSDTM` and
/// `PF_XBTUSD` are all `BTC`. A pair without a known quote is its own coin. Digits are removed only for known scales,
/// so `1INCH` stays `1INCH`.
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
    match Symbol::read(pair) {
        Some(named) if named.quote().is_some() => (named.coin().to_owned(), named.scale()),
        // A name that could be a coin is a pair here if it ends in a quote: `GMTUSD`.
        Some(named) => {
            let name = named.name();
            let base = quote_of_pair(name).and_then(|quote| name.strip_suffix(quote));
            coin_of_base(base.unwrap_or(name))
        }
        None => coin_of_base(pair),
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Separators between the parts of a symbol.
const SEPARATORS: [char; 4] = ['-', '_', '/', ':'];

/// The parts of a spelling.
struct Parts<'a> {
    base: &'a str,
    quote: Option<&'a str>,
    kind: ContractKind,
}

impl<'a> Parts<'a> {
    /// Splits an upper-case spelling without exchange.
    fn of(whole: &'a str) -> Option<Self> {
        if let Some(parts) = Self::of_two_currencies(whole) {
            return Some(parts);
        }
        let plain = whole.strip_suffix(".P").unwrap_or(whole);
        let prefix = PREFIXES.iter().position(|prefix| plain.starts_with(prefix));
        let plain = prefix
            .and_then(|at| plain.strip_prefix(PREFIXES.get(at)?))
            .unwrap_or(plain);
        let mut words = plain.split(SEPARATORS).filter(|word| !word.is_empty());
        let head = words.next()?;
        let others: Vec<&str> = words.collect();
        let is_dated = prefix.is_some_and(|at| at > 1) || others.iter().any(|word| is_date(word));
        let is_perpetual = others.iter().any(|word| PERPETUAL.contains(word));
        let of = |base, quote, kind| {
            let kind = if is_dated { ContractKind::Dated } else { kind };
            Some(Self { base, quote, kind })
        };
        if let Some(quote) = others.first().filter(|word| is_quote(word)) {
            let settled = is_perpetual || plain.contains(':');
            let is_spot = plain.contains('/') && !settled;
            let kind = if is_spot {
                ContractKind::Spot
            } else {
                ContractKind::Perpetual
            };
            return of(head, Some(*quote), kind);
        }
        if let Some((base, quote, kind)) = joined(head) {
            return of(base, Some(quote), kind);
        }
        // A contract in USD that does not name its quote: `BTC-PERPETUAL`, `BTC-27NOV26`.
        let in_dollars = others.first().is_some_and(|word| *word == "PERPETUAL") || is_dated;
        of(
            head,
            (in_dollars && is_coin(own_name(head))).then_some("USD"),
            ContractKind::Perpetual,
        )
    }

    /// Parses spellings such as `TBTCF0:USTF0`.
    fn of_two_currencies(whole: &'a str) -> Option<Self> {
        let (base, quote) = whole.strip_prefix('T')?.split_once(':')?;
        let quote = match quote.strip_suffix("F0")? {
            "UST" => "USDT",
            quote => quote,
        };
        Some(Self {
            base: base.strip_suffix("F0").filter(|base| !base.is_empty())?,
            quote: Some(quote),
            kind: ContractKind::Perpetual,
        })
    }
}

/// Base, quote and kind of a pair without separators.
fn joined(word: &str) -> Option<(&str, &str, ContractKind)> {
    if let Some(base) = word.strip_suffix("PERP")
        && !base.is_empty()
    {
        return match plain_pair(base) {
            Some((base, quote)) => Some((base, quote, ContractKind::Perpetual)),
            None => Some((base, "USDC", ContractKind::Perpetual)),
        };
    }
    if let Some((base, quote)) = plain_pair(word) {
        return Some((base, quote, ContractKind::Perpetual));
    }
    for (ending, quote) in WITH_M {
        if let Some(base) = word.strip_suffix(ending)
            && !base.is_empty()
            && (quote != "USD" || is_coin(own_name(base)))
        {
            return Some((base, quote, ContractKind::Perpetual));
        }
    }
    let pair = without_month(word)?;
    match plain_pair(pair) {
        Some((base, quote)) => Some((base, quote, ContractKind::Dated)),
        None => is_coin(own_name(pair)).then_some((pair, "USD", ContractKind::Dated)),
    }
}

/// Base and quote of a name that cannot be a coin.
fn plain_pair(word: &str) -> Option<(&str, &str)> {
    let quote = quote_of_pair(word)?;
    let base = word.strip_suffix(quote)?;
    let (coin, scale) = coin_of_base(own_name(base));
    (PLAIN_QUOTES.contains(&quote) || scale > 1 || is_coin(&coin)).then_some((base, quote))
}

fn is_quote(word: &str) -> bool {
    QUOTES.contains(&word)
}

/// Whether a part is a date: `261225`, `20261225`, `27NOV26`.
fn is_date(word: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if digits(word) {
        return matches!(word.len(), 4 | 6 | 8);
    }
    MONTHS.iter().any(|month| {
        word.split_once(month).is_some_and(|(day, year)| {
            (1..=2).contains(&day.len()) && year.len() == 2 && digits(day) && digits(year)
        })
    })
}

/// `name` without a delivery month suffix such as `Z26`.
#[must_use]
pub fn without_month(name: &str) -> Option<&str> {
    let (head, year) = name.split_at_checked(name.len().checked_sub(2)?)?;
    let rest = head.strip_suffix(|letter| MONTH_LETTERS.contains(letter))?;
    (year.bytes().all(|digit| digit.is_ascii_digit()) && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::model::symbols::symbol::*;

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
    fn every_spelling_comes_down_to_the_same_names() {
        use ContractKind::{Dated, Perpetual, Spot};
        for (text, name, coin, quote, kind) in [
            ("BTC", "BTC", "BTC", None, Perpetual),
            (" xbt ", "BTC", "BTC", None, Perpetual),
            ("BTCUSDT", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("btcusdt", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("BTC/USDT:USDT", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            (
                "BTC/USDT:USDT-261225",
                "BTCUSDT",
                "BTC",
                Some("USDT"),
                Dated,
            ),
            ("BTC/USDT", "BTCUSDT", "BTC", Some("USDT"), Spot),
            ("BTC-USDT-SWAP", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("BTC-USD-261225", "BTCUSD", "BTC", Some("USD"), Dated),
            (
                "BTC-USD_UM_XPERP-310404",
                "BTCUSD",
                "BTC",
                Some("USD"),
                Dated,
            ),
            ("BTC_USDT", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("XBTUSD", "BTCUSD", "BTC", Some("USD"), Perpetual),
            ("XBT_USDT", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("PF_XBTUSD", "BTCUSD", "BTC", Some("USD"), Perpetual),
            ("FI_XBTUSD_261225", "BTCUSD", "BTC", Some("USD"), Dated),
            ("BTCUSD_PERP", "BTCUSD", "BTC", Some("USD"), Perpetual),
            ("BTCUSDT_261225", "BTCUSDT", "BTC", Some("USDT"), Dated),
            ("BTCUSDTM", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("XBTUSDM", "BTCUSD", "BTC", Some("USD"), Perpetual),
            ("XBTUSDTZ26", "BTCUSDT", "BTC", Some("USDT"), Dated),
            ("XBTZ26", "BTCUSD", "BTC", Some("USD"), Dated),
            ("BTCPERP", "BTCUSDC", "BTC", Some("USDC"), Perpetual),
            ("BTC-PERPETUAL", "BTCUSD", "BTC", Some("USD"), Perpetual),
            (
                "BTC_USDC-PERPETUAL",
                "BTCUSDC",
                "BTC",
                Some("USDC"),
                Perpetual,
            ),
            ("BTC-27NOV26", "BTCUSD", "BTC", Some("USD"), Dated),
            ("tBTCF0:USTF0", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("BTCUSDT.P", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("BTCUSDT_UMCBL", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            (
                "1000PEPEUSDT",
                "1000PEPEUSDT",
                "PEPE",
                Some("USDT"),
                Perpetual,
            ),
            ("1000PEPE", "PEPE", "PEPE", None, Perpetual),
            ("kPEPE", "PEPE", "PEPE", None, Perpetual),
            ("1INCHUSDT", "1INCHUSDT", "1INCH", Some("USDT"), Perpetual),
            ("ETHBTC", "ETHBTC", "ETH", Some("BTC"), Perpetual),
            ("PYUSD", "PYUSD", "PYUSD", None, Perpetual),
            ("USDC", "USDC", "USDC", None, Perpetual),
            ("USDT", "USDT", "USDT", None, Perpetual),
            ("NOPE", "NOPE", "NOPE", None, Perpetual),
            ("WBTC", "WBTC", "WBTC", None, Perpetual),
        ] {
            let read = Symbol::read(text).unwrap();
            let found = (read.name(), read.coin(), read.quote(), read.kind());
            assert_eq!(found, (name, coin, quote, kind), "{text}");
            assert_eq!(read.exchange(), None, "{text}");
        }
        for blank in ["", " ", "-", "/:", "PF_", ".P"] {
            assert_eq!(Symbol::read(blank), None, "{blank:?}");
        }
    }

    #[test]
    fn an_exchange_prefix_is_recognised() {
        for (text, exchange, name) in [
            ("BINANCE:BTCUSDT", Some("binance"), "BTCUSDT"),
            ("BYBIT:BTCUSDT.P", Some("bybit"), "BTCUSDT"),
            ("okex:BTC-USDT-SWAP", Some("okx"), "BTCUSDT"),
            ("BTC:USDT", None, "BTCUSDT"),
        ] {
            let read = Symbol::read(text).unwrap();
            assert_eq!((read.exchange(), read.name()), (exchange, name), "{text}");
        }
    }

    #[test]
    fn a_pair_means_its_listings_and_a_coin_all_its_pairs() {
        for (asked, symbol, coin, means) in [
            ("BTC", "BTCUSDT", "BTC", true),
            ("BTC", "BTC-USD-SWAP", "BTC", true),
            ("BTC", "ETHBTC", "ETH", false),
            ("BTCUSDT", "BTCUSDT", "BTC", true),
            ("BTCUSDT", "BTC/USDT:USDT", "BTC", true),
            ("BTCUSDT", "BTCUSD", "BTC", false),
            ("BTCUSDT", "BTCUSDC", "BTC", false),
            ("PEPEUSDT", "1000PEPEUSDT", "PEPE", false),
            ("1000PEPEUSDT", "PEPEUSDT", "PEPE", false),
            ("1000PEPE-USDT", "1000PEPEUSDT", "PEPE", true),
            ("kPEPE", "1000PEPEUSDT", "PEPE", true),
            ("XBTUSD", "BTCUSD", "BTC", true),
            ("FART-USD", "FARTUSD", "FART", true),
            ("FARTUSD", "FART-USD", "FART", true),
            ("NOQUOTE", "NOQUOTE", "NOQUOTE", true),
        ] {
            let read = Symbol::read(asked).unwrap();
            assert_eq!(read.means(symbol, coin), means, "{asked} {symbol}");
        }
    }
}
