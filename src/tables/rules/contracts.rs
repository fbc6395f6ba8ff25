//! The contract that a symbol names, and the tables in which it is accepted.

use crate::model::{NotOfCoin, Symbol, is_dollar};

/// The contract of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The symbol as the table spells it.
    pub(super) spelled: String,
    /// `None` for a blank symbol.
    pub(super) symbol: Option<Symbol>,
}

/// Fault reason of bars and open interest of a spot market, which are none of the contract of that name.
const SPOT: &str =
    "names a spot market; to use its prices, name the pair with a slash, as BTC/USDT";

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

    /// Coins per unit of the listed pair, such as 1000 for 1000PEPE.
    pub(super) fn scale(&self) -> u32 {
        self.symbol.as_ref().map_or(1, Symbol::scale)
    }

    /// The quote currency, if it does not count as USD.
    ///
    /// `None` also for a symbol without a quote.
    pub(super) fn foreign_quote(&self) -> Option<&str> {
        self.symbol
            .as_ref()?
            .quote()
            .filter(|quote| !is_dollar(quote))
    }

    /// Text that identifies the contract among those of its coin.
    ///
    /// `None` for a symbol without a quote.
    pub(super) fn id(&self) -> Option<String> {
        let symbol = self.symbol.as_ref()?;
        symbol.quote()?;
        Some(format!("{} {}", symbol.name(), symbol.kind().name()))
    }

    /// Why orders of this contract are refused.
    ///
    /// `None` if they are accepted.
    ///
    /// The quote currency is checked later, with the value of the order.
    pub(super) fn no_orders(&self) -> Option<String> {
        let Some(symbol) = &self.symbol else {
            return Some("blank; name a trading pair".to_owned());
        };
        if let Some(why) = symbol.unclear(&self.spelled) {
            return Some(why);
        }
        self.is_option()
    }

    /// Why rows of this contract are refused, if it is an option.
    pub(super) fn is_option(&self) -> Option<String> {
        match self.symbol.as_ref()?.gives_orders() {
            Err(why @ NotOfCoin::Option) => Some(why.to_string()),
            _ => None,
        }
    }

    /// The exchange that the symbol names, if it is another one than `exchange`.
    pub(super) fn other_exchange(&self, exchange: &str) -> Option<&'static str> {
        let named = self.symbol.as_ref()?.exchange()?;
        (!exchange.is_empty() && named != exchange).then_some(named)
    }

    /// Why bars and open interest of this contract are refused.
    ///
    /// `None` if they are accepted.
    ///
    /// The quote currency is checked later, with the numbers of the row.
    pub(super) fn no_series(&self) -> Option<String> {
        if let Some(why) = self.no_orders() {
            return Some(why);
        }
        let mut words = self.spelled.split(|sign: char| !sign.is_alphanumeric());
        if words.any(|word| word.eq_ignore_ascii_case("spot")) {
            return Some(SPOT.to_owned());
        }
        match self.symbol.as_ref()?.gives_bars() {
            Err(why @ NotOfCoin::Dated) => Some(why.to_string()),
            _ => None,
        }
    }
}
