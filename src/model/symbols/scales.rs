//! Scales of listings: how many coins one listed unit contains.
//!
//! Exchanges list cheap coins by the thousand or million, as `1000PEPE`, `1MBABYDOGE`, `kPEPE` or `SHIB1000`. A
//! leading number is always read as a scale. A leading letter is read as a scale only in the names of a table.

/// Cheap coins that some exchanges list by the thousand or million.
const SCALED: &[&str] = &[
    "PEPE", "SHIB", "BONK", "FLOKI", "LUNC", "XEC", "SATS", "RATS", "CATS", "WHY", "CHEEMS", "MOG",
    "X", "LADYS", "BABYDOGE", "TURBO", "NEIROCTO", "NEIRO", "TOSHI", "APU", "COQ", "STARL", "WEN",
    "QUBIC", "BTT", "ELON", "AIDOGE", "PUMP", "MUMU", "PEIPEI", "NFT",
];

/// Listed names that begin with a letter as scale: `k` at Hyperliquid and Pacifica, `M` at Gate.
const LETTERED: &[(&str, &str, u32)] = &[
    ("KPEPE", "PEPE", 1000),
    ("KSHIB", "SHIB", 1000),
    ("KBONK", "BONK", 1000),
    ("KFLOKI", "FLOKI", 1000),
    ("KLUNC", "LUNC", 1000),
    ("KNEIRO", "NEIRO", 1000),
    ("KDOGS", "DOGS", 1000),
    ("MBABYDOGE", "BABYDOGE", 1_000_000),
];

/// Names of coins that look like another coin with a scale.
///
/// Binance and Bybit list Simon's Cat as `1000CAT`, while `CAT` is the ticker of other coins.
const CLASHING: &[&str] = &["1000CAT"];

/// Minimum number of letters after a scale `1K` or `1M`. Shorter names, such as `1MIL`, are coins.
const SHORTEST: usize = 3;

/// Splits a base in upper case into the coin and the number of coins per listed unit.
pub fn unscaled_base(base: &str) -> (&str, u32) {
    let (mut coin, mut scale) = (base, 1_u32);
    // Remove all scales, so that parsing the resulting coin again returns the same coin.
    loop {
        let (rest, by) = without_scale(coin);
        match scale.checked_mul(by) {
            Some(product) if by > 1 => (coin, scale) = (rest, product),
            _ => return (coin, scale),
        }
    }
}

/// The base without one scale, and this scale; the scale is 1 if there is none.
fn without_scale(base: &str) -> (&str, u32) {
    if CLASHING.contains(&base) {
        return (base, 1);
    }
    let lettered = || {
        let named = LETTERED.iter().find(|(listed, ..)| *listed == base);
        named.map(|(_, coin, scale)| (*coin, *scale))
    };
    let suffixed = || {
        let coin = base.strip_suffix("1000")?;
        SCALED.contains(&coin).then_some((coin, 1000))
    };
    numbered(base)
        .or_else(lettered)
        .or_else(suffixed)
        .unwrap_or((base, 1))
}

/// The coin after a leading scale, and the scale: a power of ten from 1000 on, `1K` or `1M`.
fn numbered(base: &str) -> Option<(&str, u32)> {
    let rest = base.strip_prefix('1')?;
    for (letter, scale) in [('K', 1000), ('M', 1_000_000)] {
        if let Some(coin) = rest.strip_prefix(letter) {
            let is_coin =
                coin.len() >= SHORTEST && coin.bytes().all(|sign| sign.is_ascii_alphabetic());
            return is_coin.then_some((coin, scale));
        }
    }
    let coin = rest.trim_start_matches('0');
    let zeros = u32::try_from(rest.len().checked_sub(coin.len())?).ok()?;
    let is_name = coin.starts_with(|first: char| !first.is_ascii_digit());
    let scale = 10_u32.checked_pow(zeros)?;
    (scale >= 1000 && is_name).then_some((coin, scale))
}

/// Splits a listed base in any case into coin and coins per listed unit: `1000PEPE` → (`PEPE`, 1000).
///
/// A prefix that names the builder of a Hyperliquid market, as in `xyz:TSLA`, is part of the coin.
///
/// # Examples
///
/// ```
/// use liqdata::model::coin_of_base;
///
/// assert_eq!(coin_of_base("1000PEPE"), ("PEPE".to_owned(), 1000));
/// assert_eq!(coin_of_base("kPEPE"), ("PEPE".to_owned(), 1000));
/// assert_eq!(coin_of_base("1INCH"), ("1INCH".to_owned(), 1));
/// assert_eq!(coin_of_base("xyz:TSLA"), ("XYZ:TSLA".to_owned(), 1));
/// ```
#[must_use]
pub fn coin_of_base(base: &str) -> (String, u32) {
    let base = base.to_uppercase();
    let own = base.find(':').map_or(0, |colon| colon + 1);
    let (namespace, listed) = base.split_at_checked(own).unwrap_or(("", &base));
    let (coin, scale) = unscaled_base(listed);
    ([namespace, coin].concat(), scale)
}

#[cfg(test)]
mod tests {
    use crate::model::symbols::scales::*;

    #[test]
    fn a_number_is_a_scale_and_a_letter_only_in_the_table() {
        for (base, coin, scale) in [
            ("1000PEPE", "PEPE", 1000),
            ("1000FOO", "FOO", 1000),
            ("10000SATS", "SATS", 10_000),
            ("100000MOG", "MOG", 100_000),
            ("1000000BOB", "BOB", 1_000_000),
            ("10000000AIDOGE", "AIDOGE", 10_000_000),
            ("1MBABYDOGE", "BABYDOGE", 1_000_000),
            ("1MCHEEMS", "CHEEMS", 1_000_000),
            ("1KSHIB", "SHIB", 1000),
            ("1000IQ50", "IQ50", 1000),
            ("1000X", "X", 1000),
            ("SHIB1000", "SHIB", 1000),
            ("KFLOKI", "FLOKI", 1000),
            ("MBABYDOGE", "BABYDOGE", 1_000_000),
        ] {
            assert_eq!(unscaled_base(base), (coin, scale), "{base}");
        }
        for own in [
            "1INCH",
            "1000CAT",
            "100X",
            "1MIL",
            "1",
            "1000",
            "10",
            "0G",
            "KAVA",
            "KSM",
            "KCAT",
            "MASK",
            "MATIC",
            "MBOX",
            "SPX6900",
            "FOO1000",
            "10000000000PEPE",
        ] {
            assert_eq!(unscaled_base(own), (own, 1), "{own}");
        }
    }
}
