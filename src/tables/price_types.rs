//! Words that mark series of prices that are not trade prices. Such series have the same columns as bars.

const MARK: &str = "the mark price";
const INDEX: &str = "an index price";
const PREMIUM: &str = "a premium index";
const FUNDING: &str = "funding rates";
const SPREAD: &str = "differences of prices";

/// The words, and what the series is.
const NO_TRADES: [(&str, &str); 16] = [
    ("mark", MARK),
    ("markprice", MARK),
    ("fair", MARK),
    ("fairprice", MARK),
    ("index", INDEX),
    ("indexprice", INDEX),
    ("oracle", INDEX),
    ("oracleprice", INDEX),
    ("premium", PREMIUM),
    ("premiumindex", PREMIUM),
    ("premiumprice", PREMIUM),
    ("funding", FUNDING),
    ("fundingrate", FUNDING),
    ("fundingrates", FUNDING),
    ("basis", SPREAD),
    ("spread", SPREAD),
];

/// Words after the kind of price: `markPriceKlines`.
const SERIES: [&str; 6] = ["klines", "kline", "candles", "candle", "ohlcv", "bars"];

/// What a word marks, if it marks prices that are not trade prices. Letter case and separators do not matter.
pub(crate) fn untraded(word: &str) -> Option<&'static str> {
    let word: String = word
        .chars()
        .filter(|sign| !matches!(sign, '-' | '_' | ' '))
        .map(|sign| sign.to_ascii_lowercase())
        .collect();
    let ending = SERIES.iter().find_map(|series| word.strip_suffix(series));
    let word = ending.unwrap_or(&word);
    let found = NO_TRADES.iter().find(|(name, _)| *name == word);
    found.map(|(_, what)| *what)
}
