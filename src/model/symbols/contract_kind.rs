//! Kinds of contracts, and the reasons why a contract's rows do not count for its coin.

/// The kind of contract that a symbol's spelling indicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContractKind {
    /// A contract without expiry; the default.
    #[default]
    Perpetual,
    /// A contract with a delivery date.
    Dated,
    /// The spot market of the coin.
    Spot,
    /// An option. Its price is not the price of the coin.
    Option,
}

impl ContractKind {
    /// The name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Perpetual => "perpetual",
            Self::Dated => "dated",
            Self::Spot => "spot",
            Self::Option => "option",
        }
    }
}

/// How a contract settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settlement {
    /// Settles in the quote currency, or in another currency that counts as USD.
    Linear,
    /// Settles in the coin.
    Inverse,
    /// Settles in a third currency.
    Quanto,
}

/// Why the rows of a contract do not count as rows of its coin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOfCoin {
    /// The contract is an option.
    #[error("the contract is an option, and its price is not the coin's")]
    Option,
    /// The contract has a delivery date.
    #[error(
        "the contract is dated; bars and open interest of a coin must come from a perpetual contract"
    )]
    Dated,
    /// The contract is quoted in a currency that does not count as USD.
    #[error("the quote currency {0} does not count as USD")]
    Quote(String),
}
