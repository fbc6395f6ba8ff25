//! What contract a symbol names, and what its rows may be.

use crate::model::{NotOfCoin, Symbol, is_dollar};

/// The contract of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The symbol as the table spells it.
    pub(super) spelled: String,
    /// `None` for a blank symbol.
    pub(super) symbol: Option<Symbol>,
}

/// Reads a symbol.
pub(super) fn resolve(spelled: &str) -> Resolved {
    Resolved {
        spelled: spelled.to_owned(),
        symbol: Symbol::read(spelled),
    }
}

impl Resolved {
    /// The coin.
    pub(super) fn coin(&self) -> &str {
        self.symbol.as_ref().map_or("", Symbol::coin)
    }

    /// Coins per listed unit.
    pub(super) fn scale(&self) -> u32 {
        self.symbol.as_ref().map_or(1, Symbol::scale)
    }

    /// The quote currency that is not USD; `None` for a coin alone and for a quote that counts as USD.
    pub(super) fn foreign_quote(&self) -> Option<&str> {
        self.symbol
            .as_ref()?
            .quote()
            .filter(|quote| !is_dollar(quote))
    }

    /// What identifies the contract among those of its coin; `None` for a coin alone.
    pub(super) fn id(&self) -> Option<String> {
        let symbol = self.symbol.as_ref()?;
        symbol.quote()?;
        Some(format!("{} {}", symbol.name(), symbol.kind().name()))
    }

    /// Why its orders are refused; their quote is judged with their value.
    pub(super) fn no_orders(&self) -> Option<String> {
        let Some(symbol) = &self.symbol else {
            return Some("blank; name a trading pair".to_owned());
        };
        match symbol.gives_orders() {
            Err(why @ NotOfCoin::Option) => Some(why.to_string()),
            _ => None,
        }
    }

    /// Why its bars and open interest are refused; their quote is judged with their numbers.
    pub(super) fn no_series(&self) -> Option<String> {
        if let Some(why) = self.no_orders() {
            return Some(why);
        }
        match self.symbol.as_ref()?.gives_bars() {
            Err(why @ NotOfCoin::Dated) => Some(why.to_string()),
            _ => None,
        }
    }
}
