//! Conversion rates of quote currencies to USD, given by the caller.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::model::Millis;

/// USD per unit of each quote currency: one rate, or rates by time.
///
/// A rate by time is valid from its instant until that of the next rate.
///
/// # Examples
///
/// ```
/// use liqdata::model::Millis;
/// use liqdata::tables::QuoteRates;
///
/// let mut rates = QuoteRates::default();
/// rates.add("eur", vec![(Millis(0), "1.08".parse().unwrap())]);
/// assert_eq!(rates.at("EUR", Millis(5)).unwrap().to_string(), "1.08");
/// assert_eq!(rates.at("KRW", Millis(5)), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuoteRates(BTreeMap<String, Vec<(Millis, Decimal)>>);

impl QuoteRates {
    /// Adds the rates of a quote currency, which may be unsorted.
    ///
    /// Each rate has the instant from which it is valid. A constant rate has the earliest possible instant.
    pub fn add(&mut self, quote: &str, mut rates: Vec<(Millis, Decimal)>) {
        rates.sort_by_key(|(at, _)| *at);
        self.0.insert(quote.trim().to_uppercase(), rates);
    }

    /// Whether no rates are given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there are rates of a quote currency.
    #[must_use]
    pub fn has(&self, quote: &str) -> bool {
        self.0.contains_key(quote)
    }

    /// The rate of a quote currency at an instant; `None` before the first rate.
    #[must_use]
    pub fn at(&self, quote: &str, at: Millis) -> Option<Decimal> {
        let rates = self.0.get(quote)?;
        let next = rates.partition_point(|(from, _)| *from <= at);
        rates.get(next.checked_sub(1)?).map(|(_, rate)| *rate)
    }
}
