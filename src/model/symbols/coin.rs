//! A coin symbol.

use std::fmt;

use crate::model::symbols::symbol::Symbol;

/// A coin symbol, upper case, such as `BTC`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coin(String);

impl Coin {
    /// The coin that `text` names, a coin or a trading pair in any spelling; `None` if `text` is blank.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Symbol::read(text).map(|symbol| Self(symbol.coin().to_owned()))
    }

    /// The symbol as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Coin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
