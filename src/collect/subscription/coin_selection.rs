//! The coins that are meant where somebody names them.

use std::collections::BTreeSet;

use crate::model::Coin;

/// Whether an exchange could list a coin under this name: of a question mark, or of two coins in one text, nothing would
/// ever be heard.
fn may_be_listed(coin: &str) -> bool {
    coin.chars().any(char::is_alphanumeric)
        && coin
            .chars()
            .all(|sign| sign.is_alphanumeric() || "-_.:".contains(sign))
}

/// The coins that are meant by these names, or why one means none.
pub(crate) fn coins_of(names: &[String]) -> Result<Vec<String>, String> {
    let mut coins = BTreeSet::new();
    for name in names {
        let coin = Coin::new(name)
            .ok_or_else(|| format!("{name:?} is blank; a coin such as \"BTC\" is expected"))?;
        if !may_be_listed(coin.as_str()) {
            return Err(format!(
                "{name:?} is no name of a coin; allowed: letters, digits, and - _ . : between them, such as \"BTC\", \
                 several as [\"BTC\", \"ETH\"]"
            ));
        }
        coins.insert(coin.to_string());
    }
    Ok(coins.into_iter().collect())
}
