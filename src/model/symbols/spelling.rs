//! Splits the spelling of a symbol into base, quote, kind of contract and settlement.

use std::borrow::Cow;

use crate::model::symbols::contract_kind::{ContractKind, Settlement};
use crate::model::symbols::names::{is_coin, own_name, prefixed_exchange};
use crate::model::symbols::quotes::{
    bitfinex_currency, is_dollar, is_known_base, is_quote, quote_of_pair, split_pair,
};

/// Suffixes that mark a perpetual contract.
pub(super) const PERPETUAL: [&str; 7] = [
    "SWAP",
    "PERP",
    "PERPETUAL",
    "XPERP",
    "UMCBL",
    "DMCBL",
    "CMCBL",
];

/// Further words that mark a market, and say nothing about base and quote.
const MARKS: [&str; 16] = [
    "SPOT", "LINEAR", "INVERSE", "FUTURE", "FUTURES", "FUT", "OPTION", "UM", "CM", "USDM", "COINM",
    "USDTM", "SUMCBL", "SDMCBL", "INTX", "MARGIN",
];

/// Prefixes of Kraken's contracts: linear and inverse perpetual ones, then inverse and linear dated ones.
const PREFIXES: [(&str, ContractKind, Settlement); 4] = [
    ("PF_", ContractKind::Perpetual, Settlement::Linear),
    ("PI_", ContractKind::Perpetual, Settlement::Inverse),
    ("FI_", ContractKind::Dated, Settlement::Inverse),
    ("FF_", ContractKind::Dated, Settlement::Linear),
];

/// Quotes with the margin suffix `M`, such as `USDTM`, which are not quote currencies themselves.
const WITH_M: [(&str, &str, Settlement); 3] = [
    ("USDTM", "USDT", Settlement::Linear),
    ("USDCM", "USDC", Settlement::Linear),
    ("USDM", "USD", Settlement::Inverse),
];

/// Delivery month letters, January to December.
const MONTH_LETTERS: &str = "FGHJKMNQUVXZ";

/// Month names, as in `27NOV26`.
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];

/// Words that mark the right of an option: call or put.
const RIGHTS: [&str; 4] = ["C", "P", "CALL", "PUT"];

/// The quote of Upbit's main market; Upbit writes it before the base.
const WON: &[&str] = &["KRW"];

/// Allowed lengths of a builder's name before the colon, as in `xyz:TSLA`.
const NAMESPACE: std::ops::RangeInclusive<usize> = 2..=6;

/// Allowed lengths of an unknown quote after `-` or `_`.
const UNKNOWN_QUOTE: std::ops::RangeInclusive<usize> = 3..=5;

fn is_separator(sign: char) -> bool {
    matches!(sign, '-' | '_' | '/' | ':') || sign.is_whitespace()
}

/// The parts of a symbol's spelling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling<'a> {
    pub(super) base: &'a str,
    pub(super) quote: Option<&'a str>,
    pub(super) kind: ContractKind,
    /// How the contract settles; `None` if the spelling does not say.
    pub(super) settlement: Option<Settlement>,
    /// Whether every part of the spelling is understood.
    pub(super) is_clear: bool,
}

impl<'a> Spelling<'a> {
    /// Splits an upper-case spelling from which exchange and namespace are already removed.
    pub(super) fn read(whole: &'a str) -> Option<Self> {
        if let Some(pair) = bitfinex_derivative(whole) {
            return Some(pair);
        }
        let plain = whole.strip_suffix(".P").unwrap_or(whole);
        let of_prefix = |(prefix, kind, settlement): &(&str, ContractKind, Settlement)| {
            Some((plain.strip_prefix(prefix)?, *kind, *settlement))
        };
        let prefixed = PREFIXES.iter().find_map(of_prefix);
        let plain = prefixed.map_or(plain, |(rest, ..)| rest);
        let (plain, is_spot) = ordered(plain);
        let words: Vec<&str> = plain
            .split(is_separator)
            .filter(|word| !word.is_empty())
            .collect();
        let (head, others, has_right) = match words.as_slice() {
            // Delta Exchange writes the right (call or put) first: `C-BTC-80000-271126`.
            ["C" | "P", base, strike, date] if is_number(strike) && is_date(date) => {
                (*base, words.get(2..).unwrap_or_default(), true)
            }
            // Upbit writes the quote first.
            [quote, base] if WON.contains(quote) => (*base, WON, false),
            [head, others @ ..] => (
                *head,
                others,
                others.iter().any(|word| RIGHTS.contains(word)),
            ),
            [] => return None,
        };
        let marks = Marks {
            plain,
            others,
            prefix: prefixed.map(|(_, kind, settlement)| (kind, settlement)),
            is_spot,
            has_right,
        };
        let mut spelling = Self::split(head, &marks);
        if let Some(kind) = marks.kind() {
            spelling.kind = kind;
        }
        if spelling.quote.is_none() && spelling.kind == ContractKind::Option {
            spelling.quote = Some("USD");
        }
        spelling.settlement = marks.settlement(&spelling).or(spelling.settlement);
        spelling.is_clear = is_name(spelling.base)
            && spelling.quote.is_none_or(is_name)
            && !spelling.is_turned()
            && others.iter().all(|word| {
                spelling.quote == Some(word)
                    || is_mark(word) && !marks.is_second_quote(word)
                    || own_name(word) == own_name(spelling.base)
            })
            && (spelling.quote.is_some() || !begins_with_a_pair(spelling.base));
        Some(spelling)
    }

    /// Whether the quote is not one: the pair is turned round, as in `USDT-BTC`, or it is a pair itself, as in
    /// `FOOEX/BTCUSDT`.
    fn is_turned(&self) -> bool {
        let base = own_name(self.base);
        self.quote.is_some_and(|quote| {
            let is_coin_quote = is_coin(own_name(quote));
            (is_dollar(base) || base == "BTC") && is_coin_quote
                || split_pair(quote).is_some_and(|(base, _)| is_known_base(base))
        })
    }

    fn split(head: &'a str, marks: &Marks<'a, '_>) -> Self {
        let others = marks.others;
        let pair = |quote: &&'a str| Self {
            base: head,
            quote: Some(*quote),
            kind: marks.kind_of_separated(),
            settlement: None,
            is_clear: true,
        };
        // `BTCUSDT:USDT` and `BTCUSD:BTC` repeat a currency of the pair.
        if let Some(first) = others.first()
            && let Some(repeated) = joined(head, false)
            && (repeated.quote == Some(first) || own_name(repeated.base) == own_name(first))
        {
            return repeated;
        }
        if let Some(quote) = others.first().filter(|word| is_quote(word)) {
            return pair(quote);
        }
        if let Some(joined) = joined(head, marks.name_a_contract()) {
            return joined;
        }
        if let Some(quote) = others.iter().find(|word| is_quote(word)) {
            return pair(quote);
        }
        if let Some(quote) = others.first().filter(|word| marks.may_quote(word)) {
            return pair(quote);
        }
        // Some contracts in USD do not name their quote: `BTC-PERPETUAL`, `BTC-27NOV26`.
        let in_usd = others.first().is_some_and(|word| *word == "PERPETUAL")
            || marks.kind() == Some(ContractKind::Dated);
        Self {
            base: head,
            quote: (in_usd && is_coin(own_name(head))).then_some("USD"),
            kind: ContractKind::Perpetual,
            settlement: in_usd.then_some(Settlement::Inverse),
            is_clear: true,
        }
    }
}

/// What a spelling says about the contract, apart from base and quote.
struct Marks<'a, 'w> {
    plain: &'a str,
    /// The words after the base or pair.
    others: &'w [&'a str],
    prefix: Option<(ContractKind, Settlement)>,
    is_spot: bool,
    /// Whether the spelling contains the right of an option.
    has_right: bool,
}

impl Marks<'_, '_> {
    /// The kind of contract, if the spelling indicates it.
    fn kind(&self) -> Option<ContractKind> {
        let has_date = self.others.iter().any(|word| is_date(word));
        if has_date && self.has_right || self.others.contains(&"OPTION") {
            return Some(ContractKind::Option);
        }
        if has_date
            || self
                .prefix
                .is_some_and(|(kind, _)| kind == ContractKind::Dated)
        {
            return Some(ContractKind::Dated);
        }
        let is_spot = self.is_spot || self.others.contains(&"SPOT");
        is_spot.then_some(ContractKind::Spot)
    }

    /// The kind of a pair with a separator: `BTC/USDT` is spot, `BTC/USDT:USDT` is perpetual.
    fn kind_of_separated(&self) -> ContractKind {
        let is_perpetual = self.others.iter().any(|word| PERPETUAL.contains(word));
        let is_settled = is_perpetual || self.plain.contains(':');
        if self.plain.contains('/') && !is_settled {
            ContractKind::Spot
        } else {
            ContractKind::Perpetual
        }
    }

    /// Whether the spelling is an exchange's name of a contract, so that its first word is a pair: `PF_XBTUSD`,
    /// `AIUSD_PERP`.
    fn name_a_contract(&self) -> bool {
        let suffix = self.plain.split_once('_').map(|(_, suffix)| suffix);
        self.prefix.is_some() || suffix.is_some_and(|suffix| suffix == "PERP" || is_date(suffix))
    }

    /// Whether a word is a second quote that does not name the settlement, as `USD` in `FOOEX:BTC-USD`.
    fn is_second_quote(&self, word: &str) -> bool {
        let settles = |(pair, settled): (&str, &str)| {
            pair.contains(is_separator) && settled.split(is_separator).next() == Some(word)
        };
        is_quote(word)
            && !PERPETUAL.contains(&word)
            && !self.plain.split_once(':').is_some_and(settles)
    }

    /// Whether a word that is not in the table of quotes may still be a quote currency.
    fn may_quote(&self, word: &str) -> bool {
        let is_name = word.bytes().any(|sign| sign.is_ascii_alphabetic());
        let is_mark = PERPETUAL.contains(&word) || word == "SPOT" || is_date(word);
        let is_short = UNKNOWN_QUOTE.contains(&word.len())
            && word.bytes().all(|sign| sign.is_ascii_alphabetic());
        is_name && !is_mark && (self.plain.contains('/') || is_short)
    }

    /// The settlement, as the prefix, the currency after the colon, or the suffix indicates.
    fn settlement(&self, spelling: &Spelling<'_>) -> Option<Settlement> {
        if let Some((_, settlement)) = self.prefix {
            return Some(settlement);
        }
        if let Some((pair, settled)) = self.plain.split_once(':')
            && pair.contains('/')
        {
            let currency = settled.split(is_separator).next().unwrap_or(settled);
            return Some(match own_name(currency) {
                currency if currency == own_name(spelling.base) => Settlement::Inverse,
                currency if Some(currency) == spelling.quote || is_dollar(currency) => {
                    Settlement::Linear
                }
                _ => Settlement::Quanto,
            });
        }
        if self.others.contains(&"INVERSE") {
            return Some(Settlement::Inverse);
        }
        if self.others.contains(&"LINEAR") {
            return Some(Settlement::Linear);
        }
        match self.others {
            ["UMCBL" | "CMCBL"] => Some(Settlement::Linear),
            ["DMCBL" | "PERP"] if spelling.quote == Some("USD") => Some(Settlement::Inverse),
            _ => None,
        }
    }
}

/// Removes the product from a name of the exchange Orderly, and returns whether the product is spot: `PERP_BTC_USDC`,
/// `SPOT_BTC_USDC`.
fn ordered(plain: &str) -> (&str, bool) {
    let after = |product: &str| {
        let rest = plain.strip_prefix(product);
        rest.filter(|rest: &&str| rest.contains('_'))
    };
    match (after("PERP_"), after("SPOT_")) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => (plain, false),
    }
}

/// Parses a derivative of Bitfinex in upper case: `TBTCF0:USTF0`, and `BTCF0:USTF0` or `BTCF0USTF0` as others name it.
fn bitfinex_derivative(whole: &str) -> Option<Spelling<'_>> {
    let (base, quote) = whole.split_once("F0")?;
    let quote = quote.strip_prefix(':').unwrap_or(quote);
    let quote = bitfinex_currency(quote.strip_suffix("F0")?);
    let is_pair = !base.is_empty() && is_name(base) && is_quote(quote);
    let base = Some(base).filter(|_| is_pair)?;
    // The `T` at the start of a coin such as TRX is not a prefix.
    let coin = base
        .strip_prefix('T')
        .filter(|coin| !coin.is_empty() && (is_known_base(coin) || !is_known_base(base)));
    Some(Spelling {
        base: coin.unwrap_or(base),
        quote: Some(quote),
        kind: ContractKind::Perpetual,
        settlement: Some(Settlement::Linear),
        is_clear: true,
    })
}

/// Base and quote of a Bitfinex pair in the exchange's own case: `tBTCUSD`, `tDOGE:UST`, `tBTCF0:USTF0`.
pub(super) fn bitfinex_pair(text: &str) -> Option<(&str, &str)> {
    let pair = text.strip_prefix('t')?;
    if pair.bytes().any(|sign| sign.is_ascii_lowercase()) {
        return None;
    }
    let split = match pair.split_once(':') {
        // A name without a separator consists of two currencies of three letters.
        None if pair.len() == 6 => pair.split_at_checked(3),
        split => split,
    };
    let (base, quote) = split?;
    let (base, quote) = (bitfinex_currency(base), bitfinex_currency(quote));
    (!base.is_empty() && is_quote(quote)).then_some((base, quote))
}

/// Splits the builder's name from a Hyperliquid market: `xyz:TSLA`, or `XYZ-TSLA/USDC:USDC` in the spelling of ccxt.
pub(super) fn split_namespace(whole: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| {
        NAMESPACE.contains(&name.len())
            && name.bytes().all(|sign| sign.is_ascii_alphanumeric())
            && name.bytes().any(|sign| sign.is_ascii_alphabetic())
            && prefixed_exchange(name).is_none()
    };
    let is_coin_name = |name: &str| {
        name.contains(char::is_alphabetic) && !PERPETUAL.contains(&name) && !is_date(name)
    };
    if let Some((base, settled)) = whole.split_once('/')
        && let Some((namespace, coin)) = base.split_once('-')
        && settled.contains(':')
    {
        let market = whole.get(namespace.len() + 1..)?;
        return (is_name(namespace) && is_coin_name(coin)).then_some((namespace, market));
    }
    let (namespace, market) = whole.split_once(':')?;
    let head = market.split(is_separator).next().unwrap_or(market);
    // `BTC:USDT` and `BTC:EUR` are pairs, but `XYZ:EUR` is the market `EUR` of the builder `XYZ`.
    let is_pair = is_dollar(head)
        || is_quote(head) && is_known_base(namespace)
        || split_pair(namespace).is_some()
        || bitfinex_derivative(whole).is_some();
    (is_name(namespace) && is_coin_name(head) && !is_pair).then_some((namespace, market))
}

/// Parses a word that may be a pair without separators.
fn joined(word: &str, is_contract: bool) -> Option<Spelling<'_>> {
    let pair = |base, quote, kind, settlement| {
        Some(Spelling {
            base,
            quote: Some(quote),
            kind,
            settlement,
            is_clear: true,
        })
    };
    if let Some((base, quote)) = kraken_spot(word) {
        return pair(base, quote, ContractKind::Spot, None);
    }
    if let Some(base) = word.strip_suffix("PERP")
        && !base.is_empty()
    {
        let (base, quote) = split_pair(base).unwrap_or((base, "USDC"));
        return pair(base, quote, ContractKind::Perpetual, None);
    }
    let in_usd = || {
        let quote = quote_of_pair(word).filter(|quote| is_contract && is_dollar(quote))?;
        Some((word.strip_suffix(quote)?, quote))
    };
    if let Some((base, quote)) = split_pair(word).or_else(in_usd) {
        return pair(base, quote, ContractKind::Perpetual, None);
    }
    for (ending, quote, settlement) in WITH_M {
        if let Some(base) = word.strip_suffix(ending)
            && !base.is_empty()
            && (quote != "USD" || is_coin(own_name(base)))
        {
            return pair(base, quote, ContractKind::Perpetual, Some(settlement));
        }
    }
    let undated = without_month(word).or_else(|| without_day(word))?;
    match split_pair(undated) {
        Some((base, quote)) => pair(base, quote, ContractKind::Dated, None),
        None if is_coin(own_name(undated)) || without_day(word).is_some() => pair(
            undated,
            "USD",
            ContractKind::Dated,
            Some(Settlement::Inverse),
        ),
        None => None,
    }
}

/// A name without the delivery day that HTX appends: `BTC261225`.
fn without_day(name: &str) -> Option<&str> {
    let (coin, date) = name.split_at_checked(name.len().checked_sub(6)?)?;
    let within = |from: usize, allowed: std::ops::RangeInclusive<u8>| {
        let digits = date.get(from..from + 2);
        digits
            .and_then(|digits| digits.parse().ok())
            .is_some_and(|number| allowed.contains(&number))
    };
    let is_day = is_number(date) && within(2, 1..=12) && within(4, 1..=31);
    let is_coin = coin.len() > 1 && coin.bytes().all(|sign| sign.is_ascii_alphabetic());
    (is_day && is_coin).then_some(coin)
}

/// Base and quote of a spot pair of Kraken: `XXBTZUSD`.
fn kraken_spot(word: &str) -> Option<(&str, &str)> {
    let (base, quote) = word.split_at_checked(4)?;
    let (base, quote) = (base.strip_prefix('X')?, quote.strip_prefix('Z')?);
    let is_pair = is_quote(quote) && (is_coin(own_name(base)) || is_known_base(base));
    is_pair.then_some((base, quote))
}

/// Whether a word can be the name of a currency.
fn is_name(word: &str) -> bool {
    word.chars().all(char::is_alphanumeric)
}

/// Whether a word marks a market, and is no currency that the spelling leaves unexplained.
fn is_mark(word: &str) -> bool {
    PERPETUAL.contains(&word)
        || MARKS.contains(&word)
        || RIGHTS.contains(&word)
        || is_quote(word)
        || is_date(word)
        // Strikes and dates in other forms: `80000`, `0D625`, `20261225T080000`.
        || word.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a name without a quote begins with a well-known pair, as `BTCUSDTX` does.
fn begins_with_a_pair(name: &str) -> bool {
    ["USDT", "USDC"].iter().any(|quote| {
        let base = name.split_once(quote);
        base.is_some_and(|(base, rest)| is_coin(own_name(base)) && !rest.is_empty())
    })
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|digit| digit.is_ascii_digit())
}

/// The spelling of a contract that means the same without its exchange.
///
/// Bybit's `BTC-26DEC26` is in USDC; elsewhere such a contract is in USD.
///
/// # Examples
///
/// ```
/// use liqdata::model::listed_contract;
///
/// assert_eq!(listed_contract("bybit", "BTC-26DEC26"), "BTCUSDC-26DEC26");
/// assert_eq!(listed_contract("deribit", "BTC-26DEC26"), "BTC-26DEC26");
/// ```
#[must_use]
pub fn listed_contract<'a>(exchange: &str, text: &'a str) -> Cow<'a, str> {
    if exchange == "bybit"
        && let Some((base, date)) = text.trim().split_once('-')
        && is_month_date(&date.to_uppercase())
        && split_pair(&base.to_uppercase()).is_none()
    {
        return Cow::Owned([base, "USDC-", date].concat());
    }
    Cow::Borrowed(text)
}

/// Whether a word is a date: `261225`, `20261225`, `27NOV26`, or a code of HTX such as `CW`, the current week.
fn is_date(word: &str) -> bool {
    if matches!(word, "CW" | "NW" | "CQ" | "NQ") {
        return true;
    }
    if is_number(word) {
        return matches!(word.len(), 4 | 6 | 8);
    }
    is_month_date(word)
}

/// Whether a word is a date such as `27NOV26`.
fn is_month_date(word: &str) -> bool {
    MONTHS.iter().any(|month| {
        word.split_once(month).is_some_and(|(day, year)| {
            (1..=2).contains(&day.len()) && year.len() == 2 && is_number(day) && is_number(year)
        })
    })
}

/// `name` without a delivery month suffix such as `Z26`; `None` if it has none.
#[must_use]
pub fn without_month(name: &str) -> Option<&str> {
    let (head, year) = name.split_at_checked(name.len().checked_sub(2)?)?;
    let rest = head.strip_suffix(|letter| MONTH_LETTERS.contains(letter))?;
    (is_number(year) && !rest.is_empty()).then_some(rest)
}
