//! Kinds of contracts, and which rows of a coin they give.

/// The kind of contract that a spelling names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContractKind {
    /// Without expiry; the default.
    #[default]
    Perpetual,
    /// With a delivery date.
    Dated,
    /// Spot: the coin itself.
    Spot,
    /// An option; its price is not the coin's.
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
    /// In the quote currency or another one that counts as USD.
    Linear,
    /// In the coin.
    Inverse,
    /// In a third currency.
    Quanto,
}

/// Why the rows of a contract are not those of its coin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOfCoin {
    /// It is an option.
    #[error("the contract is an option, and its price is not the coin's")]
    Option,
    /// It has a delivery date.
    #[error(
        "the contract is dated; a coin's bars and open interest are those of a perpetual contract"
    )]
    Dated,
    /// It is quoted in a currency other than USD.
    #[error("the quote currency {0} does not count as USD")]
    Quote(String),
}
