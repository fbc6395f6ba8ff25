//! Reasons why open interest in USD cannot be converted to coins.

/// Why an open-interest reading in USD cannot be converted to coins. Each variant contains a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotInCoins {
    /// The value is not a valid amount.
    NoAmount(String),
    /// The archive has no price for the time of the reading.
    Unpriced(String),
    /// Compared with price and traded volume, the value is implausible both as USD and as coins.
    Implausible(String),
}

impl NotInCoins {
    /// The reason without the details of this reading.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoAmount(_) => "open_interest_usd: not an amount of a coin",
            Self::Unpriced(_) => {
                "open_interest_usd: the archive has no bar at that time, which the conversion to coins needs"
            }
            Self::Implausible(_) => {
                "open_interest_usd: implausible as USD and as coins, compared with price and volume"
            }
        }
    }

    /// The description: the value and what is wrong with it.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::NoAmount(why) | Self::Unpriced(why) | Self::Implausible(why) => why,
        }
    }
}
