//! Parses symbols in the spellings of exchanges, libraries and charting sites.
//!
//! One parser reads `BTC`, `BTCUSDT`, `BTC-USDT-SWAP`, `BTC/USDT:USDT`, `PF_XBTUSD`, `BINANCE:BTCUSDT.P`, `xyz:TSLA`
//! and `BTC-27NOV26-80000-C`. Perpetual and dated contracts of a pair have the same name, so their orders count as
//! orders of the same pair.

use std::fmt;

use crate::model::symbols::contract_kind::{ContractKind, NotOfCoin, Settlement};
use crate::model::symbols::names::{did_you_mean, is_coin, own_name, well_known};
use crate::model::symbols::programs::without_exchange;
use crate::model::symbols::quotes::{is_dollar, is_known_base};
use crate::model::symbols::scales::{coin_of_base, unscaled_base};
use crate::model::symbols::spelling::{Spelling, bitfinex_pair, split_namespace};

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
    namespace: Option<String>,
    scale: u32,
    quote: Option<String>,
    kind: ContractKind,
    settlement: Option<Settlement>,
    exchange: Option<&'static str>,
    is_clear: bool,
}

impl Symbol {
    /// Parses `text`; `None` if it is blank.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (exchange, text) = without_exchange(text);
        if let Some((base, quote)) = bitfinex_pair(text) {
            return Some(Self::of(None, base, Some(quote)).on(exchange));
        }
        let whole = text.to_uppercase();
        let (namespace, rest) = match split_namespace(&whole) {
            Some((namespace, rest)) => (Some(namespace), rest),
            None => (None, whole.as_str()),
        };
        let parts = Spelling::read(rest)?;
        Some(Self {
            kind: parts.kind,
            settlement: parts.settlement,
            // `FOOEX:BTCUSDT` names an unknown exchange; the markets of builders are coins.
            is_clear: parts.is_clear
                && (namespace.is_none()
                    || parts.quote.is_none()
                    || whole.contains('/')
                    || !is_known_base(parts.base)),
            ..Self::of(namespace, parts.base, parts.quote).on(exchange)
        })
    }

    fn of(namespace: Option<&str>, base: &str, quote: Option<&str>) -> Self {
        let base = own_name(base);
        let (coin, scale) = unscaled_base(base);
        let quote = quote.map(own_name);
        let within = |name: &str| match namespace {
            Some(namespace) => [namespace, ":", name].concat(),
            None => name.to_owned(),
        };
        Self {
            name: match quote {
                Some(quote) => within(base) + quote,
                None => within(coin),
            },
            coin: within(coin),
            namespace: namespace.map(str::to_lowercase),
            scale,
            quote: quote.map(str::to_owned),
            kind: ContractKind::default(),
            settlement: None,
            exchange: None,
            is_clear: true,
        }
    }

    fn on(self, exchange: Option<&'static str>) -> Self {
        Self { exchange, ..self }
    }

    /// The normalized name: `BTC` for a coin, `BTCUSDT` for a pair. The name of a pair includes its scale.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The coin. For the market of a builder, it includes the namespace, as in `XYZ:TSLA`.
    #[must_use]
    pub fn coin(&self) -> &str {
        &self.coin
    }

    /// The name of the builder of a Hyperliquid market: `xyz` for `xyz:TSLA`.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
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

    /// The kind of contract that the spelling indicates.
    #[must_use]
    pub fn kind(&self) -> ContractKind {
        self.kind
    }

    /// How the contract settles; `None` if the spelling does not say.
    #[must_use]
    pub fn settlement(&self) -> Option<Settlement> {
        self.settlement
    }

    /// Whether prices are in USD. This is so for a coin, and for a pair with a quote that counts as USD.
    #[must_use]
    pub fn is_usd(&self) -> bool {
        self.quote().is_none_or(is_dollar)
    }

    /// Checks that orders of this symbol count as orders of its coin; those of an option do not.
    ///
    /// An order retains the quote currency of its pair. Price times quantity is a value in USD only if the symbol
    /// [is in USD](Self::is_usd).
    ///
    /// # Errors
    ///
    /// [`NotOfCoin`] with the reason.
    pub fn gives_orders(&self) -> Result<(), NotOfCoin> {
        match self.kind {
            ContractKind::Option => Err(NotOfCoin::Option),
            ContractKind::Perpetual | ContractKind::Dated | ContractKind::Spot => Ok(()),
        }
    }

    /// Checks that bars and open interest of this symbol count for its coin: it must be perpetual or spot, and in USD.
    ///
    /// # Errors
    ///
    /// [`NotOfCoin`] with the reason. Prices in another quote can be converted; those of options and dated contracts
    /// cannot.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::Symbol;
    ///
    /// assert!(Symbol::read("BTC/USDT:USDT").unwrap().gives_bars().is_ok());
    /// let reason = Symbol::read("BTCKRW").unwrap().gives_bars().unwrap_err();
    /// assert_eq!(reason.to_string(), "the quote currency KRW does not count as USD");
    /// ```
    pub fn gives_bars(&self) -> Result<(), NotOfCoin> {
        self.gives_orders()?;
        if self.kind == ContractKind::Dated {
            return Err(NotOfCoin::Dated);
        }
        match self.quote() {
            Some(quote) if !is_dollar(quote) => Err(NotOfCoin::Quote(quote.to_owned())),
            _ => Ok(()),
        }
    }

    /// The normalized name of the exchange in the symbol's prefix, such as `binance` for `BINANCE:`.
    ///
    /// `None` if the symbol has no known prefix.
    #[must_use]
    pub fn exchange(&self) -> Option<&'static str> {
        self.exchange
    }

    /// Whether every part of the spelling is understood.
    ///
    /// If not, name and coin are guesses: `FOOEX_BTCUSDT` is not a coin.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::Symbol;
    ///
    /// assert!(Symbol::read("BTCUSDT-PERP.BINANCE").unwrap().is_clear());
    /// assert!(!Symbol::read("FOOEX_BTCUSDT").unwrap().is_clear());
    /// ```
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.is_clear
    }

    /// Why an unclear spelling is refused, with the best guess; `None` for a clear one. The reason follows the spelling
    /// and the word "is".
    #[must_use]
    pub fn unclear(&self, text: &str) -> Option<String> {
        if self.is_clear {
            return None;
        }
        let meant = Self::guess(text);
        let meant = meant.map_or_else(String::new, |meant| format!("; {}", did_you_mean(&meant)));
        Some(format!(
            "not a spelling of a symbol that is understood{meant}"
        ))
    }

    /// The pair or coin that an unclear spelling probably means.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::Symbol;
    ///
    /// assert_eq!(Symbol::guess("FOOEX_BTCUSDT.X").as_deref(), Some("BTCUSDT"));
    /// assert_eq!(Symbol::guess("?"), None);
    /// ```
    #[must_use]
    pub fn guess(text: &str) -> Option<String> {
        let text = text.to_uppercase();
        let words: Vec<&str> = text
            .split(|sign: char| !sign.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let read = |text: &str| Self::read(text).filter(Self::is_clear);
        let pair = |word: &&str| read(word).filter(|symbol| symbol.quote.is_some());
        let joined = words.windows(2).map(<[&str]>::concat);
        let start = || {
            let known = well_known().find(|coin| text.starts_with(coin))?;
            let quote = ["USDT", "USDC", "USD"];
            let rest = text.get(known.len()..)?;
            let quote = quote.into_iter().find(|quote| rest.starts_with(quote))?;
            Some([known, quote].concat())
        };
        let coin = |word: &&str| is_coin(word);
        let turned = || {
            let mut pairs = words.windows(2).filter_map(|pair| match pair {
                [quote, base] => Some([*base, *quote].concat()),
                _ => None,
            });
            pairs.find_map(|word| pair(&word.as_str()))
        };
        let found = words.iter().find_map(pair).map(|symbol| symbol.name);
        let of_words = |is_known: bool| {
            let mut pairs = joined.clone().filter_map(|word| pair(&word.as_str()));
            pairs.find(|pair| !is_known || is_coin(&pair.coin))
        };
        let found = found.or_else(|| {
            let pair = of_words(true).or_else(turned).or_else(|| of_words(false));
            pair.map(|symbol| symbol.name)
        });
        let found = found.or_else(start);
        found.or_else(|| {
            words
                .iter()
                .find(|word| coin(word))
                .map(|word| (*word).to_owned())
        })
    }

    /// Whether this symbol includes the listed symbol `symbol` of the coin `coin`.
    ///
    /// A pair includes its own name in any spelling. A coin includes all its pairs. A listing with a scale is a
    /// separate pair, so sums over pairs count no order twice.
    #[must_use]
    pub fn means(&self, symbol: &str, coin: &str) -> bool {
        self.name == symbol
            || self.name == coin
            || self.quote.is_none() && self.coin == coin
            || Self::read(symbol).is_some_and(|listed| listed.name == self.name)
    }

    /// The same coin or pair, without the contract kind and settlement of the spelling.
    #[must_use]
    pub fn of_any_contract(self) -> Self {
        Self {
            scale: if self.quote.is_some() { self.scale } else { 1 },
            kind: ContractKind::default(),
            settlement: None,
            ..self
        }
    }

    /// Whether `other` is the same pair with another scale: `PEPEUSDT` and `1000PEPEUSDT`.
    #[must_use]
    pub fn is_scaled(&self, other: &Self) -> bool {
        self.quote.is_some()
            && (&self.coin, &self.quote) == (&other.coin, &other.quote)
            && self.scale != other.scale
    }
}

/// The coin of a pair or coin, and the coins per listed unit, as [`Symbol::read`] parses them.
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
        Some(symbol) => (symbol.coin, symbol.scale),
        None => coin_of_base(pair),
    }
}

/// Writes a spelling that is parsed as the same coin or pair. That is the name, or a form like `GM/TUSD` if the name
/// would be split differently.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_same =
            |read: Self| (read.coin, read.quote) == (self.coin.clone(), self.quote.clone());
        let base = |quote: &String| self.name.strip_suffix(quote.as_str());
        match self
            .quote
            .as_ref()
            .and_then(|quote| Some((base(quote)?, quote)))
        {
            Some((base, quote)) if !Self::read(&self.name).is_some_and(is_same) => {
                write!(f, "{base}/{quote}")
            }
            _ => f.write_str(&self.name),
        }
    }
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
            ("1000CATSUSDT", "CATS", 1000),
            ("1000CATUSDT", "1000CAT", 1),
            ("CATUSDT", "CAT", 1),
            ("1000CHEEMS-USDT-SWAP", "CHEEMS", 1000),
            ("1KBONK_USDT", "BONK", 1000),
            ("kDOGS", "DOGS", 1000),
            ("KSMUSDT", "KSM", 1),
        ] {
            assert_eq!(coin_of_pair(pair), (coin.to_owned(), scale), "{pair}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
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
            ("BTC261225", "BTCUSD", "BTC", Some("USD"), Dated),
            ("BTCUSDT261225", "BTCUSDT", "BTC", Some("USDT"), Dated),
            ("BTCUSDC-26DEC26", "BTCUSDC", "BTC", Some("USDC"), Dated),
            ("BTCF0USTF0", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("swap/BTC-USDT", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("tBTCF0:USTF0", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("TBTCF0:USTF0", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("BTCF0:USTF0", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("TRXF0:USTF0", "TRXUSDT", "TRX", Some("USDT"), Perpetual),
            ("tTRXF0:USTF0", "TRXUSDT", "TRX", Some("USDT"), Perpetual),
            ("ETHF0:BTCF0", "ETHBTC", "ETH", Some("BTC"), Perpetual),
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
            ("WBTC-PERP", "WBTC", "WBTC", None, Perpetual),
            ("BTC USDT", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("BTC / USDT", "BTCUSDT", "BTC", Some("USDT"), Spot),
            ("BTC USDT PERP", "BTCUSDT", "BTC", Some("USDT"), Perpetual),
            ("SPOT_ETH_USDC", "ETHUSDC", "ETH", Some("USDC"), Spot),
            ("PERP_ETH_USDC", "ETHUSDC", "ETH", Some("USDC"), Perpetual),
            ("PERP/USDT", "PERPUSDT", "PERP", Some("USDT"), Spot),
            ("PERP_USDT", "PERPUSDT", "PERP", Some("USDT"), Perpetual),
            ("tBTCUSD", "BTCUSD", "BTC", Some("USD"), Perpetual),
            ("tAVAX:UST", "AVAXUSDT", "AVAX", Some("USDT"), Perpetual),
            ("tBTC", "TBTC", "TBTC", None, Perpetual),
            ("BTC_CQ", "BTCUSD", "BTC", Some("USD"), Dated),
            ("AIUSD_PERP", "AIUSD", "AI", Some("USD"), Perpetual),
            ("BTCEUR", "BTCEUR", "BTC", Some("EUR"), Perpetual),
            ("KRW-SOL", "SOLKRW", "SOL", Some("KRW"), Perpetual),
            ("sol_btc", "SOLBTC", "SOL", Some("BTC"), Perpetual),
            ("ETHXBT", "ETHBTC", "ETH", Some("BTC"), Perpetual),
            ("BTC/FOO", "BTCFOO", "BTC", Some("FOO"), Spot),
            ("BTC-GEL", "BTCGEL", "BTC", Some("GEL"), Perpetual),
            ("NVDA_24_5-USD", "NVDAUSD", "NVDA", Some("USD"), Perpetual),
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
    fn an_option_is_recognised_in_the_spellings_of_exchanges() {
        for (text, coin, quote) in [
            ("BTC-27NOV26-80000-C", "BTC", "USD"),
            ("ETH-1JAN27-4000-P", "ETH", "USD"),
            ("SOL_USDC-27NOV26-1d5-C", "SOL", "USDC"),
            ("BTC-USD-261225-80000-P", "BTC", "USD"),
            ("BTC-27NOV26-80000-C-USDT", "BTC", "USDT"),
            ("DOGE-261225-0.2-P", "DOGE", "USD"),
            ("BTC_USDT-20261225-80000-C", "BTC", "USDT"),
            ("BTC/USDT:USDT-261225-80000-C", "BTC", "USDT"),
            ("P-ETH-4000-311226", "ETH", "USD"),
        ] {
            let read = Symbol::read(text).unwrap();
            let found = (read.coin(), read.quote(), read.kind());
            assert_eq!(found, (coin, Some(quote), ContractKind::Option), "{text}");
            assert_eq!(read.gives_orders(), Err(NotOfCoin::Option), "{text}");
            assert_eq!(read.gives_bars(), Err(NotOfCoin::Option), "{text}");
        }
        for text in ["C-USDT-261225", "C-USDT-SWAP", "PUSDT", "BTC-27NOV26"] {
            let read = Symbol::read(text).unwrap();
            assert_ne!(read.kind(), ContractKind::Option, "{text}");
        }
    }

    #[test]
    fn a_namespace_belongs_to_the_coin() {
        for (text, name, coin, namespace) in [
            ("xyz:TSLA", "XYZ:TSLA", "XYZ:TSLA", "xyz"),
            ("XYZ:TSLA", "XYZ:TSLA", "XYZ:TSLA", "xyz"),
            ("hyperliquid:xyz:TSLA", "XYZ:TSLA", "XYZ:TSLA", "xyz"),
            ("XYZ-TSLA/USDC:USDC", "XYZ:TSLAUSDC", "XYZ:TSLA", "xyz"),
            ("XYZ:TSLAUSDC", "XYZ:TSLAUSDC", "XYZ:TSLA", "xyz"),
            ("xyz:TSLA/USDC:USDC", "XYZ:TSLAUSDC", "XYZ:TSLA", "xyz"),
            ("flx:GOLD-USDH", "FLX:GOLDUSDH", "FLX:GOLD", "flx"),
            ("hyna:BTC", "HYNA:BTC", "HYNA:BTC", "hyna"),
            ("HYNA-BTC/USDE:USDE", "HYNA:BTCUSDE", "HYNA:BTC", "hyna"),
            ("xyz:EUR", "XYZ:EUR", "XYZ:EUR", "xyz"),
            ("km:US500", "KM:US500", "KM:US500", "km"),
        ] {
            let read = Symbol::read(text).unwrap();
            let found = (read.name(), read.coin(), read.namespace());
            assert_eq!(found, (name, coin, Some(namespace)), "{text}");
            assert_eq!(Symbol::read(read.name()).unwrap().coin(), coin, "{text}");
        }
        for text in [
            "BTC:USDT",
            "btc:eur",
            "BTC/USDT:USDT",
            "BTC/USD:BTC",
            "1000PEPE:USDC",
            "BTC-USDT:USDT",
            "BTC-USDT/USDT",
            "BINANCE:BTCUSDT.P",
            "KUCOIN:BTCUSDT",
            "tBTCF0:USTF0",
            "tAVAX:USD",
        ] {
            assert_eq!(Symbol::read(text).unwrap().namespace(), None, "{text}");
        }
    }

    #[test]
    fn a_spelling_says_how_a_contract_settles() {
        use Settlement::{Inverse, Linear, Quanto};
        for (text, settlement) in [
            ("BTC/USDT:USDT", Some(Linear)),
            ("BTC/USD:BTC", Some(Inverse)),
            ("XBT/USD:BTC-261225", Some(Inverse)),
            ("ETH/USD:BTC", Some(Quanto)),
            ("BTCUSD_PERP", Some(Inverse)),
            ("ETHUSD_DMCBL", Some(Inverse)),
            ("ETHUSDT_UMCBL", Some(Linear)),
            ("PI_XBTUSD", Some(Inverse)),
            ("PF_XBTUSD", Some(Linear)),
            ("XBTUSDM", Some(Inverse)),
            ("BTC-PERPETUAL", Some(Inverse)),
            ("BTCUSDT", None),
            ("BTC", None),
        ] {
            let read = Symbol::read(text).unwrap();
            assert_eq!(read.settlement(), settlement, "{text}");
        }
    }

    #[test]
    fn only_perpetual_contracts_and_spot_in_usd_give_bars() {
        for text in [
            "BTC",
            "BTCUSDT",
            "BTC/USDC",
            "SOLUSD1",
            "BTCUSD_PERP",
            "xyz:TSLA",
        ] {
            assert_eq!(Symbol::read(text).unwrap().gives_bars(), Ok(()), "{text}");
        }
        for (text, reason) in [
            ("BTCUSDT_261225", NotOfCoin::Dated),
            ("BTC-27NOV26", NotOfCoin::Dated),
            ("BTC-TRY", NotOfCoin::Quote("TRY".to_owned())),
            ("SOLETH", NotOfCoin::Quote("ETH".to_owned())),
            ("BTC/FOO", NotOfCoin::Quote("FOO".to_owned())),
        ] {
            let read = Symbol::read(text).unwrap();
            assert_eq!(read.gives_bars(), Err(reason), "{text}");
            assert_eq!(read.gives_orders(), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_symbol_is_read_again_as_it_is_written() {
        for text in [
            "BTC/USDT:USDT",
            "GM-TUSD",
            "FD/USD",
            "W/BTC",
            "BTC-FOO",
            "XYZ-GM/TUSD:TUSD",
            "1000PEPE",
            "1000kPEPE",
            "1000SHIB1000-USDC",
        ] {
            let read = Symbol::read(text).unwrap().of_any_contract();
            let again = Symbol::read(&read.to_string()).unwrap();
            assert_eq!(again.of_any_contract(), read, "{text} {read}");
        }
    }

    #[test]
    fn an_exchange_prefix_is_recognised() {
        for (text, exchange, name) in [
            ("BINANCE:BTCUSDT", Some("binance"), "BTCUSDT"),
            ("BYBIT:BTCUSDT.P", Some("bybit"), "BTCUSDT"),
            ("okex:BTC-USDT-SWAP", Some("okx"), "BTCUSDT"),
            ("COINBASE:BTCUSD", Some("coinbase"), "BTCUSD"),
            ("binance/BTCUSDT", Some("binance"), "BTCUSDT"),
            ("BTC:USDT", None, "BTCUSDT"),
            ("DYDX/USDT", None, "DYDXUSDT"),
        ] {
            let read = Symbol::read(text).unwrap();
            assert_eq!((read.exchange(), read.name()), (exchange, name), "{text}");
        }
    }

    #[test]
    fn a_word_that_explains_nothing_makes_a_spelling_unclear() {
        for (text, meant) in [
            ("CoinbasePro:BTC-USD", "BTCUSD"),
            ("fooex/BTCUSDT", "BTCUSDT"),
            ("SWAP-BTC-USDT", "BTCUSDT"),
            ("USDT-BTC", "BTCUSDT"),
        ] {
            assert!(!Symbol::read(text).unwrap().is_clear(), "{text}");
            assert_eq!(Symbol::guess(text).as_deref(), Some(meant), "{text}");
        }
        for text in [
            "ETH/USD:BTC",
            "USDT-TRY",
            "BTC_USDT_USDT",
            "PERP_ETH_USDC",
            "BTC/EUR:EUR",
        ] {
            assert!(Symbol::read(text).unwrap().is_clear(), "{text}");
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
            ("xyz:TSLA", "XYZ-TSLA/USDC:USDC", "XYZ:TSLA", true),
            ("xyz:TSLA", "XYZ:NVDA", "XYZ:NVDA", false),
            ("XYZUSDT", "XYZ:TSLA", "XYZ:TSLA", false),
            ("CAT", "1000CATUSDT", "1000CAT", false),
            ("1000CAT", "1000CATUSDT", "1000CAT", true),
            ("LSTBTC", "LSTBTCUSDT", "LSTBTC", true),
        ] {
            let read = Symbol::read(asked).unwrap();
            assert_eq!(read.means(symbol, coin), means, "{asked} {symbol}");
        }
    }
}
