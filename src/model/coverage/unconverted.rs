//! Why a reading of open interest in USD is not brought to coins.

/// Why a reading in USD is not brought to coins, with its value and what there is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotInCoins {
    /// It is no amount of a coin.
    NoAmount(String),
    /// The price of its time is not known.
    Unpriced(String),
    /// It is implausible as USD beside price and volume, and would not be as coins.
    Implausible(String),
}

impl NotInCoins {
    /// What it has in common with others.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoAmount(_) => "open_interest_usd: not an amount of a coin",
            Self::Unpriced(_) => {
                "open_interest_usd: the archive has no bar of its time to bring it to coins with"
            }
            Self::Implausible(_) => {
                "open_interest_usd: implausible as USD beside price and volume, and not as coins"
            }
        }
    }

    /// What stands there, and what is wrong with it.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::NoAmount(why) | Self::Unpriced(why) | Self::Implausible(why) => why,
        }
    }
}
