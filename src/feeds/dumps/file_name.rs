//! The information in a file name: contract, bar interval, exchange and date.

use crate::model::{Millis, Symbol, is_coin, is_dollar, is_quote, known_exchange, read_span};
use crate::tables::untraded;

/// File extensions that say nothing about the rows of a file.
const ENDINGS: [&str; 19] = [
    "gz", "zip", "zst", "zstd", "xz", "bz2", "csv", "tsv", "tab", "txt", "dat", "json", "jsonl",
    "ndjson", "parquet", "pq", "feather", "arrow", "ipc",
];

/// Words that may precede the symbol, in addition to names of exchanges.
const PREFIXES: [&str; 14] = [
    "bars", "candles", "klines", "kline", "ohlcv", "ohlc", "futures", "perp", "swap", "usdm", "um",
    "cm", "data", "history",
];

/// Prefixes of Kraken's contracts, which belong to the symbol.
const KRAKEN: [&str; 4] = ["PF", "PI", "FI", "FF"];
/// Words of contracts that end, and of options.
const EXPIRIES: [&str; 4] = ["CW", "NW", "CQ", "NQ"];
const RIGHTS: [&str; 2] = ["C", "P"];
const QUARTERS: [(&str, &str); 2] = [("CURRENT", "CQ"), ("NEXT", "NQ")];
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];

/// A file name, split into the parts that identify the contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileName {
    /// Name for messages: the path, for an archive followed by `:` and the member.
    pub shown: String,
    /// The last part of the path without its extensions.
    stem: String,
    /// The symbol that the caller gives for files of which the name has none.
    pub(crate) given: Option<String>,
}

impl FileName {
    /// Parses the name of a file; for an archive, `member` is the name of the file inside it.
    #[must_use]
    pub fn new(path: &str, member: Option<&str>) -> Self {
        let last = member.unwrap_or(path);
        let last = last.rsplit(['/', '\\']).next().unwrap_or(last);
        let mut stem = last;
        while let Some((rest, ending)) = stem.rsplit_once('.') {
            let is_ending = ENDINGS
                .iter()
                .any(|known| ending.eq_ignore_ascii_case(known));
            if !is_ending || rest.is_empty() {
                break;
            }
            stem = rest;
        }
        Self {
            shown: member.map_or_else(|| path.to_owned(), |member| format!("{path}:{member}")),
            stem: stem.to_owned(),
            given: None,
        }
    }

    /// Whether the name contains `word`, in any letter case.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.stem.to_lowercase().contains(&word.to_lowercase())
    }

    /// Whether the name says that the file contains open interest.
    pub(crate) fn is_of_open_interest(&self) -> bool {
        let stem = self.stem.to_lowercase().replace(['-', '_', ' '], "");
        stem.contains("openinterest") || self.words().any(|word| word.eq_ignore_ascii_case("oi"))
    }

    /// Returns the contract in the name of a Binance file, in upper case.
    ///
    /// The contract precedes `-liquidationSnapshot`, `-metrics` or the bar interval.
    pub(crate) fn contract(&self) -> Option<String> {
        let (contract, rest) = self.stem.split_once('-')?;
        let word = rest.split('-').next().unwrap_or(rest);
        let known = word.eq_ignore_ascii_case("liquidationSnapshot")
            || word.eq_ignore_ascii_case("metrics")
            || read_span(word).is_some();
        (known && names_market(contract)).then(|| contract.to_uppercase())
    }

    /// Returns the symbol that the name has next to the bar interval.
    ///
    /// A word is a symbol if it is a pair, or a well-known coin; other words say nothing. The rules cover the names of
    /// freqtrade and other common names. `BTC_USDT_USDT-5m-futures` gives the perpetual contract `BTC/USDT:USDT`,
    /// `btc_5m_candles` gives the coin `BTC`, and `BTC-29MAR24-50000-C_5m` an option. Numbers after the length of the bars
    /// are days of the rows.
    #[must_use]
    pub fn symbol(&self) -> Option<String> {
        let words: Vec<&str> = self.words().collect();
        let end = words.iter().position(|word| is_length(word))?;
        let (before, after) = words.split_at_checked(end)?;
        let symbol = symbol_among(before, true).or_else(|| symbol_among(after.get(1..)?, false));
        symbol.map(|symbol| self.of_market(symbol))
    }

    /// The contract of a Binance file that [`contract`](Self::contract) has, or that the caller gives.
    pub(crate) fn contract_or_given(&self) -> Option<String> {
        let contract = self.contract().map(|contract| self.of_market(contract));
        contract.or_else(|| self.symbol_or_given())
    }

    /// The symbol that [`symbol`](Self::symbol) has, or that the caller gives.
    pub(crate) fn symbol_or_given(&self) -> Option<String> {
        self.symbol().or_else(|| self.given.clone())
    }

    /// Whether freqtrade or ccxt wrote the file, which name the settlement currency.
    pub(crate) fn is_of_ccxt(&self) -> bool {
        self.symbol().is_some_and(|symbol| symbol.contains(':'))
    }

    /// Returns the exchange in the name before the symbol.
    pub(crate) fn exchange(&self) -> Option<&'static str> {
        let words: Vec<&str> = self.words().collect();
        let mut rest = words.as_slice();
        while let [first, after @ ..] = rest
            && is_prefix(first, after)
        {
            if let Some(exchange) = known_exchange(first) {
                return Some(exchange);
            }
            rest = after;
        }
        None
    }

    /// Returns the kind of the series if its prices are not trade prices.
    ///
    /// The kind follows from the words of the file name, one alone or two together, or from the name of a folder. A folder
    /// `index` may be any, and so may one that is a person's. A folder with a short name such as `mark` counts if it is that of
    /// the file, unless `states_trades`: the rows of the file say by themselves whether they are of trades.
    pub(crate) fn untraded(&self, states_trades: bool) -> Option<&'static str> {
        let words: Vec<&str> = self.words().collect();
        let is_coin = |at: usize| {
            let next: Option<&&str> = words.get(at + 1);
            at == 0 && next.is_some_and(|next| is_quote(&next.to_uppercase()))
        };
        let by_word = (0..words.len()).find_map(|at| {
            let one = untraded(words.get(at)?).filter(|_| !is_coin(at));
            one.or_else(|| untraded(&words.get(at..at + 2)?.concat()))
        });
        by_word.or_else(|| {
            let folders = self.folders();
            let homes = ["home", "users", "index"];
            let is_any = |name: &str| homes.iter().any(|home| name.eq_ignore_ascii_case(home));
            let last = folders.len().saturating_sub(1);
            folders.iter().enumerate().find_map(|(at, folder)| {
                let above = at.checked_sub(1).and_then(|above| folders.get(above));
                let is_short = folder.len() < "indexprice".len();
                let is_home = above.is_some_and(|above| is_any(above));
                let is_ignored =
                    is_any(folder) || is_short && (at != last || is_home || states_trades);
                untraded(folder).filter(|_| !is_ignored)
            })
        })
    }

    /// Whether the name or a folder says that the market is a spot market.
    fn is_spot(&self) -> bool {
        let is = |word: &&str| word.eq_ignore_ascii_case("spot");
        self.folders().iter().any(is) || self.words().any(|word| is(&word))
    }

    /// A symbol of a spot market in a form that says so: `BTC/USDT`.
    fn of_market(&self, symbol: String) -> String {
        if !self.is_spot() || symbol.contains(':') {
            return symbol;
        }
        let read = Symbol::read(&symbol);
        let pair = read.as_ref().and_then(|read| {
            let quote = read.quote()?;
            Some(format!("{}/{quote}", read.name().strip_suffix(quote)?))
        });
        pair.unwrap_or(symbol)
    }

    /// The folders of the file, from the outermost on.
    fn folders(&self) -> Vec<&str> {
        let mut folders: Vec<&str> = self.shown.split(['/', '\\', ':']).collect();
        folders.pop();
        folders
    }

    /// Returns the bar interval in the name, in milliseconds.
    #[must_use]
    pub fn interval(&self) -> Option<i64> {
        self.words()
            .find(|word| is_length(word))
            .and_then(read_span)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.stem.split(['-', '_']).filter(|word| !word.is_empty())
    }

    /// Returns start and end of the day or month in the name.
    #[must_use]
    pub fn span(&self) -> Option<(Millis, Millis)> {
        let bytes = self.stem.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let dash = |at: usize| bytes.get(at) == Some(&b'-');
        let month = |at: usize| {
            (0..4).all(|by| digit(at + by)) && dash(at + 4) && digit(at + 5) && digit(at + 6)
        };
        let at = (0..bytes.len()).find(|at| month(*at) && !at.checked_sub(1).is_some_and(digit))?;
        if dash(at + 7) && digit(at + 8) && digit(at + 9) && !digit(at + 10) {
            let start = Millis::read_iso(self.stem.get(at..at + 10)?)?;
            return Some((start, start.on(Millis::DAY)));
        }
        let year: i64 = self.stem.get(at..at + 4)?.parse().ok()?;
        let month: i64 = self.stem.get(at + 5..at + 7)?.parse().ok()?;
        let first = |year: i64, month: i64| Millis::read_iso(&format!("{year:04}-{month:02}-01"));
        let next = if month == 12 {
            first(year + 1, 1)
        } else {
            first(year, month + 1)
        };
        Some((first(year, month)?, next?))
    }
}

/// The symbol that some words of a file name contain. `are_before` is whether they precede the length of the bars.
fn symbol_among(mut words: &[&str], are_before: bool) -> Option<String> {
    while let [first, rest @ ..] = words
        && is_prefix(first, rest)
    {
        words = rest;
    }
    let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
    (0..upper.len()).find_map(|at| symbol_at(upper.get(at..)?, are_before))
}

/// The symbol with which words in upper case begin, with its expiry if it has one.
fn symbol_at(words: &[String], are_before: bool) -> Option<String> {
    if let [prefix, pair, ..] = words
        && KRAKEN.contains(&prefix.as_str())
        && names_market(pair)
    {
        let expiry = expiry(words.get(2..)?, are_before);
        return Some(format!("{prefix}_{pair}{expiry}"));
    }
    let (symbol, rest) = pair_at(words)?;
    // Contracts in USD may count USD, which spot pairs of the same currencies do not.
    let is_perpetual = |word: &&String| match word.as_str() {
        "SWAP" | "PERP" => symbol.ends_with("/USD"),
        "PERPETUAL" => symbol.ends_with("/USD") || !symbol.contains('/'),
        _ => false,
    };
    if let Some(mark) = rest.first().filter(is_perpetual) {
        return Some([symbol.as_str(), "-", mark].concat());
    }
    Some(symbol + &expiry(rest, are_before))
}

/// The expiry, strike and right of a contract that words after its pair say, each after a `-`; empty if there is none.
fn expiry(words: &[String], are_before: bool) -> String {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_day = |word: &str| is_number(word) && [6, 8].contains(&word.len()) && are_before;
    let is_month = |word: &str| {
        let mut split = MONTHS.iter().filter_map(|month| word.split_once(month));
        split.any(|(day, year)| {
            is_number(day) && (1..=2).contains(&day.len()) && is_number(year) && year.len() == 2
        })
    };
    let is_expiry = |word: &str| is_day(word) || is_month(word) || EXPIRIES.contains(&word);
    let named = words.iter().enumerate().map(|(at, word)| {
        let is_quarter = words.get(at + 1).is_some_and(|next| next == "QUARTER");
        let quarter = QUARTERS.iter().find(|(name, _)| is_quarter && name == word);
        quarter.map_or(word.as_str(), |(_, code)| *code)
    });
    let is_part = |word: &&str| is_number(word) || is_expiry(word) || RIGHTS.contains(word);
    let named: Vec<&str> = named.take_while(is_part).collect();
    if !named.iter().any(|word| is_expiry(word)) {
        return String::new();
    }
    named.iter().flat_map(|word| ["-", *word]).collect()
}

/// The pair with which words in upper case begin, and the words after it.
fn pair_at(words: &[String]) -> Option<(String, &[String])> {
    let (first, rest) = words.split_first()?;
    let is_known = Symbol::read(first).is_some_and(|symbol| is_coin(symbol.coin()));
    let is_pair = |quote: &str| is_dollar(quote) || is_known && is_quote(quote);
    let Some((quote, rest)) = rest.split_first().filter(|(quote, _)| is_pair(quote)) else {
        return names_market(first).then(|| (first.clone(), rest));
    };
    // The settlement currency follows the pair, and the delivery date follows the settlement currency.
    let settled = rest.split_first();
    match settled.filter(|(settled, _)| *settled == first || is_quote(settled)) {
        Some((settled, rest)) => Some((format!("{first}/{quote}:{settled}"), rest)),
        None => Some((format!("{first}/{quote}"), rest)),
    }
}

/// Whether a word names a market: a pair in USD, a pair of a well-known coin, or a well-known coin.
fn names_market(word: &str) -> bool {
    let Some(symbol) = Symbol::read(word) else {
        return false;
    };
    is_coin(symbol.coin()) || symbol.quote().is_some_and(is_dollar)
}

/// Whether a word is a prefix before the symbol.
///
/// Prefixes are names of exchanges and the words in `PREFIXES`. Some names of exchanges are coins too: `DYDX_USDT` is a
/// pair.
fn is_prefix(first: &str, rest: &[&str]) -> bool {
    let is_known = known_exchange(first).is_some()
        || PREFIXES.iter().any(|word| first.eq_ignore_ascii_case(word));
    let Some(next) = rest
        .first()
        .map(|word| word.to_uppercase())
        .filter(|_| is_known)
    else {
        return false;
    };
    let is_lower = first.chars().any(char::is_lowercase);
    let is_pair_next = rest
        .get(1)
        .is_some_and(|word| is_quote(&word.to_uppercase()));
    !is_quote(&next) || !is_dollar(&next) && (is_lower || is_pair_next)
}

/// Whether a word is a bar interval of at least one minute: `5m`, `1h`, `1d`.
fn is_length(word: &str) -> bool {
    read_span(word).is_some_and(|span| span >= Millis::MINUTE)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::dumps::file_name::*;

    #[test]
    fn a_name_says_contract_length_and_time() {
        let day = FileName::new("/data/BTCUSD_PERP-liquidationSnapshot-2023-06-25.zip", None);
        assert_eq!(day.contract().as_deref(), Some("BTCUSD_PERP"));
        let start = Millis::read_iso("2023-06-25").unwrap();
        assert_eq!(day.span(), Some((start, start.on(Millis::DAY))));

        let month = FileName::new("x.zip", Some("btcusdt-1m-2024-12.csv.zst"));
        assert_eq!(month.contract().as_deref(), Some("BTCUSDT"));
        let at = |text: &str| Millis::read_iso(text).unwrap();
        assert_eq!(month.span(), Some((at("2024-12-01"), at("2025-01-01"))));
        assert_eq!(month.interval(), Some(Millis::MINUTE));
        assert_eq!(month.shown, "x.zip:btcusdt-1m-2024-12.csv.zst");

        let renamed = FileName::new("ethusd_perp-metrics-2024-12-01.csv", None);
        assert_eq!(renamed.contract().as_deref(), Some("ETHUSD_PERP"));

        let tardis = FileName::new(
            "binance-futures_liquidations_2021-09-01_PERPETUALS.csv.gz",
            None,
        );
        assert!(tardis.says("liquidations"));
        assert_eq!(tardis.span().unwrap().0, at("2021-09-01"));
        assert_eq!(tardis.contract(), None);
    }

    #[test]
    fn names_that_people_give_say_the_symbol() {
        for (name, symbol) in [
            ("BTC_USDT_USDT-5m-futures.json", Some("BTC/USDT:USDT")),
            (
                "1000PEPE_USDC_USDC-1h-futures.feather",
                Some("1000PEPE/USDC:USDC"),
            ),
            ("BTC_USD_BTC-8h-futures.parquet", Some("BTC/USD:BTC")),
            (
                "ETH_USDT_USDT-241227-5m-futures.json",
                Some("ETH/USDT:USDT-241227"),
            ),
            ("Binance_ETHUSDT_1h.csv", Some("ETHUSDT")),
            ("DYDX_USDT_USDT-5m-futures.json", Some("DYDX/USDT:USDT")),
            ("OKX_BTC_USDT_5m.csv", Some("BTC/USDT")),
            ("okx_btc_5m.csv", Some("BTC")),
            ("okx_candles_BTC_USDT_5m.csv.xz", Some("BTC/USDT")),
            ("BTC-USDT-5m.json", Some("BTC/USDT")),
            ("btc_5m_candles_20260324_20260622.csv", Some("BTC")),
            ("btc_oi_5m_20251201.csv", Some("BTC")),
            ("train_btcusdt_5m.csv", Some("BTCUSDT")),
            ("candles_5m_BTCUSDT.csv", Some("BTCUSDT")),
            ("2024_my_ETH-USDC_1h.csv", Some("ETH/USDC")),
            ("FOOUSDT_1h.csv", Some("FOOUSDT")),
            ("PF_XBTUSD_5m.csv", Some("PF_XBTUSD")),
            ("BTC-USD-SWAP_5m.csv", Some("BTC/USD-SWAP")),
            ("BTC-USDT-SWAP_5m.csv", Some("BTC/USDT")),
            ("BTC-PERPETUAL_5m.csv", Some("BTC-PERPETUAL")),
            ("BTC-29MAR24-50000-C_5m.csv", Some("BTC-29MAR24-50000-C")),
            ("BTC-USDT-240329-5m.json", Some("BTC/USDT-240329")),
            ("BTCUSDT_240329_5m.csv", Some("BTCUSDT-240329")),
            ("BTC_CQ_5m.csv", Some("BTC-CQ")),
            ("BTCUSDT_NEXT_QUARTER_5m.csv", Some("BTCUSDT-NQ")),
            ("candles_5m_BTCUSDT_20240329.csv", Some("BTCUSDT")),
            ("spot/BTCUSDT_5m.csv", Some("BTC/USDT")),
            ("5m.csv", None),
            ("data_5m.csv", None),
            ("industry_1d.csv", None),
            ("candles.csv", None),
        ] {
            assert_eq!(
                FileName::new(name, None).symbol().as_deref(),
                symbol,
                "{name}"
            );
        }
    }

    #[test]
    fn series_that_are_not_of_trades_are_known_by_name_and_folder() {
        for (name, what) in [
            ("ETH_USDT_USDT-8h-funding_rate.json", Some("funding rates")),
            ("XRP_USDT_USDT-8h-mark.feather", Some("the mark price")),
            (
                "SOL_USDT_USDT-1h-premiumIndex.json",
                Some("a premium index"),
            ),
            ("BTC_USDT_USDT-1h-index.parquet", Some("an index price")),
            ("mark_price_BTCUSDT_1m.csv", Some("the mark price")),
            ("BTC-USDT_spread_5m.csv", Some("differences of prices")),
            ("data/mark/BTCUSDT_1m.csv", Some("the mark price")),
            ("index-price/day/BTCUSDT_1m.csv", Some("an index price")),
            (
                "um/monthly/markPriceKlines/BTCUSDT/1m/BTCUSDT-1m-2024-01.zip",
                Some("the mark price"),
            ),
            ("/home/mark/BTCUSDT_1m.csv", None),
            ("mark/data/BTCUSDT_1m.csv", None),
            ("INDEX_USDT-5m.json", None),
            ("/data/index/BTCUSDT-1m-2024-01.zip", None),
            ("BTC_USDT_USDT-5m-futures.json", None),
        ] {
            assert_eq!(FileName::new(name, None).untraded(false), what, "{name}");
        }
    }

    #[test]
    fn numbers_that_are_no_dates_say_nothing() {
        for name in [
            "btc_5m_candles_20260324.csv",
            "a-2023-13.csv",
            "12023-06-25.csv",
            "",
        ] {
            assert_eq!(FileName::new(name, None).span(), None, "{name}");
        }
    }
}
