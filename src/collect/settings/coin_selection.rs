//! Validation of the coin names that a user selects.

use std::collections::BTreeSet;

use crate::model::Coin;

/// Whether an exchange could list a coin under this name.
fn may_be_listed(coin: &str) -> bool {
    coin.chars().any(char::is_alphanumeric)
        && coin
            .chars()
            .all(|sign| sign.is_alphanumeric() || "-_.:".contains(sign))
}

/// Checks coin names and returns their coins, sorted and without duplicates.
///
/// # Errors
///
/// A message with the invalid name and what is allowed.
pub(crate) fn coins_of(names: &[String]) -> Result<Vec<String>, String> {
    let mut coins = BTreeSet::new();
    for name in names {
        let coin = Coin::new(name)
            .ok_or_else(|| format!("{name:?} is blank; a coin such as \"BTC\" is expected"))?;
        if !may_be_listed(name.trim()) {
            return Err(format!(
                "{name:?} is not a coin name; allowed: letters, digits, and - _ . : between them, such as \"BTC\", \
                 several as [\"BTC\", \"ETH\"]"
            ));
        }
        coins.insert(coin.to_string());
    }
    Ok(coins.into_iter().collect())
}
