//! Positions in the order in which a market's orders arrive, and reads of the orders after a position.

use std::fmt;
use std::str::FromStr;

use crate::model::Order;

/// A position in a market's order of arrival: after a certain order, or before the first order.
///
/// Its text form is the event id that a client sends to resume a stream.
///
/// # Examples
///
/// ```
/// use liqdata::market::ArrivalId;
///
/// let place = ArrivalId { series: 0xbeef, number: 7 };
/// assert_eq!(place.to_string(), "beef-7");
/// assert_eq!("beef-7".parse(), Ok(place));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrivalId {
    /// Identifies the market's order of arrival; a position with another value is invalid.
    pub series: u64,
    /// Number of the order before the position. Numbers increase with each order and may skip values.
    pub number: u64,
}

/// Error for a text that is not an arrival id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of an order")]
pub struct InvalidArrivalId;

impl fmt::Display for ArrivalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}-{}", self.series, self.number)
    }
}

impl FromStr for ArrivalId {
    type Err = InvalidArrivalId;

    fn from_str(text: &str) -> Result<Self, InvalidArrivalId> {
        let (series, number) = text.split_once('-').ok_or(InvalidArrivalId)?;
        let place = Self {
            series: u64::from_str_radix(series, 16).map_err(|_| InvalidArrivalId)?,
            number: number.parse().map_err(|_| InvalidArrivalId)?,
        };
        // Each position has one spelling: no signs, leading zeros or capitals.
        (place.to_string() == text)
            .then_some(place)
            .ok_or(InvalidArrivalId)
    }
}

/// The result of reading the orders after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// The orders in order of arrival, each with the position after it; empty if no order has arrived since.
    Known(Vec<(ArrivalId, Order)>),
    /// The position is unknown, or orders after it are no longer stored.
    Gone,
}

impl Arrivals {
    /// Reads up to `limit` orders after the position `after`, or from the first stored order if `after` is `None`.
    ///
    /// The market stores `known` orders, which `order` returns by index. Before them, `forgotten` orders arrived that
    /// are no longer stored.
    pub(crate) fn behind(
        after: Option<ArrivalId>,
        limit: usize,
        series: u64,
        (forgotten, known): (u64, usize),
        order: impl Fn(usize) -> Option<Order>,
    ) -> Self {
        let number = match after {
            Some(after) if after.series != series => return Self::Gone,
            after => after.map_or(forgotten, |after| after.number),
        };
        let skipped = number.checked_sub(forgotten);
        let skipped = skipped.and_then(|skipped| usize::try_from(skipped).ok());
        let Some(skipped) = skipped.filter(|skipped| *skipped <= known) else {
            return Self::Gone;
        };
        let orders = (skipped..known).take(limit).filter_map(order);
        let named = orders.zip(number + 1..);
        Self::Known(
            named
                .map(|(order, number)| (ArrivalId { series, number }, order))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_is_read_from_its_own_text_only(series: u64, number: u64, text: String) {
            let place = ArrivalId { series, number };
            prop_assert_eq!(place.to_string().parse(), Ok(place));
            if let Ok(place) = text.parse::<ArrivalId>() {
                prop_assert_eq!(place.to_string(), text);
            }
        }
    }
}
