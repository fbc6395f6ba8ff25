//! Spellings of other programs: removes the exchange and the kind of market that they add to a symbol.
//!
//! `BINANCE:BTCUSDT.P` (TradingView), `BTCUSDT-PERP.BINANCE` (Nautilus), `BINANCEFTS_PERP_BTC_USDT` (CoinAPI),
//! `binance-BTCUSDT-future` (Coin Metrics), `BTCUSDT_PERP.A` (Coinalyze), `BTCUSDT@BINANCE` and `cmt_btcusdt`.

use crate::model::symbols::names::prefixed_exchange;
use crate::model::symbols::spelling::{PERPETUAL, Spelling};

/// Words of CoinAPI after the exchange that Orderly writes too, or that are removed.
const KINDS: [(&str, bool); 4] = [
    ("PERP_", false),
    ("SPOT_", false),
    ("FTS_", true),
    ("OPT_", true),
];

/// Words that say the kind of a contract before its pair, as in `FUTURES:BTC-USDT`. Others say more than the pair does.
const CONTRACTS: [&str; 8] = [
    "SWAP",
    "PERP",
    "PERPETUAL",
    "FUTURE",
    "FUTURES",
    "LINEAR",
    "UM",
    "USDM",
];

/// Words of Coin Metrics after the market.
const MARKETS: [&str; 5] = ["future", "futures", "spot", "option", "perpetual"];

/// Returns the exchange that the spelling names, and the rest of the spelling.
pub(super) fn without_exchange(text: &str) -> (Option<&'static str>, &str) {
    let text = match text.split_at_checked(4) {
        Some((start, rest)) if start.eq_ignore_ascii_case("cmt_") && !rest.is_empty() => rest,
        _ => text,
    };
    if let Some((exchange, rest)) = prefixed(text).or_else(|| suffixed(text)) {
        return (exchange, rest);
    }
    (None, text)
}

/// `BINANCE:BTCUSDT`, `BINANCE_BTCUSDT`, `BINANCEFTS_PERP_BTC_USDT` and `binance-BTCUSDT-future`.
fn prefixed(text: &str) -> Option<(Option<&'static str>, &str)> {
    if let Some((left, rest)) = text
        .split_once([':', '@'])
        .filter(|(_, rest)| !rest.trim().is_empty())
        && let Some(exchange) = prefixed_exchange(left)
    {
        let rest = rest.trim();
        return Some((Some(exchange), perpetual(rest).unwrap_or(rest)));
    }
    // `DYDX/USDT` is a pair.
    if let Some((left, rest)) = text.split_once([':', '/'])
        && is_pair(rest)
    {
        let is_kind = CONTRACTS.iter().any(|kind| left.eq_ignore_ascii_case(kind));
        let exchange = prefixed_exchange(left);
        if is_kind || exchange.is_some() {
            return Some((exchange, perpetual(rest).unwrap_or(rest)));
        }
    }
    if let Some((left, rest)) = text.split_once('_')
        && let Some(exchange) = prefixed_exchange(left)
    {
        for (kind, is_removed) in KINDS {
            if let Some((start, after)) = rest.split_at_checked(kind.len())
                && start.eq_ignore_ascii_case(kind)
            {
                return Some((Some(exchange), if is_removed { after } else { rest }));
            }
        }
        let rest = perpetual(rest).unwrap_or(rest);
        return is_pair(rest).then_some((Some(exchange), rest));
    }
    let (left, rest) = text.split_once('-')?;
    let (market, kind) = rest.rsplit_once('-')?;
    let is_market = MARKETS.iter().any(|word| kind.eq_ignore_ascii_case(word));
    let exchange = prefixed_exchange(left).filter(|_| is_market && is_pair(market))?;
    Some((Some(exchange), market))
}

/// `BTCUSDT.PERP`, `BTCUSDT.BINANCE`, `BTCUSDT@BINANCE` and `BTCUSDT_PERP.A`.
fn suffixed(text: &str) -> Option<(Option<&'static str>, &str)> {
    if let Some(rest) = perpetual(text) {
        return Some((None, rest));
    }
    let (rest, right) = text.rsplit_once(['.', '@'])?;
    if rest.is_empty() {
        return None;
    }
    if let Some(exchange) = prefixed_exchange(right) {
        return Some((Some(exchange), perpetual(rest).unwrap_or(rest)));
    }
    let is_code = right.len() == 1 && right.bytes().all(|sign| sign.is_ascii_alphanumeric());
    (is_code && is_pair(rest)).then_some((None, rest))
}

/// The spelling before `.P` or `.PERP`.
fn perpetual(text: &str) -> Option<&str> {
    let (rest, mark) = text.rsplit_once('.')?;
    let is_mark =
        mark.eq_ignore_ascii_case("P") || PERPETUAL.contains(&mark.to_uppercase().as_str());
    (is_mark && !rest.is_empty()).then_some(rest)
}

/// Whether a spelling names a pair, so that the word before it is not the base.
fn is_pair(text: &str) -> bool {
    let whole = text.to_uppercase();
    let is_pair = |read: Spelling<'_>| {
        // `ASTER_USDT:USDT` is a pair of the coin ASTER.
        read.is_clear && read.quote.is_some_and(|quote| quote != read.base)
    };
    Spelling::read(&whole).is_some_and(is_pair)
}
