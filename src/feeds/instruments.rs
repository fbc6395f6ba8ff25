//! Instruments (contract sizes of markets) and listings (markets of an exchange).

use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::contract::decode::exact_decimal;
use crate::feeds::decoding::event::product;
use crate::model::{Vocabulary, coin_of_base};

/// The unit in which the size of one contract is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// A contract of a number of base units.
    Linear,
    /// A contract with a fixed value in USD, whatever the price is.
    Inverse,
}

impl Vocabulary for SizeUnit {
    const ALL: &'static [Self] = &[Self::Linear, Self::Inverse];

    fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Inverse => "inverse",
        }
    }
}

/// Base, quote and contract size of one market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrument {
    /// Base currency as the exchange lists it, such as `1000PEPE`.
    pub base: String,
    /// Quote currency.
    pub quote: String,
    /// Unit of the contract size.
    pub kind: SizeUnit,
    /// Size of one contract in base units (linear) or USD (inverse); above zero.
    pub contract_size: Decimal,
}

impl Instrument {
    /// Parses the fields of an instrument.
    ///
    /// # Errors
    ///
    /// A sentence that names the field, its value and what is allowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::feeds::Instrument;
    ///
    /// let swap = Instrument::read("BTC", "USDT", "linear", "0.01")?;
    /// assert_eq!(swap.contract_size.to_string(), "0.01");
    /// assert!(Instrument::read("BTC", "USDT", "linear", "0").is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn read(base: &str, quote: &str, kind: &str, contract_size: &str) -> Result<Self, String> {
        for (field, name) in [("base", base), ("quote", quote)] {
            if name.trim().is_empty() {
                return Err(format!("{field} is blank; a currency name is expected"));
            }
        }
        let kind = SizeUnit::parse(kind)
            .ok_or_else(|| format!("kind {kind:?} is not {}", SizeUnit::spellings()))?;
        let size = exact_decimal(contract_size)
            .ok()
            .filter(|size| *size > Decimal::ZERO)
            .ok_or_else(|| {
                format!("contract_size {contract_size:?} is not an exact decimal above zero")
            })?;
        Ok(Self {
            base: base.trim().to_owned(),
            quote: quote.trim().to_owned(),
            kind,
            contract_size: size,
        })
    }
}

/// The instruments of one exchange, keyed by native id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruments(HashMap<String, Instrument>);

impl Instruments {
    /// Returns the instrument of the market `native_id`, spelled as the exchange spells it.
    #[must_use]
    pub fn get(&self, native_id: &str) -> Option<&Instrument> {
        self.0.get(native_id)
    }

    /// Returns the only instrument; `None` if there are none or several.
    #[must_use]
    pub fn only(&self) -> Option<(&str, &Instrument)> {
        let mut all = self.0.iter();
        let (native_id, instrument) = all.next()?;
        all.next()
            .is_none()
            .then_some((native_id.as_str(), instrument))
    }
}

impl FromIterator<(String, Instrument)> for Instruments {
    fn from_iter<I: IntoIterator<Item = (String, Instrument)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl<'a> FromIterator<&'a Listing> for Instruments {
    fn from_iter<I: IntoIterator<Item = &'a Listing>>(listings: I) -> Self {
        listings
            .into_iter()
            .map(|listing| (listing.native_id.clone(), listing.instrument.clone()))
            .collect()
    }
}

/// A market as the exchange lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The exchange's name of the contract.
    pub native_id: String,
    /// The instrument, which has the contract size.
    pub instrument: Instrument,
    /// Whether the contract never expires.
    pub perpetual: bool,
    /// Whether the contract is currently traded.
    pub trading: bool,
}

impl Listing {
    /// Returns the coin, and the number of coins in one listed base unit.
    #[must_use]
    pub fn coin(&self) -> (String, u32) {
        coin_of_base(&self.instrument.base)
    }

    /// Whether bars and open interest of the coin are collected from this market.
    ///
    /// This is true for traded linear perpetual contracts in USDT.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.perpetual
            && self.trading
            && self.instrument.kind == SizeUnit::Linear
            && self.instrument.quote == "USDT"
    }
}

/// Returns the listings that are currently traded.
pub(crate) fn traded(listings: &[Listing]) -> impl Iterator<Item = &Listing> {
    listings.iter().filter(|listing| listing.trading)
}

/// Converts an amount of listed units, such as `1000PEPE`, to single coins.
pub(crate) fn unscaled(value: Decimal, scale: u32) -> Option<Decimal> {
    product(value, Decimal::from(scale))
}

/// Converts the price of a listed unit to the price of a single coin.
///
/// The result is exact, because scales are powers of ten.
pub(crate) fn price_of_one(price: Decimal, scale: u32) -> Option<Decimal> {
    let price = price.normalize();
    let zeros = scale.checked_ilog10()?;
    Decimal::try_from_i128_with_scale(price.mantissa(), price.scale() + zeros)
        .ok()
        .map(|exact| exact.normalize())
}
