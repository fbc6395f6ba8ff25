//! A venue's name of a contract to base and quote.
//!
//! Dated and perpetual contracts of a pair share one symbol, so dates and suffixes go; scales such as `1000PEPE` stay in
//! the symbol and leave the coin. A name that no rule takes apart stays whole, with an empty quote.

use std::borrow::Cow;

use crate::model::{coin_of_base, quote_of_pair};

/// Quote currencies that count as USD one to one.
const DOLLARS: [&str; 8] = [
    "USDT", "USDC", "USD", "FDUSD", "BUSD", "USD1", "USDE", "TUSD",
];

/// Letters of the delivery months, January to December.
const MONTHS: &str = "FGHJKMNQUVXZ";

/// Base and quote of a contract, in the field's spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Market<'a> {
    pub(super) base: Cow<'a, str>,
    pub(super) quote: Cow<'a, str>,
}

impl<'a> Market<'a> {
    pub(super) fn new(base: &'a str, quote: &'a str) -> Self {
        Self {
            base: plain(base),
            quote: plain(quote),
        }
    }

    /// A pair written in one word.
    fn joined(pair: &'a str) -> Self {
        let quote = quote_of_pair(pair).unwrap_or_default();
        Self {
            base: plain(pair.strip_suffix(quote).unwrap_or(pair)),
            quote: Cow::Borrowed(quote),
        }
    }

    pub(super) fn symbol(&self) -> String {
        [&*self.base, &*self.quote].concat()
    }

    pub(super) fn coin(&self) -> String {
        coin_of_base(&self.base).0
    }

    /// Whether an amount of the quote is that amount of USD.
    pub(super) fn is_in_dollars(&self) -> bool {
        DOLLARS.contains(&&*self.quote)
    }
}

/// A currency in the field's spelling: upper case, `BTC` and `DOGE` by their own names.
fn plain(name: &str) -> Cow<'_, str> {
    match name {
        "XBT" => Cow::Borrowed("BTC"),
        "XDG" => Cow::Borrowed("DOGE"),
        _ if name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) =>
        {
            Cow::Borrowed(name)
        }
        _ if name.chars().any(char::is_lowercase) => Cow::Owned(name.to_uppercase()),
        _ => Cow::Borrowed(name),
    }
}

/// `text` before the first `at`, or all of it.
fn before(text: &str, at: u8) -> &str {
    let place = text.bytes().position(|byte| byte == at);
    place.and_then(|place| text.get(..place)).unwrap_or(text)
}

/// `name` without a delivery month such as `Z26` at its end.
fn without_month(name: &str) -> Option<&str> {
    let (head, year) = name.split_at_checked(name.len().checked_sub(2)?)?;
    let rest = head.strip_suffix(|letter| MONTHS.contains(letter))?;
    (year.bytes().all(|digit| digit.is_ascii_digit()) && !rest.is_empty()).then_some(rest)
}

/// `BTCUSDT`, `BTCUSDT_261225`, `BTCUSD_PERP`.
pub(super) fn binance(native_id: &str) -> Market<'_> {
    Market::joined(before(native_id, b'_'))
}

/// `BTCUSDT`, `BTCPERP`, `BTCUSD`, `BTCUSDZ26`, `BTC-26DEC26`, `BTCUSDT-26DEC26`.
pub(super) fn bybit(native_id: &str) -> Market<'_> {
    if let Some((pair, _)) = native_id.split_once('-') {
        return match quote_of_pair(pair) {
            Some(_) => Market::joined(pair),
            None => Market::new(pair, "USDC"),
        };
    }
    if let Some(pair) = without_month(native_id).filter(|pair| pair.ends_with("USD")) {
        return Market::joined(pair);
    }
    perpetual(native_id)
}

/// `BTCUSDT`, `BTCUSD`, and `BTCPERP` in USDC.
pub(super) fn perpetual(native_id: &str) -> Market<'_> {
    match native_id.strip_suffix("PERP") {
        Some(base) if !base.is_empty() => Market::new(base, "USDC"),
        _ => Market::joined(native_id),
    }
}

/// `BTC-USDT-SWAP`, `BTC-USD-261225`, `BTC-USD_UM_XPERP-310404`, `BTC-USD`.
pub(super) fn dashed(native_id: &str) -> Market<'_> {
    let mut parts = native_id.split('-');
    match (parts.next(), parts.next()) {
        (Some(base), Some(quote)) => Market::new(base, before(quote, b'_')),
        _ => Market::joined(native_id),
    }
}

/// `BTC_USDT`, `BTC_USD`, `BTC_USDT_20261225`.
pub(super) fn gate(native_id: &str) -> Market<'_> {
    let mut parts = native_id.split('_');
    match (parts.next(), parts.next()) {
        (Some(base), Some(quote)) => Market::new(base, quote),
        _ => Market::joined(native_id),
    }
}

/// `BTC-USDT`, `BTC-USDT-261225`, `BTC-USD`, and `BTC261225` in USD.
pub(super) fn htx(native_id: &str) -> Market<'_> {
    if native_id.contains('-') {
        return dashed(native_id);
    }
    let cut = native_id.len().saturating_sub(6);
    match native_id.split_at_checked(cut) {
        Some((base, date))
            if !base.is_empty() && date.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            Market::new(base, "USD")
        }
        _ => Market::joined(native_id),
    }
}

/// `PF_XBTUSD`, `PI_XBTUSD`, `FI_XBTUSD_261225`.
pub(super) fn kraken(native_id: &str) -> Market<'_> {
    let behind = native_id
        .split_once('_')
        .map_or(native_id, |(_, name)| name);
    Market::joined(before(behind, b'_'))
}

/// `XBTUSD`, `XBTUSDT`, and `XBTZ26` in USD.
pub(super) fn bitmex(native_id: &str) -> Market<'_> {
    match without_month(native_id) {
        Some(name) if quote_of_pair(name).is_some() => Market::joined(name),
        Some(base) => Market::new(base, "USD"),
        None => Market::joined(native_id),
    }
}

/// `BTC-PERPETUAL`, `BTC-26DEC26`, `BTC_USDC-PERPETUAL`.
pub(super) fn deribit(native_id: &str) -> Market<'_> {
    let name = before(native_id, b'-');
    match name.split_once('_') {
        Some((base, quote)) => Market::new(base, quote),
        None => Market::new(name, "USD"),
    }
}

/// `tBTCF0:USTF0`, `tBTCUSD`, `tDOGE:USD`.
pub(super) fn bitfinex(native_id: &str) -> Market<'_> {
    fn currency(name: &str) -> &str {
        match name.strip_suffix("F0").unwrap_or(name) {
            "UST" => "USDT",
            "UDC" => "USDC",
            name => name,
        }
    }
    let name = native_id.strip_prefix('t').unwrap_or(native_id);
    let (base, quote) = name
        .split_once(':')
        .or_else(|| name.split_at_checked(name.len().saturating_sub(3)))
        .unwrap_or((name, ""));
    Market::new(currency(base), currency(quote))
}

/// `BTCUSDT`.
pub(super) fn coinex(native_id: &str) -> Market<'_> {
    Market::joined(native_id)
}

/// A market number: no name until the market list gives one.
pub(super) fn unnamed(native_id: &str) -> Market<'_> {
    Market {
        base: Cow::Borrowed(native_id),
        quote: Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = for<'a> fn(&'a str) -> Market<'a>;

    /// Native id, symbol and coin.
    fn come_down(rule: Rule, names: &[[&str; 3]]) {
        for [native_id, symbol, coin] in names {
            let market = rule(native_id);
            assert_eq!(market.symbol(), *symbol, "{native_id}");
            assert_eq!(market.coin(), *coin, "{native_id}");
        }
    }

    #[test]
    fn names_in_one_word_come_down_to_symbol_and_coin() {
        come_down(
            binance,
            &[
                ["BTCUSDT", "BTCUSDT", "BTC"],
                ["BTCUSDC", "BTCUSDC", "BTC"],
                ["BTCUSDT_261225", "BTCUSDT", "BTC"],
                ["BTCUSD_PERP", "BTCUSD", "BTC"],
                ["BTCUSD_261225", "BTCUSD", "BTC"],
                ["BNBUSD_PERP", "BNBUSD", "BNB"],
                ["DOTUSD_PERP", "DOTUSD", "DOT"],
                ["ETHBTC", "ETHBTC", "ETH"],
                ["1INCHUSDT", "1INCHUSDT", "1INCH"],
                ["0GUSDT", "0GUSDT", "0G"],
                ["4USDT", "4USDT", "4"],
                ["2ZUSDT", "2ZUSDT", "2Z"],
                ["1000PEPEUSDT", "1000PEPEUSDT", "PEPE"],
                ["币安人生USDT", "币安人生USDT", "币安人生"],
            ],
        );
        come_down(
            bybit,
            &[
                ["BTCUSDT", "BTCUSDT", "BTC"],
                ["BTCPERP", "BTCUSDC", "BTC"],
                ["PERPUSDT", "PERPUSDT", "PERP"],
                ["BTCUSD", "BTCUSD", "BTC"],
                ["BTCUSDZ26", "BTCUSD", "BTC"],
                ["BTC-26DEC26", "BTCUSDC", "BTC"],
                ["BTCUSDT-26DEC26", "BTCUSDT", "BTC"],
                ["SHIB1000USDT", "SHIB1000USDT", "SHIB"],
                ["10000LADYSUSDT", "10000LADYSUSDT", "LADYS"],
                ["1000000BABYDOGEUSDT", "1000000BABYDOGEUSDT", "BABYDOGE"],
            ],
        );
        come_down(
            perpetual,
            &[
                ["BTCUSDT", "BTCUSDT", "BTC"],
                ["BTCPERP", "BTCUSDC", "BTC"],
                ["BTCUSD", "BTCUSD", "BTC"],
            ],
        );
        come_down(coinex, &[["BTCUSDT", "BTCUSDT", "BTC"]]);
    }

    #[test]
    fn names_in_parts_come_down_to_symbol_and_coin() {
        come_down(
            dashed,
            &[
                ["BTC-USDT-SWAP", "BTCUSDT", "BTC"],
                ["BTC-USD-SWAP", "BTCUSD", "BTC"],
                ["BTC-USD-261225", "BTCUSD", "BTC"],
                ["BTC-USD_UM_XPERP-310404", "BTCUSD", "BTC"],
                ["DOT-USD-SWAP", "DOTUSD", "DOT"],
                ["BTC-USD", "BTCUSD", "BTC"],
            ],
        );
        come_down(
            gate,
            &[
                ["BTC_USDT", "BTCUSDT", "BTC"],
                ["BTC_USD", "BTCUSD", "BTC"],
                ["BTC_USDT_20261225", "BTCUSDT", "BTC"],
            ],
        );
        come_down(
            htx,
            &[
                ["BTC-USDT", "BTCUSDT", "BTC"],
                ["BTC-USDT-261225", "BTCUSDT", "BTC"],
                ["BTC-USD", "BTCUSD", "BTC"],
                ["BTC261225", "BTCUSD", "BTC"],
                ["1INCH-USDT", "1INCHUSDT", "1INCH"],
            ],
        );
        come_down(
            deribit,
            &[
                ["BTC-PERPETUAL", "BTCUSD", "BTC"],
                ["BTC-26DEC26", "BTCUSD", "BTC"],
                ["BTC_USDC-PERPETUAL", "BTCUSDC", "BTC"],
            ],
        );
    }

    #[test]
    fn names_of_their_own_kind_come_down_to_symbol_and_coin() {
        come_down(
            kraken,
            &[
                ["PF_XBTUSD", "BTCUSD", "BTC"],
                ["PI_XBTUSD", "BTCUSD", "BTC"],
                ["FI_XBTUSD_261225", "BTCUSD", "BTC"],
                ["PF_XDGUSD", "DOGEUSD", "DOGE"],
                ["PF_ARBUSD", "ARBUSD", "ARB"],
            ],
        );
        come_down(
            bitmex,
            &[
                ["XBTUSD", "BTCUSD", "BTC"],
                ["XBTZ26", "BTCUSD", "BTC"],
                ["XBTUSDT", "BTCUSDT", "BTC"],
                ["ETHUSDTH27", "ETHUSDT", "ETH"],
            ],
        );
        come_down(
            bitfinex,
            &[
                ["tBTCF0:USTF0", "BTCUSDT", "BTC"],
                ["tETHUSD", "ETHUSD", "ETH"],
                ["tDOGE:UST", "DOGEUSDT", "DOGE"],
            ],
        );
        come_down(unnamed, &[["1", "1", "1"]]);
    }

    #[test]
    fn only_dollars_count_as_dollars() {
        assert!(Market::new("BTC", "USDC").is_in_dollars());
        assert!(!Market::new("ETH", "BTC").is_in_dollars());
        assert!(!Market::new("BTC", "EUR").is_in_dollars());
        assert!(!unnamed("1").is_in_dollars());
    }

    #[test]
    fn lower_case_names_become_upper_case() {
        assert_eq!(Market::new("kPEPE", "USD").symbol(), "KPEPEUSD");
        assert_eq!(Market::new("kPEPE", "USD").coin(), "PEPE");
    }
}
