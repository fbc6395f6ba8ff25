//! One contract a double lists.

use rust_decimal::Decimal;

/// What a venue counts the size of a liquidation in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Units of the base.
    Base,
    /// USD, so the quantity follows from the price.
    Usd,
    /// Contracts of so many units of the base.
    Contracts(&'static str),
    /// Contracts of so many USD.
    Dollars(&'static str),
}

/// One contract of a venue.
#[derive(Debug, PartialEq, Eq)]
pub struct Market {
    /// The contract as the venue spells it.
    pub native_id: &'static str,
    /// Base as the venue lists it, scale and all.
    pub base: &'static str,
    pub quote: &'static str,
    /// What sizes are counted in.
    pub unit: Unit,
    /// The venue's class of contract, such as `linear` or `SWAP`.
    pub class: &'static str,
    /// Where the price starts, in ticks, and the digits of a tick.
    pub start: (i64, u32),
    /// The smallest size, and its digits.
    pub step: (i64, u32),
    /// Whether the instruments call names it from the start.
    pub listed: bool,
}

impl Market {
    /// A listed contract.
    pub const fn new(
        native_id: &'static str,
        pair: [&'static str; 2],
        unit: Unit,
        class: &'static str,
        start: (i64, u32),
        step: (i64, u32),
    ) -> Self {
        let [base, quote] = pair;
        Self {
            native_id,
            base,
            quote,
            unit,
            class,
            start,
            step,
            listed: true,
        }
    }

    /// The same contract before the instruments call names it.
    pub const fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// Whether a size is an amount of USD, whatever the price.
    pub fn is_inverse(&self) -> bool {
        matches!(self.unit, Unit::Usd | Unit::Dollars(_))
    }

    /// What one unit of size holds: base units, or USD where the contract is inverse.
    pub fn contract_size(&self) -> Decimal {
        match self.unit {
            Unit::Base | Unit::Usd => Decimal::ONE,
            Unit::Contracts(size) | Unit::Dollars(size) => size.parse().unwrap(),
        }
    }

    /// The smallest size.
    pub fn step(&self) -> Decimal {
        Decimal::new(self.step.0, self.step.1)
    }

    /// A price of so many ticks.
    pub fn price(&self, ticks: i64) -> Decimal {
        Decimal::new(ticks, self.start.1)
    }
}
